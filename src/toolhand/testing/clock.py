"""A clock that jumps instead of waiting."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from typing import Final

_SPINS: Final = 20
"""How many rounds of the event loop pass before time jumps, so that everything that can run without waiting has run."""


class FakeClock:
    """Time stands still until everybody sleeps, then jumps to the first who wakes. It begins at the real monotonic time.

    Only sleeping on this clock is seen: work in threads and on the network goes on in real time.
    """

    def __init__(self) -> None:
        self._now = time.monotonic()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._spins = 0
        self.waits: list[float] = []
        """Every wait that was asked for, in seconds."""

    @property
    def slept(self) -> float:
        """The sum of all waits, in seconds."""
        return sum(self.waits)

    def now(self) -> float:
        """Seconds on this clock."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Lets time go by."""
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        """Waits on this clock."""
        self.waits.append(seconds)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._numbers), future))
        self._spins = 0
        if len(self._sleepers) == 1:
            loop.call_soon(self._spin, loop)
        await future

    def _spin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._spins += 1
        if self._spins > _SPINS and self._sleepers:
            self._now = max(self._now, self._sleepers[0][0])
            while self._sleepers and self._sleepers[0][0] <= self._now:
                future = heapq.heappop(self._sleepers)[2]
                if not future.done():
                    future.set_result(None)
            self._spins = 0
        if self._sleepers:
            loop.call_soon(self._spin, loop)
