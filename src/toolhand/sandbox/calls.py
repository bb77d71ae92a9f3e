"""The tool calls of a program: each goes through `dispatch` as any other call.

A program that is begun anew gets the same answers to the same calls, and none of them runs twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Final

from toolhand.core.approvals import pending_of
from toolhand.core.canonical import canonical, digest
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.jsonable import jsonable
from toolhand.core.messages import BoundCall, ToolCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.jails.runs import MOST_ARGUMENT_BYTES, Answer, Ended
from toolhand.policies.deduplicate import remembered, unremembering
from toolhand.policies.shrinking.store import results_of
from toolhand.tools.collection import ToolCollection
from toolhand.tools.stubs import python_name
from toolhand.toolset import Toolset

Dispatch = Callable[[ToolCall, RunContext], Awaitable[ToolResult]]

_EXTRA: Final = {
    "en": "{name}() has no parameter '{key}'; it has: {known}.",
    "zh": "{name}() 没有参数“{key}”，只有：{known}。",
}


def python_names(tools: ToolCollection) -> dict[str, Tool]:
    """The tools by the names that a program can write, and by their own."""
    found = {tool.name: tool for tool in tools}
    for tool in tools:
        if name := python_name(tool):
            found.setdefault(name, tool)
    return found


def extra_argument(bound: BoundCall, language: str) -> ToolError | None:
    """The error for a keyword that no parameter has: a program is held to what it writes."""
    for fix in bound.call.fixes:
        if fix.kind == "extra_dropped":
            words = {
                "name": bound.tool.name,
                "key": fix.path.removeprefix("$").removeprefix("."),
                "known": ", ".join(bound.tool.properties) or "-",
            }
            return ToolError(
                code=ErrorCode.INVALID_ARGUMENT, message=_EXTRA[language].format(**words), path=fix.path
            )
    return None


class Calls:
    """The calls of one program.

    Args:
        tools: what it may call.
        context: the run's facts.
        most: how many calls it may make.
        prefix: what the ids of its calls begin with; they follow from it, their place, and what is asked.
        dispatch: runs one call; the tools' own by default.
    """

    def __init__(
        self, tools: Toolset, context: RunContext, *, most: int, prefix: str, dispatch: Dispatch | None = None
    ) -> None:
        self.tools, self.context, self.names = tools, context, python_names(tools)
        self.made: list[ToolCall] = []
        self.results: dict[str, ToolResult] = {}
        self.ended: Ended | None = None
        self._most, self._prefix, self._dispatch = most, prefix, dispatch or self._own
        self._loop = asyncio.get_running_loop()
        self._running: set[asyncio.Task[Answer]] = set()
        self._known: list[tuple[str, Answer]] = []
        self._answers: dict[int, tuple[str, Answer]] = {}
        self._place = 0

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The parameters of each tool by its name, in order."""
        return {name: list(tool.properties) for name, tool in self.names.items()}

    def begin_anew(self) -> None:
        """From now on the first calls are answered with what they got before, as long as they are the same."""
        self._known = [self._answers[place] for place in sorted(self._answers)]
        self._place, self.ended = 0, None

    def start_from_thread(self, name: str, arguments: Mapping[str, Any]) -> Future[Answer]:
        """Starts a call from another thread than the event loop's; its answer, or `Ended`, comes in time."""
        done: Future[Answer] = Future()

        def begin() -> None:
            try:
                self.start(name, arguments).add_done_callback(pass_on)
            except Ended as ended:
                done.set_exception(ended)

        def pass_on(going: asyncio.Future[Answer]) -> None:
            if going.cancelled():
                done.cancel()
            elif (error := going.exception()) is not None:
                done.set_exception(error)
            else:
                done.set_result(going.result())

        self._loop.call_soon_threadsafe(begin)
        return done

    def start(self, name: str, arguments: Mapping[str, Any]) -> asyncio.Future[Answer]:
        """Starts a call; its answer comes in time.

        Raises:
            Ended: when the program may make no more.
        """
        if self.ended is not None:
            raise self.ended
        place, self._place = self._place, self._place + 1
        text = canonical(arguments)
        asked = digest(name, text)
        if place < len(self._known):
            before, answer = self._known[place]
            if before == asked:
                known: asyncio.Future[Answer] = self._loop.create_future()
                known.set_result(answer)
                return known
            if not all(
                call.name in self.tools and self.tools[call.name].repeatable for call in self.made[place:]
            ):
                raise self._end(Ended("replay"))
            self._known = self._known[:place]
        if place >= self._most:
            raise self._end(Ended("calls"))
        is_large = len(text) > MOST_ARGUMENT_BYTES
        done = self._loop.create_task(self._answer(place, asked, name, arguments, is_large=is_large))
        self._running.add(done)
        done.add_done_callback(self._running.discard)
        return done

    def stop(self) -> None:
        """Cancels the calls that still run: nobody waits for them any more. None starts after it."""
        self.ended = self.ended or Ended("crashed")
        for one in list(self._running):
            one.cancel()

    def _end(self, ended: Ended) -> Ended:
        self.ended = self.ended or ended
        return self.ended

    async def _answer(
        self, place: int, asked: str, name: str, arguments: Mapping[str, Any], *, is_large: bool
    ) -> Answer:
        answer = _large(name) if is_large else await self._ask(place, asked, name, arguments)
        self._answers[place] = (asked, answer)
        return answer

    async def _ask(self, place: int, asked: str, name: str, arguments: Mapping[str, Any]) -> Answer:
        tool = self.names.get(name)
        call = ToolCall(
            id=f"{self._prefix}.{place + 1}.{asked[:12]}",
            name=tool.name if tool else name[:200],
            arguments=arguments,
        )
        if tool is not None and not _is_plain(arguments, tool):
            bound = self.tools.dispatch.rebind(call, self.context)
            extra = extra_argument(bound, self.context.language) if isinstance(bound, BoundCall) else None
            call = call if extra is None else replace(call, problem=extra)
        self.made.append(call)
        is_reading = tool is not None and tool.rules.effect == "reads"
        inner = unremembering(self.context) if is_reading else self.context
        result = await self._dispatch(call, inner)
        remembered(self.context, inner)
        self.results[call.id] = result
        if pending_of(result) is not None:
            self._end(Ended("waiting", name=result.name, result=result))
        if result.error is not None:
            return _said(result.error)
        kept = results_of(inner).get(handle) if (handle := result.notes.get("handle")) else None
        return {"value": jsonable(result.data if kept is None else kept.value)}

    async def _own(self, call: ToolCall, context: RunContext) -> ToolResult:
        return await self.tools.dispatch(call, context)


def _is_plain(arguments: Mapping[str, Any], tool: Tool) -> bool:
    """Whether all arguments are parameters' and simple: then there is nothing in them that no parameter has."""
    return arguments.keys() <= tool.properties.keys() and not any(
        isinstance(value, dict | list) for value in arguments.values()
    )


def _large(name: str) -> Answer:
    message = f"{name[:200]}: > {MOST_ARGUMENT_BYTES // 1000} kB"
    return _said(ToolError(code=ErrorCode.INVALID_ARGUMENT, message=message))


def _said(error: ToolError) -> Answer:
    return {"error": error.sentence, "code": str(error.code)}
