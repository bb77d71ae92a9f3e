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

    async def run(self, function: Callable[[], Any], *, tool: str = "") -> Any:
        """What the function gives, from a thread, with the caller's context variables. Waits while the tool has no thread.

        Args:
            function: what runs.
            tool: whose threads are used.

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
            name = f"{tool}\x00{depth}" if depth else tool
            lane = self._lanes.get(name) or self._new_lane(name)
            context = contextvars.copy_context()
            context.run(_DEPTH.set, depth + 1)
            job = _Job(function, context, loop, future, lane)
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

    def _new_lane(self, name: str) -> _Lane:
        if len(self._lanes) >= _MOST_LANES:
            self._lanes = {name: lane for name, lane in self._lanes.items() if lane.taken or lane.waiting}
        lane = self._lanes[name] = _Lane(FIRST_THREADS)
        return lane

    def _start_waiting(self, lane: _Lane) -> None:
        while lane.waiting and lane.taken < lane.most and (self._free > 0 or self._threads < self.most):
            self._waiting -= 1
            lane.taken += 1
            job = lane.waiting.popleft()
            if self._free > 0:
                self._free -= 1
                self._jobs.put(job)
            else:
                thread = threading.Thread(target=self._work, args=(job,), name="toolhand-tool", daemon=True)
                self._threads += 1
                try:
                    thread.start()
                except RuntimeError:
                    # The system gives no more; the call waits for one of those that there are.
                    self._threads -= 1
                    lane.taken -= 1
                    lane.waiting.appendleft(job)
                    self._waiting += 1
                    return

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
                following = self._ended(job)
            except Stopped:
                following = self._ended(job)
            if not job.is_given_up:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    job.loop.call_soon_threadsafe(_settle, job.future, *(outcome or (None, None)))
            del job, outcome
            job = following or self._awaited()
            del following

    def _perform(self, job: _Job, outcome: list[Any]) -> None:
        try:
            with self._lock:
                if job.is_given_up or job.loop.is_closed():
                    return
                job.thread = threading.get_ident()
            value = job.context.run(job.function)
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
            outcome += [None, error]
        else:
            outcome += [value, None]

    def _ended(self, job: _Job) -> _Job | None:
        """Marks a job as ended; gives the next one for its thread, or None where the thread counts as idle from now on."""
        with self._lock:
            if job.is_told:
                _forget_stop(job.thread)  # from here on none can come: they are sent under this lock
            lane = job.lane
            job.has_ended = True
            lane.taken -= 1
            if job in self._stuck:
                self._stuck.discard(job)
                lane.stuck -= 1
            elif not job.is_given_up:
                lane.most = min(max(FIRST_THREADS, self.most // 2), lane.most + 1)
            following = self._following() if self._waiting else None
            if following is None:
                self._free += 1
            self._start_waiting(lane)
            return following

    def _following(self) -> _Job | None:
        """The next call that waits, of the tool that has the fewest threads."""
        hungry = [lane for lane in self._lanes.values() if lane.waiting and lane.taken < lane.most]
        if not hungry:
            return None
        lane = min(hungry, key=lambda lane: lane.taken)
        self._waiting -= 1
        lane.taken += 1
        return lane.waiting.popleft()

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


def _forget_stop(thread: int) -> None:
    """Takes back a `Stopped` that has not been raised yet: it would hit the books, or the thread's next call."""
    with contextlib.suppress(Stopped):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    """Hands on what came of a call, on the loop that waits for it."""
    if future.done():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration | ToolExit):
        future.set_exception(error)
    else:
        # A future takes no StopIteration, and an exit must not leave the thread as one.
        future.set_exception(ToolExit(error))


THREADS = Threads()
"""The process's pool."""

GAUGES["abandoned_threads"] = lambda: THREADS.abandoned
GAUGES["tool_threads"] = lambda: THREADS.alive
