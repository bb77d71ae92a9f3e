"""Where connections live: one event loop in a thread of its own.

A connection outlasts any one event loop of the program's: it serves synchronous code, several calls of `asyncio.run`, and
several loops at once, and it is closed in the task that opened it, as the SDK wants.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

_CLOSING_SECONDS: Final = 5.0


class Closable(Protocol):
    """What is closed before the program ends."""

    async def close_there(self) -> None:
        """Closes it, in the loop where connections live."""


class _Thread:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.open: weakref.WeakSet[Any] = weakref.WeakSet()

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="toolhand-mcp", daemon=True
                )
                self._thread.start()
                atexit.register(self.stop)
            return self._loop

    def stop(self) -> None:
        """Ends servers and loop when the program ends."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._close_all(), loop).result(_CLOSING_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(2)
        self._loop = None

    async def _close_all(self) -> None:
        await asyncio.gather(*(one.close_there() for one in list(self.open)), return_exceptions=True)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=2)


_THREAD: Final = _Thread()


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Runs a coroutine where connections live.

    Args:
        work: it starts at once; cancelling the future cancels it.
    """
    return asyncio.run_coroutine_threadsafe(work, _THREAD.loop())


async def there(work: Coroutine[Any, Any, T]) -> T:
    """The same for a caller in an event loop of its own: it waits, and cancelling it cancels the work."""
    return await asyncio.wrap_future(submit(work))


def closed_at_exit(one: Closable) -> None:
    """Has something closed before the program ends, unless it is gone by then."""
    _THREAD.open.add(one)
