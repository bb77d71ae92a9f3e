"""A door that lets a bounded number of calls in, in the order in which they came."""

from __future__ import annotations

import asyncio
import threading
from collections import deque


class Gate:
    """Like a semaphore, but for several event loops and threads at once, and with an end to waiting.

    Args:
        most: how many may be inside.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside = 0
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    @property
    def is_idle(self) -> bool:
        """Whether nobody is inside or waits."""
        return self._inside == 0 and not self._waiting

    async def enter(self, seconds: float | None) -> bool:
        """Waits for a place.

        Args:
            seconds: how long at most; None for as long as it takes.

        Returns:
            Whether there was one; then `leave` must follow.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._inside < self._most:
                self._inside += 1
                return True
            place = (loop, loop.create_future())
            self._waiting.append(place)
        try:
            async with asyncio.timeout(seconds):
                await place[1]
        except TimeoutError:
            return self._was_let_in(place)
        except asyncio.CancelledError:
            if self._was_let_in(place):
                self.leave()
            raise
        return True

    def _was_let_in(self, place: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]) -> bool:
        with self._lock:
            if place in self._waiting:
                self._waiting.remove(place)
                return False
            return True

    def leave(self) -> None:
        """Gives the place to whoever has waited longest."""
        with self._lock:
            while self._waiting:
                loop, future = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(_wake, future)
                except RuntimeError:  # that loop is closed: nobody waits there any more
                    continue
                return
            self._inside -= 1


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
