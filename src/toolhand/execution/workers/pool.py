"""The pool of worker processes. One thread with an event loop of its own owns it, so that calls may come from any loop."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.core.errors import ErrorCode, FatalError, ToolFailure
from toolhand.execution.faults import Fault
from toolhand.execution.workers.crew import Crew, WorkerLimits
from toolhand.execution.workers.definition import Definition
from toolhand.execution.workers.failures import (
    FrameTooLargeError,
    ProcessLostError,
    ToolRaisedError,
    WorkerEndedError,
)
from toolhand.execution.workers.frames import encoded
from toolhand.execution.workers.nodes import Worker, surroundings

_CLOSE_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 8.0
"""How long a caller who gives up waits to hear that the work has ended; usually it takes milliseconds."""


@dataclass(eq=False, slots=True)
class ProcessCall:
    """One call on its way through a worker.

    Args:
        definition: the tool's function.
        arguments: what is sent, JSON.
        is_repeatable: whether running it twice does no harm; decides what a lost connection means.
        is_typed: whether the worker makes the function's own types of them.
        injected: further keyword arguments, JSON.
        context: a `RunContext`'s plain fields, or None.
        context_parameters: the parameters that take it.
        has_started: whether a worker was given the call.
    """

    definition: Definition
    arguments: Mapping[str, Any]
    is_repeatable: bool = True
    is_typed: bool = True
    injected: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] | None = None
    context_parameters: tuple[str, ...] = ()
    has_started: bool = False


@dataclass(frozen=True, slots=True)
class _Owner:
    loop: asyncio.AbstractEventLoop
    crew: Crew
    thread: threading.Thread


_LEFT_TO_THE_PARENT: Final[list[_Owner]] = []


class ProcessPool:
    """Worker processes, started when they are first needed.

    Args:
        most: how many workers there may be at once; twice the processors by default. A caller who finds them all busy waits,
            within the call's own time.
        memory_mb: what a worker may use beyond what it starts with, in megabytes.
        result_mb: the largest result, in megabytes of JSON.
    """

    def __init__(self, most: int | None = None, *, memory_mb: int = 4096, result_mb: float = 64) -> None:
        self.limits = WorkerLimits(most or 2 * (os.cpu_count() or 1), memory_mb, result_mb)
        self._lock = threading.Lock()
        self._owner: _Owner | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    @property
    def alive(self) -> int:
        """How many workers there are."""
        owner = self._owner
        return 0 if owner is None else owner.crew.alive

    def is_ready(self, definition: Definition) -> bool:
        """Whether the tool's module has been imported, so that a call starts at once."""
        owner = self._owner
        return owner is not None and owner.crew.is_ready(definition.family)

    async def ready(self, definition: Definition) -> None:
        """Imports the tool's module for the workers to come, where that has not been done.

        Raises:
            ProcessLostError: when that fails; the text holds the traceback.
        """
        await self._owned(lambda crew: crew.template(definition), _nothing)

    def prepare(self, definition: Definition) -> None:
        """Begins to import the tool's module for the workers to come, in the background; what fails shows at the call."""
        if not self.is_ready(definition):
            owner, crew = self._started()
            owner.call_soon_threadsafe(crew.prepare, definition)

    async def run(self, call: ProcessCall) -> Any:
        """What the tool's function gives, as JSON. When the caller is cancelled, the work has ended before this returns.

        Raises:
            ToolFailure: when the tool raised it.
            ToolRaisedError: for whatever else it raised.
            WorkerEndedError: when the process ended in the middle of the call.
            ProcessLostError: when no worker could be started.
            FrameTooLargeError: when the arguments or the result are too large.
        """
        return await self._owned(lambda crew: self._run(crew, call), _value)

    async def _run(self, crew: Crew, call: ProcessCall) -> dict[str, Any]:
        worker = await crew.worker(call.definition)
        try:
            frame = _frame(call, worker, int(self.limits.result_mb * 2**20))
            call.has_started = True
            with contextlib.suppress(OSError):
                await worker.channel.send(frame)
            answer: dict[str, Any] = await worker.channel.receive()
        except (EOFError, FrameTooLargeError) as error:
            await crew.end(worker)
            if isinstance(error, FrameTooLargeError):
                raise
            raise WorkerEndedError(f"the tool's process ended unexpectedly: {worker.ended_by}") from None
        except BaseException:
            await crew.end(worker)
            raise
        crew.teach(worker.template, call.definition)
        crew.give_back(worker, is_clean=answer["is_clean"])
        return answer

    async def _owned(
        self, work: Callable[[Crew], Coroutine[Any, Any, Any]], settled: Callable[[Any], Any]
    ) -> Any:
        """Runs something on the pool's own loop, and waits for it on the caller's."""
        owner, crew = self._started()
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        task: asyncio.Task[Any] | None = None
        is_given_up = False

        def begin() -> None:
            nonlocal task
            if is_given_up:
                tell()
                return
            task = owner.create_task(work(crew))
            task.add_done_callback(tell)

        def tell(_: object = None) -> None:
            with contextlib.suppress(RuntimeError):  # the caller's loop is closed
                loop.call_soon_threadsafe(settle)

        def settle() -> None:
            if not over.done():
                over.set_result(None)

        def give_up() -> None:
            if task is not None:
                task.cancel()

        owner.call_soon_threadsafe(begin)
        try:
            await asyncio.shield(over)
        except asyncio.CancelledError:
            is_given_up = True
            owner.call_soon_threadsafe(give_up)
            # The caller may go on only when the work cannot have any effect any more.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STOP_SECONDS):
                    await over
            if task is not None and task.done() and not task.cancelled():
                task.exception()  # seen: nobody asks for it any more
            raise
        if task is None or task.cancelled():
            raise ProcessLostError("the worker processes are being ended")
        return settled(task.result())

    def _started(self) -> tuple[asyncio.AbstractEventLoop, Crew]:
        with self._lock:
            if self._owner is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name="toolhand-workers", daemon=True)
                self._owner = _Owner(loop, Crew(self.limits), thread)
                thread.start()
                atexit.register(self.close)
            return self._owner.loop, self._owner.crew

    def close(self) -> None:
        """Ends every process and waits until they are gone. The pool can be used again; it then starts anew."""
        with self._lock:
            owner, self._owner = self._owner, None
        atexit.unregister(self.close)
        if owner is None or not owner.thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(owner.crew.close(), owner.loop).result(_CLOSE_SECONDS)
        owner.loop.call_soon_threadsafe(owner.loop.stop)
        owner.thread.join(_CLOSE_SECONDS)
        owner.loop.close()

    def _forget(self) -> None:
        """In a process that was forked from this one: lets go of what belongs to the parent, or it would never see an end."""
        self._lock = threading.Lock()
        if self._owner is not None:
            for channel in self._owner.crew.channels():
                channel.close()
            _LEFT_TO_THE_PARENT.append(self._owner)
            self._owner = None


