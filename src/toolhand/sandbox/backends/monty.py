"""Monty, an interpreter for a part of Python written in Rust, in a worker process that a jail closes in.

Each program has a worker of its own, which is ended with it; some are kept ready. Source: pydantic-monty 1.4.
"""

from __future__ import annotations

import ast
import json
import sys
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from toolhand.core.language import say
from toolhand.execution.threads import THREADS
from toolhand.jails.inside.awaiting import awaited_calls
from toolhand.jails.monty_workers import MOST_MEMORY_MB, Worker, Workers, library
from toolhand.jails.ring import Ring, is_over
from toolhand.jails.runs import MOST_ARGUMENT_BYTES, Answer, Ran, SandboxError, Stop
from toolhand.parsing.programs.outcomes import Limits
from toolhand.sandbox.backends import NotHere
from toolhand.sandbox.calls import Calls

JAILS: Final = ("landlock", "namespaces")
"""The first costs less here, and what it hides less well an interpreter without files cannot look for."""
_NOT_YET: Final = ("not yet support", "not supported", "not implemented")


class _Api:
    """What `api` is on this side: a name. Its methods are answered where they are called."""


class MontyBackend:
    """Runs programs in Monty.

    Args:
        jails: which may be used, the best first.
    """

    name = "monty"
    most_memory_mb = MOST_MEMORY_MB

    def __init__(self, jails: tuple[str, ...] = JAILS) -> None:
        self._jails = jails
        self._ring: Ring[tuple[str, float], Worker] = Ring(
            Workers().made, Worker.close, is_gone=lambda worker: is_over(worker.process)
        )

    def walls(self) -> tuple[str, ...]:
        """The walls of the jail that holds, and the interpreter's own.

        Raises:
            MissingExtraError: when it is not installed.
            SandboxError: when no jail holds.
        """
        library()
        if sys.platform != "linux":
            raise SandboxError(
                say(
                    f"monty runs here only inside a jail of Linux, and this is {sys.platform}: use a container",
                    f"monty 在这里只在 Linux 的隔离中运行，而这里是 {sys.platform}：请使用容器",
                )
            )
        from toolhand.jails.selftest import holding  # noqa: PLC0415 - only Linux has what it loads

        return (holding(self._jails), "seccomp", "monty")

    def end(self) -> None:
        """Ends what is kept ready."""
        self._ring.clear()

    async def run(self, code: str, calls: Calls, limits: Limits, stop: Stop) -> Ran:
        """Runs one program to its end.

        Raises:
            NotHere: when Monty lacks what it needs.
            Ended: when its calls end it.
        """
        ran: Ran = await THREADS.run(lambda: self._run(code, calls, limits, stop), tool="toolhand.sandbox")
        return ran

    def _run(self, code: str, calls: Calls, limits: Limits, stop: Stop) -> Ran:
        worker = self._ring.take((self.walls()[0], limits.seconds))
        stop.begin(worker.kill)
        try:
            return _Running(library(), worker.session, code, calls, limits, stop).run()
        finally:
            stop.end()
            worker.kill()
            self._ring.retire(worker)


