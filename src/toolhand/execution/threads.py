"""Runs plain functions off the event loop, in threads that are kept, counted and bounded.

Not asyncio's own executor: that has a handful of threads, which a few hanging tools would fill, and it waits for them when
the program ends.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

from toolhand.core.errors import ErrorCode, ToolFailure

_Job = tuple[Callable[[], Any], contextvars.Context, asyncio.AbstractEventLoop, "asyncio.Future[Any]"]

IDLE_SECONDS = 30.0


class Threads:
    """A pool of daemon threads that grows when none is idle.

    Args:
        most: how many threads there may be; a call that finds them all busy is refused instead of waiting.
    """

    def __init__(self, most: int = 256) -> None:
        self.most = most
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0
        self._abandoned = 0

    @property
    def abandoned(self) -> int:
        """Threads whose call was given up and that still run."""
        return self._abandoned

    async def run(self, function: Callable[[], Any]) -> Any:
        """What the function gives, from a thread, with the caller's context variables.

        Raises:
            ToolFailure: when every thread is busy.
            BaseException: whatever the function raises.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        job = (function, contextvars.copy_context(), loop, future)
        with self._lock:
            if self._free > 0:
                self._free -= 1
            elif self._threads < self.most:
                self._threads += 1
                threading.Thread(target=self._work, name="toolhand-tool", daemon=True).start()
            else:
                raise ToolFailure(
                    "Too many tools are running and none of them ends.",
                    code=ErrorCode.RATE_LIMITED,
                    retryable=True,
                )
            self._jobs.put(job)
        try:
            return await future
        except asyncio.CancelledError:
            with self._lock:
                self._abandoned += 1
            future.cancel()
            raise

    def _work(self) -> None:
        while True:
            try:
                function, context, loop, future = self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._free > 0 and self._jobs.empty():
                        self._free -= 1
                        self._threads -= 1
                        return
                continue
            value, error = None, None
            try:
                value = context.run(function)
            except BaseException as raised:  # noqa: BLE001 - handed to the caller, whatever it is
                error = raised
            with self._lock:
                self._free += 1
            self._tell(loop, future, value, error)
            del function, context, loop, future, value, error

    def _tell(
        self,
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Any],
        value: Any,
        error: BaseException | None,
    ) -> None:
        def settle() -> None:
            if future.cancelled():
                with self._lock:
                    self._abandoned -= 1
            elif error is not None:
                # A future takes no StopIteration, and an exit must not leave the thread as one.
                wrapped = (
                    error
                    if isinstance(error, Exception) and not isinstance(error, StopIteration)
                    else _Raised(error)
                )
                future.set_exception(wrapped)
            else:
                future.set_result(value)

        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop is closed: nobody waits any more
            with self._lock:
                self._abandoned = max(0, self._abandoned - 1)


class _Raised(Exception):  # noqa: N818 - a carrier, not an error of its own
    """Carries an exit or a StopIteration out of a thread as an ordinary exception."""


THREADS = Threads()
"""The process's pool."""