def _frame(call: ProcessCall, worker: Worker, most_bytes: int) -> bytes:
    around = surroundings()
    job = {
        "definition": call.definition.sent,
        "arguments": call.arguments,
        "is_repeatable": call.is_repeatable,
        "is_typed": call.is_typed,
        "injected": call.injected,
        "context": call.context,
        "context_parameters": call.context_parameters,
        "directory": around["directory"],
        "most_bytes": most_bytes,
    }
    if worker.environ != around["environ"]:
        worker.environ = job["environ"] = around["environ"]
    return encoded(job)


def _nothing(_: object) -> None:
    return None


def _value(answer: Mapping[str, Any]) -> Any:
    if "value" in answer:
        return answer["value"]
    kind = answer["kind"]
    if kind == "failure":
        error = answer["error"]
        raise ToolFailure(
            error["message"],
            code=ErrorCode(error["code"]),
            retryable=error["retryable"],
            hint=error["hint"],
            details=error["details"],
            chinese=None if error["chinese"] is None else tuple(error["chinese"]),
        )
    if kind == "fatal":
        raise FatalError(answer["text"])
    if kind == "too_large":
        raise FrameTooLargeError(answer["text"])
    judged = answer["fault"]
    fault = Fault(**{**judged, "code": ErrorCode(judged["code"])})
    raised = ToolRaisedError(f"{answer['type']}: {answer['text']}", fault)
    raised.add_note(answer["trace"])
    raise raised


PROCESSES = ProcessPool()
"""The process's pool of worker processes. Its `limits` may be changed at any time."""
