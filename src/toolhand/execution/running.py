"""The thin synchronous face: one event loop in a background thread, kept so that connections are too."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")


class _Loop:
    """An event loop in a daemon thread, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="toolhand-sync", daemon=True
                )
                self._thread.start()
                atexit.register(self._stop)
            return self._loop

    def _stop(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=2)
        self._loop = None


_LOOP = _Loop()


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine from code that is not async, also where an event loop already runs in this thread.

    Ctrl-C cancels the work and waits for it to clean up.
    """
    loop = _LOOP.get()
    if threading.current_thread().name == "toolhand-sync":
        work.close()
        raise RuntimeError(
            "the synchronous face was called from inside an async tool: await the async one instead"
        )
    future = asyncio.run_coroutine_threadsafe(_contained(work), loop)
    try:
        value, raised = future.result()
    except KeyboardInterrupt:
        future.cancel()
        _settled(loop)
        raise
    if raised is not None:
        raise raised
    return value


async def _contained(work: Coroutine[Any, Any, T]) -> tuple[T, BaseException | None]:
    """The work's value or what it raised: an exit that left a task would end the loop that all callers share."""
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
        return cast("T", None), error


def _settled(loop: asyncio.AbstractEventLoop) -> None:
    """Waits until the loop has dealt with a cancellation, so that histories are whole when the caller goes on."""
    done = threading.Event()
    loop.call_soon_threadsafe(loop.call_later, 0.2, done.set)
    done.wait(2)
