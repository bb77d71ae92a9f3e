"""Where policies get the time from, so that tests can turn it."""

from __future__ import annotations

import asyncio
import time
from typing import Final, Protocol


class Clock(Protocol):
    """A clock that only goes forward."""

    def now(self) -> float:
        """Seconds on the monotonic clock, the one that `RunContext.deadline` is on."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        ...


class SystemClock:
    """The machine's clock."""

    now = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        """Waits without blocking the event loop."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK: Final = SystemClock()