@dataclass(slots=True)
class _Running:
    """One program in one session."""

    monty: Any
    session: Any
    code: str
    calls: Calls
    limits: Limits
    stop: Stop
    ran: Ran = field(init=False)
    _later: set[tuple[int, int]] = field(default_factory=set)
    _pending: dict[int, Future[Answer]] = field(default_factory=dict)

    def run(self) -> Ran:
        self.ran = Ran(self.limits.output_kb * 1024)
        self._later = _places(self.code, self.calls)
        api = self.monty.ClassInstance(_Api(), allowed_methods={*self.calls.names, "call_tool", "parallel"})
        try:
            state = self.session.feed_start(
                self.code, inputs={"api": api}, print_callback=lambda _, text: self.ran.print(text)
            )
            while not isinstance(state, self.monty.MontyComplete):
                if self.stop.kind or not self.stop.left:
                    self.ran.error = (self.stop.kind or "time", "", "", 0)
                    return self.ran
                state = self._step(state)
            self._end(state.output)
        except self.monty.MontyCrashedError as error:
            is_late = error.timed_out or not self.stop.left
            self.ran.error = (self.stop.kind or ("time" if is_late else "memory"), "", "", 0)
        except self.monty.MontyError as error:
            self.ran.error = self._told(error)
        return self.ran

    def _step(self, state: Any) -> Any:
        """Answers what the program waits for, and lets it go on."""
        if isinstance(state, self.monty.NameLookupSnapshot):
            return self._looked_up(state)
        if isinstance(state, self.monty.FutureSnapshot):
            return self._settled(state)
        if state.is_os_function:
            return state.resume_not_handled()
        try:
            name, arguments = self._asked(state)
            if name == "parallel":
                return state.resume(self._side_by_side(arguments["calls"]))
            done = self.calls.start_from_thread(name, arguments)
        except (TypeError, ValueError) as error:
            return state.resume({"exc_type": type(error).__name__, "message": str(error)[:2_000]})
        if (state.position.start, state.position.end) in self._later:
            self._pending[state.call_id] = done
            return state.resume({"future": ...})
        return state.resume(_resumed(self._awaited(done)))

    def _looked_up(self, state: Any) -> Any:
        name = state.variable_name
        if state.object_id is None and name in self.calls.names:
            return state.resume(value=_named(name))
        return state.resume()

    def _settled(self, state: Any) -> Any:
        waiting = {
            number: self._pending[number] for number in state.pending_call_ids if number in self._pending
        }
        wait(waiting.values(), timeout=self.stop.left, return_when=FIRST_COMPLETED)
        done = {number: one for number, one in waiting.items() if one.done()}
        for number in done:
            del self._pending[number]
        return (
            state.resume({number: _resumed(self._awaited(one)) for number, one in done.items()})
            if done
            else state
        )

    def _asked(self, state: Any) -> tuple[str, dict[str, Any]]:
        """The tool and its arguments, in JSON's types and none else.

        Raises:
            TypeError: when they are not.
        """
        name = str(state.function_name)
        copy = _Copy(MOST_ARGUMENT_BYTES * (10 if name == "parallel" else 1))
        values, named = copy.of(list(state.args)), copy.of(dict(state.kwargs))
        if name == "parallel":
            return name, {"calls": values[0] if values else named.get("calls", [])}
        if name == "call_tool":
            name = str(values.pop(0) if values else named.pop("name", ""))
        parameters = self.calls.parameters.get(name, [])
        if len(values) > len(parameters):
            raise TypeError(f"{name}() takes {len(parameters)} arguments but {len(values)} were given")
        return name, {**dict(zip(parameters, values, strict=False)), **named}

    def _side_by_side(self, wanted: Any) -> dict[str, Any]:
        if not all(isinstance(one, list) and len(one) == 2 and isinstance(one[1], dict) for one in wanted):
            raise TypeError("api.parallel takes a list of (name, {argument: value}) pairs")
        answers = [
            self._awaited(one)
            for one in [self.calls.start_from_thread(str(name), named) for name, named in wanted]
        ]
        failed = [answer for answer in answers if "error" in answer]
        return _resumed(failed[0] if failed else {"value": [answer["value"] for answer in answers]})

    def _awaited(self, done: Future[Answer]) -> Answer:
        try:
            answer = done.result(timeout=self.stop.left)
        except TimeoutError:
            self.stop.stop("time")
            return {"error": "time", "code": "timeout"}
        if self.calls.ended is not None:
            raise self.calls.ended
        return answer

    def _end(self, value: Any) -> None:
        most = self.limits.output_kb * 1024
        try:
            self.ran.value = _Copy(most, is_result=True).of(value)
            is_long = len(json.dumps(self.ran.value)) > most
        except (TypeError, ValueError):
            is_long = True
        if is_long:
            self.ran.value, self.ran.error = None, ("output", "", "", 0)

    def _told(self, error: Any) -> tuple[Any, str, str, int]:
        inner = error.exception()
        name, text = type(inner).__name__, str(inner)
        lines = [frame.line for frame in error.traceback() if frame.filename.startswith("<python-input")]
        line = lines[-1] if lines and hasattr(error, "traceback") else 0
        if isinstance(inner, ModuleNotFoundError) or any(mark in text for mark in _NOT_YET):
            raise NotHere(text)
        if isinstance(inner, AttributeError) and text.startswith("module "):
            raise NotHere(text)
        if isinstance(inner, TimeoutError) and "limit exceeded" in text:
            return ("time", "", "", 0)
        if isinstance(inner, MemoryError):
            return ("memory", "", "", line)
        return ("exception", name, text[:2_000], line)


def _resumed(answer: Answer) -> dict[str, Any]:
    if "error" in answer:
        return {"exc_type": "RuntimeError", "message": str(answer["error"])}
    return {"return_value": answer["value"]}


def _named(name: str) -> Any:
    """A stand-in that says which function is meant; it is never called, as each call is answered where it is made."""

    def function() -> None:
        raise RuntimeError(name)

    function.__name__ = name
    return function


def _places(code: str, calls: Calls) -> set[tuple[int, int]]:
    """Where, in bytes, the calls stand that are to be awaited."""
    if "async" not in code and "await" not in code:
        return set()
    found = awaited_calls(ast.parse(code), calls.names)
    starts = [0]
    for line in code.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return {
        (
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0),
        )
        for node in found
    }


@dataclass(slots=True)
class _Copy:
    """Copies a value of the program's in JSON's types. What is in it twice counts twice: a few lists hold one another 2^40 times.

    Args:
        left: how many characters of JSON it may still come to, about.
        is_result: whether of a part that has another type its type is told.
    """

    left: int
    is_result: bool = False

    def of(self, value: Any, depth: int = 0) -> Any:
        """The copy.

        Raises:
            TypeError: for another type.
            ValueError: when it is too large or nested too deep.
        """
        kind = type(value)
        self.left -= 3 + (len(value) if kind is str else value.bit_length() >> 2 if kind is int else 0)
        if self.left < 0 or depth > 100:
            raise ValueError("a value is too large, or nested more than 100 levels deep")
        if kind in {str, int, bool, type(None)}:
            return value
        if kind is float:
            return value if value - value == 0 or not self.is_result else None
        if kind in {list, tuple, set, frozenset}:
            return [self.of(item, depth + 1) for item in value]
        if kind is dict:
            return {self.of(str(key), depth): self.of(item, depth + 1) for key, item in value.items()}
        if self.is_result and kind in {Decimal, complex}:
            return str(value)
        if hasattr(value, "isoformat"):
            return value.isoformat()
        if not self.is_result:
            raise TypeError(
                f"a {kind.__name__} cannot be given to a tool: give text, numbers, lists or dicts"
            )
        return f"<{getattr(value, 'name', kind.__name__)}>"[:200]


BACKEND = MontyBackend()
