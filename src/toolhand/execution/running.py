"""The thin synchronous face: one event loop in a background thread, kept so that connections are too."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, Final, TypeVar, cast

from toolhand.core.language import say

T = TypeVar("T")

CLEAN_UP_SECONDS: Final = 5.0
"""How long a run that is stopped with Ctrl-C may take to clean up; a second Ctrl-C does not wait."""


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
        """Ends the loop with all that hangs on it: tasks, connections that are held by generators, its own socket."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=2)
        if thread.is_alive():  # something blocks the loop: the process ends without it
            return
        self._loop = None
        with contextlib.suppress(Exception):
            if left := asyncio.all_tasks(loop):
                for task in left:
                    task.cancel()
                loop.run_until_complete(asyncio.wait(left, timeout=1))
            loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


_LOOP = _Loop()


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine from code that is not async, also where an event loop already runs in this thread.

    Ctrl-C cancels the work and waits for it to clean up.
    """
    loop = _LOOP.get()
    if threading.current_thread().name == "toolhand-sync":
        work.close()
        raise RuntimeError(
            say(
                "the synchronous face was called from inside an async tool: await the async one instead",
                "在 async 工具中调用了同步接口：请改为 await 异步接口",
            )
        )
    done: Future[tuple[T, BaseException | None]] = Future()
    tasks: list[asyncio.Task[tuple[T, BaseException | None]]] = []

    def finish(task: asyncio.Task[tuple[T, BaseException | None]]) -> None:
        if task.cancelled():
            work.close()  # where it was cancelled before its first step
            done.cancel()
        else:
            done.set_result(task.result())

    def begin() -> None:
        tasks.append(loop.create_task(_contained(work)))
        tasks[0].add_done_callback(finish)

    loop.call_soon_threadsafe(begin)
    try:
        value, raised = done.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(lambda: tasks[0].cancel())  # noqa: PLW0108 - it is there by then
        with contextlib.suppress(CancelledError, TimeoutError):
            done.result(CLEAN_UP_SECONDS)  # histories are whole when the caller goes on
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
