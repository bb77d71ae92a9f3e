"""One event loop in a thread of its own for stores: for drivers that belong to a loop, and for code that is not async.

Sessions are used from many loops (each `asyncio.run` has one); a pool of connections belongs to a single one. So it lives here.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")


class _Background:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop; another one in a forked process, where the thread is gone."""
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._pid = os.getpid()
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="toolhand-stores", daemon=True
                )
                self._thread.start()
            return self._loop

    def is_here(self) -> bool:
        return threading.current_thread() is self._thread


_BACKGROUND: Final = _Background()


def blocking(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in the background and waits for it, from any thread but the background's own."""
    if _BACKGROUND.is_here():
        work.close()
        raise RuntimeError("a store asked for a session's messages while it was being read")
    return asyncio.run_coroutine_threadsafe(work, _BACKGROUND.loop()).result()


def begin_elsewhere(work: Coroutine[Any, Any, T]) -> None:
    """Starts a coroutine in the background; it tells whoever waits for it by itself."""
    asyncio.run_coroutine_threadsafe(work, _BACKGROUND.loop())


async def elsewhere(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in the background and awaits it from whatever loop one is in."""
    if _BACKGROUND.is_here():
        return await work
    future = asyncio.run_coroutine_threadsafe(work, _BACKGROUND.loop())
    return await asyncio.wrap_future(future)
