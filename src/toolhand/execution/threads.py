"""Runs plain functions off the event loop, in threads that are kept, counted and bounded.

Not asyncio's own executor: that has a handful of threads, which a few hanging tools would fill, and it waits for them when
the program ends. Here no tool can take the threads from the others: each starts with a few and earns more by returning.

When a call is given up, `Stopped` is raised in its thread, at the next step that it takes in Python. What blocks inside C (a
sleep, a socket) is not interrupted, but what would have come after it does not happen any more. The thread stays counted
until it has returned. Why, and what this cannot do: docs/adr/0007-where-plain-tools-run.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ctypes
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.core.gauges import GAUGES

IDLE_SECONDS: Final = 30.0

FIRST_THREADS: Final = 12
"""How many threads a tool has that has never returned."""

_FORFEIT: Final = 4
"""How many of the threads that a tool has earned it loses with each call that is given up."""

_MOST_LANES: Final = 1_000


class AllStuckError(RuntimeError):
    """All the threads that a tool may have run calls that were given up."""


class ToolExit(Exception):  # noqa: N818 - a carrier, not an error of its own
    """Carries an exit, a cancellation or a StopIteration out of a thread.

    Args:
        error: what was raised.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


class Stopped(BaseException):
    """Raised inside a plain tool whose call was given up, so that it does nothing more. Let it pass, as you would Ctrl-C."""


_DEPTH: contextvars.ContextVar[int] = contextvars.ContextVar("_DEPTH", default=0)
"""How many tools in threads the asking code is inside of."""


@dataclass(eq=False, slots=True)
class _Lane:
    """One tool's threads.

    Args:
        most: how many it may have now.
        taken: how many it has, stuck ones included.
        stuck: how many run a call that was given up.
        waiting: calls for which it has none.
    """

    most: int
    taken: int = 0
    stuck: int = 0
    waiting: deque[_Job] = field(default_factory=deque)


@dataclass(eq=False, slots=True)
class _Job:
    function: Callable[[], Any]
    context: contextvars.Context
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    lane: _Lane
    on_start: Callable[[], None]
    thread: int = 0
    is_given_up: bool = False
    is_told: bool = False
    has_ended: bool = False


