"""`run_code`: model-written Python behind walls that were seen to hold, with tools that go the way of every call."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from toolhand.arguments.expectation import stand_in
from toolhand.arguments.plans import tool_shape
from toolhand.core import plugins
from toolhand.core.context import RunContext
from toolhand.core.errors import ToolError
from toolhand.core.jsonable import jsonable
from toolhand.core.language import chosen_language
from toolhand.core.messages import ToolCall
from toolhand.execution.running import run_blocking
from toolhand.execution.threads import THREADS
from toolhand.jails.runs import Ended, Ran, SandboxError, Stop
from toolhand.observability import listening
from toolhand.observability.defaults import default_sinks
from toolhand.parsing.programs.checks import Problem, problems_of, read_program
from toolhand.parsing.programs.outcomes import WORDS, CodeError, Kind, Limits, Outcome
from toolhand.parsing.programs.subset import beyond_monty
from toolhand.sandbox.backends import NotHere, SandboxBackend
from toolhand.sandbox.calls import Calls, Dispatch, extra_argument
from toolhand.toolset import Toolset

_FOUND: dict[int, tuple[SandboxBackend, tuple[str, ...]]] = {}
"""The backends that were seen to hold, with their walls."""


def run_code(code: str, tools: Any = (), **options: Any) -> Outcome:
    """`arun_code` for code that is not async. Takes the same arguments."""
    return run_blocking(arun_code(code, tools, **options))


async def arun_code(
    code: str,
    tools: Any = (),
    *,
    limits: Limits | None = None,
    backend: str = "auto",
    user: str = "",
    permissions: Collection[str] = (),
    roles: Collection[str] = (),
    context: RunContext | None = None,
    prefix: str = "",
    dispatch: Dispatch | None = None,
) -> Outcome:
    """Runs a program in a sandbox. What the program does wrong is in the outcome, never raised.

    Args:
        code: Python. Its tools are plain functions by their names, and `api.NAME(…)`, `api.call_tool("NAME", …)`,
            `api.parallel([("NAME", {…}), …])`; `await` before them does no harm.
        tools: a `Toolset`, or whatever one is made of. Each call goes through its `dispatch`.
        limits: how far the program may go.
        backend: "monty" (a part of Python, the fastest), "process" (full Python), "container" (full Python in Docker or
            Podman), or "auto": Monty where it will do, else full Python.
        user: who asks.
        permissions: what the user holds.
        roles: what the user is.
        context: the whole context instead.
        prefix: what the ids of the program's calls begin with.
        dispatch: runs one call instead of the tools' own.

    Raises:
        SandboxError: when no sandbox holds on this machine. There is no weaker way to run it.
        MissingExtraError: when what the backend needs is not installed.
        SettingsError: for a backend that is not known.
    """
    limits, held = limits or Limits(), tools if isinstance(tools, Toolset) else Toolset(tools)
    if context is None:
        context = RunContext(
            user=user,
            permissions=frozenset(permissions),
            roles=frozenset(roles),
            language=chosen_language() or "en",
        )
        context = listening(context, default_sinks())
    calls = Calls(
        held, context, most=limits.calls, prefix=prefix or f"code-{uuid.uuid4().hex[:12]}", dispatch=dispatch
    )
    return await _Program(code, calls, limits).run(backend)


class _Program:
    """One program on its way to its outcome."""

    def __init__(self, code: str, calls: Calls, limits: Limits) -> None:
        self.code, self.calls, self.limits = code, calls, limits
        self.language = calls.context.language
        self.started = time.monotonic()

    async def run(self, backend: str) -> Outcome:
        tree = read_program(self.code, self.language)
        if isinstance(tree, Problem):
            return self._refused([tree])
        with contextlib.suppress(RecursionError):  # nested so deep that only a run can tell
            problems = problems_of(tree, self.calls.parameters, self._fault, self.language)
            if problems:
                return self._refused(problems)
        if backend != "auto":
            only = plugins.member("sandbox.backends", backend, "BACKEND")
            return await self._run_in(*await _tried(only))
        return await self._run_in_one_of(beyond_monty(tree))

    async def _run_in_one_of(self, beyond: str) -> Outcome:
        """In Monty where it will do; else, also where that shows only late, in full Python."""
        monty, reason = await _there("monty")
        if monty is not None and not beyond:
            try:
                return await self._run_in(*monty, may_go_on=True)
            except NotHere as lacking:
                beyond = str(lacking)
        full, why = await _there("process")
        if full is None:
            full = (await _there("container"))[0]
        if full is not None:
            self.calls.begin_anew()
            return await self._run_in(*full)
        if monty is None:
            raise SandboxError(f"{why}; {reason}")
        return await self._run_in(*monty)

    async def _run_in(
        self, backend: SandboxBackend, walls: tuple[str, ...], *, may_go_on: bool = False
    ) -> Outcome:
        seconds = min(self.limits.seconds, self.calls.context.seconds_left or self.limits.seconds)
        stop, ran, error = Stop(seconds), Ran(0), None
        running = asyncio.ensure_future(backend.run(self.code, self.calls, self.limits, stop))
        try:
            ran = await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.stop("crashed")
            self.calls.stop()
            await asyncio.wait({running})
            running.exception()  # what comes of it is nobody's concern any more
            raise
        except Ended as ended:
            error = self._error(
                ended.kind, WORDS[self.language][ended.kind].format(**self._facts, **ended.words)
            )
        except NotHere as lacking:
            if may_go_on:
                raise
            said = WORDS[self.language]["unsupported"].format(said=f"{lacking}.")
            error = self._error("unsupported", said)
        finally:
            self.calls.stop()
        if ran.error is not None:
            kind, name, text, line = ran.error
            facts = {**self._facts, "memory": min(self.limits.memory_mb, backend.most_memory_mb)}
            said = f"{name}: {text}" if kind == "exception" else WORDS[self.language][kind].format(**facts)
            error = self._error(kind, said, line)
        return self._outcome(ran, backend.name, walls, error)

    @property
    def _facts(self) -> dict[str, Any]:
        limits = self.limits
        return {
            "seconds": limits.seconds,
            "memory": limits.memory_mb,
            "output": limits.output_kb,
            "calls": limits.calls,
        }

    def _fault(self, name: str, known: Mapping[str, Any], others: Collection[str]) -> str:
        """What is wrong with a call, found by the binder that will bind it; what is not known yet is taken to be right."""
        tool = self.calls.names[name]
        shapes = tool_shape(tool).properties
        arguments = {**known, **{key: stand_in(shapes.get(key)) for key in others}}
        call = ToolCall(id="check", name=tool.name, arguments=arguments)
        bound = self.calls.tools.dispatch.rebind(call, self.calls.context)
        fault = bound if isinstance(bound, ToolError) else extra_argument(bound, self.language)
        return f"{name}(): {fault.sentence}" if fault is not None else ""

    def _refused(self, problems: list[Problem]) -> Outcome:
        first = min(problems, key=lambda one: one.line)
        message = "\n".join(one.message for one in problems)
        return self._outcome(Ran(0), "", (), self._error(first.kind, message, first.line))

    def _error(self, kind: Kind, message: str, line: int = 0) -> CodeError:
        lines = self.code.split("\n")
        shown = lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""
        return CodeError(kind=kind, message=message, line=line, source_line=shown, language=self.language)

    def _outcome(self, ran: Ran, backend: str, walls: tuple[str, ...], error: CodeError | None) -> Outcome:
        cut = WORDS[self.language]["cut"] if ran.length > ran.most else ""
        calls = [call for call in self.calls.made if call.id in self.calls.results]
        return Outcome(
            output="".join(ran.output) + cut,
            value=None if error else jsonable(ran.value),
            error=error,
            calls=tuple(calls),
            results=tuple(self.calls.results[call.id] for call in calls),
            files=dict(ran.files),
            backend=backend,
            isolation=walls,
            seconds=time.monotonic() - self.started,
        )


async def _tried(backend: SandboxBackend) -> tuple[SandboxBackend, tuple[str, ...]]:
    """A backend with its walls, once they were seen to hold."""
    if id(backend) not in _FOUND:
        _FOUND[id(backend)] = (backend, await THREADS.run(backend.walls, tool="toolhand.sandbox"))
    return _FOUND[id(backend)]


async def _there(name: str) -> tuple[tuple[SandboxBackend, tuple[str, ...]] | None, str]:
    """A backend with its walls, or why it cannot be used."""
    try:
        return await _tried(plugins.member("sandbox.backends", name, "BACKEND")), ""
    except (SandboxError, ImportError) as error:  # an extra, or a module of another system
        return None, str(error)