class Threads:
    """A pool of daemon threads that grows when none is idle.

    Args:
        most: how many threads there may be.
    """

    def __init__(self, most: int = 256) -> None:
        self.most = most
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)  # no thread is alive in a forked child

    def _begin(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._lanes: dict[str, _Lane] = {}
        self._stuck: set[_Job] = set()
        self._threads = 0
        self._free = 0
        self._waiting = 0

    @property
    def abandoned(self) -> int:
        """Threads whose call was given up and that still run."""
        return len(self._stuck)

    @property
    def alive(self) -> int:
        """Threads that there are, idle ones included."""
        return self._threads

    async def run(
        self, function: Callable[[], Any], *, tool: str = "", on_start: Callable[[], None] = lambda: None
    ) -> Any:
        """What the function gives, from a thread, with the caller's context variables. Waits while the tool has no thread.

        Args:
            function: what runs.
            tool: whose threads are used.
            on_start: called in the thread right before the function.

        Raises:
            AllStuckError: when all the threads that the tool may have are stuck.
            ToolExit: around an exit or another exception that must not leave a thread as itself.
            Exception: whatever else the function raises.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        depth = _DEPTH.get()
        with self._lock:
            # A call from inside a tool has a lane of its own: it must not wait for the call that waits for it.
            lane = self._lane(f"{tool}\x00{depth}" if depth else tool)
            context = contextvars.copy_context()
            context.run(_DEPTH.set, depth + 1)
            job = _Job(function, context, loop, future, lane, on_start)
            if depth and not self._free and self._threads >= self.most:
                raise AllStuckError(
                    f"'{tool}' was called from {depth} calls inside one another, and no thread is left"
                )
            if lane.stuck >= lane.most or len(self._stuck) >= self.most:
                self._tell_stuck_again()
                raise AllStuckError(f"{lane.stuck} calls of '{tool}' have been given up and have not ended")
            lane.waiting.append(job)
            self._waiting += 1
            self._start_waiting(lane)
        try:
            return await future
        except asyncio.CancelledError:
            self._give_up(job)
            raise

    def _lane(self, tool: str) -> _Lane:
        lane = self._lanes.get(tool)
        if lane is None:
            if len(self._lanes) >= _MOST_LANES:
                kept = {name: lane for name, lane in self._lanes.items() if lane.taken or lane.waiting}
                self._lanes = kept
            lane = self._lanes[tool] = _Lane(FIRST_THREADS)
        return lane

    def _start_waiting(self, lane: _Lane) -> None:
        while lane.waiting and lane.taken < lane.most:
            if self._free > 0:
                self._free -= 1
                self._jobs.put(self._next(lane))
            elif self._threads < self.most:
                job = self._next(lane)
                thread = threading.Thread(target=self._work, args=(job,), name="toolhand-tool", daemon=True)
                self._threads += 1
                try:
                    thread.start()
                except (
                    RuntimeError
                ):  # the system gives no more; the call waits for one of those that there are
                    self._threads -= 1
                    lane.taken -= 1
                    lane.waiting.appendleft(job)
                    self._waiting += 1
                    return
            else:
                return

    def _next(self, lane: _Lane) -> _Job:
        self._waiting -= 1
        lane.taken += 1
        return lane.waiting.popleft()

    def _give_up(self, job: _Job) -> None:
        with self._lock:
            lane = job.lane
            if job.has_ended or job.is_given_up:
                return
            job.is_given_up = True
            if job in lane.waiting:
                lane.waiting.remove(job)
                self._waiting -= 1
                return
            lane.stuck += 1
            lane.most = max(FIRST_THREADS, lane.most - _FORFEIT)
            self._stuck.add(job)
            self._tell(job)

    def _tell(self, job: _Job) -> None:
        """Raises `Stopped` in the job's thread; under the lock, so that the thread cannot be at another job."""
        if job.thread and hasattr(ctypes, "pythonapi"):
            job.is_told = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(job.thread), ctypes.py_object(Stopped))

    def _tell_stuck_again(self) -> None:
        # A tool that catches everything has caught the first one too. Not sooner: it may be cleaning up.
        for job in self._stuck:
            self._tell(job)

    def _work(self, first: _Job) -> None:
        job: _Job | None = first
        while job is not None:
            outcome: list[Any] = []
            # `Stopped` may come between any two steps until the job is marked as ended, so each has a net below it.
            try:
                with contextlib.suppress(Stopped):
                    self._perform(job, outcome)
                self._mark_ended(job)
            except Stopped:
                self._mark_ended(job)
            self._answer(job, outcome)
            following = self._following(job)
            del job, outcome
            job = following or self._awaited()
            del following

    def _perform(self, job: _Job, outcome: list[Any]) -> None:
        try:
            with self._lock:
                if job.is_given_up or job.loop.is_closed():
                    return
                job.thread = threading.get_ident()
            job.on_start()
            value = job.context.run(job.function)
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
            outcome += [None, error]
        else:
            outcome += [value, None]

    def _mark_ended(self, job: _Job) -> None:
        with self._lock:
            if job.has_ended:
                return
            self._forget_stop(job)  # from here on none can come: they are sent under this lock
            job.has_ended = True
            job.lane.taken -= 1
            if job in self._stuck:
                self._stuck.discard(job)
                job.lane.stuck -= 1
            elif not job.is_given_up:
                job.lane.most = min(max(FIRST_THREADS, self.most // 2), job.lane.most + 1)

    def _forget_stop(self, job: _Job) -> None:
        """Takes back a `Stopped` that has not been raised yet: it would hit the books, or the thread's next call."""
        if not job.is_told:
            return
        try:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(job.thread), None)
        except Stopped:
            return

    def _following(self, job: _Job) -> _Job | None:
        """The next call for this thread, of the tool that has the fewest; where none waits, the thread counts as idle."""
        with self._lock:
            following = None
            if self._waiting:
                hungry = [lane for lane in self._lanes.values() if lane.waiting and lane.taken < lane.most]
                if hungry:
                    following = self._next(min(hungry, key=lambda lane: lane.taken))
            if following is None:
                self._free += 1
            self._start_waiting(job.lane)
            return following

    def _awaited(self) -> _Job | None:
        """The next call, or None when none came for a while and the thread may end."""
        while True:
            try:
                return self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._free > 0 and self._jobs.empty():
                        self._free -= 1
                        self._threads -= 1
                        return None

    def _answer(self, job: _Job, outcome: list[Any]) -> None:
        if job.is_given_up:
            return
        value, error = outcome or (None, None)

        def settle() -> None:
            if job.future.done():
                return
            if error is None:
                job.future.set_result(value)
            elif isinstance(error, Exception) and not isinstance(error, StopIteration | ToolExit):
                job.future.set_exception(error)
            else:
                # A future takes no StopIteration, and an exit must not leave the thread as one.
                job.future.set_exception(ToolExit(error))

        try:
            job.loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return


THREADS = Threads()
"""The process's pool."""

GAUGES["abandoned_threads"] = lambda: THREADS.abandoned
GAUGES["tool_threads"] = lambda: THREADS.alive
