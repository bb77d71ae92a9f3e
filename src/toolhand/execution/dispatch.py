"""`dispatch(ToolCall) -> ToolResult`: for the loop, plans, sandboxed code, servers and evaluation alike."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from toolhand.arguments.bind import bind
from toolhand.arguments.grounding import id_parameters
from toolhand.arguments.settings import BindSettings
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, FatalError, SessionError, StoreError, ToolError, ToolFailure
from toolhand.core.events import CallCancelled, CallFinished, CallStarted
from toolhand.core.language import Language, say
from toolhand.core.messages import BoundCall, ToolCall, ToolResult
from toolhand.core.tools import Tool, ToolChoice
from toolhand.execution.invoke import invoke
from toolhand.execution.layers import default_policies, refuse_unserved
from toolhand.policies import Offering, Policy, Recalling, chain, offering
from toolhand.policies.conditions import conditions, note_success
from toolhand.policies.redact import refusal
from toolhand.policies.redaction.unheard import tell_failed
from toolhand.tools.collection import ToolCollection

_ENDING: Final = (FatalError, StoreError, SessionError)
"""What ends a run: a tool says so, or it cannot be written down that a call is about to run."""

_NOT_ALLOWED = {
    "en": "'{name}' may not be called now{which}.",
    "zh": "现在不能调用“{name}”{which}。",
}

_BROKEN = {
    "en": (
        "'{name}' could not be called: the program around it failed. The details are in the program's log.",
        "It may have had its effect, or not: check before you call it again.",
    ),
    "zh": (
        "无法调用“{name}”：包裹它的程序出错了，详情在程序的日志里。",
        "它可能已经生效，也可能没有：再次调用之前请先核实。",
    ),
}


def local_time() -> dt.datetime:
    """The present in the machine's own time zone, against which "tomorrow" is read."""
    return dt.datetime.now().astimezone()


class Dispatcher:
    """Turns calls into results. It never raises for what a model or a tool got wrong.

    Args:
        tools: the tools that may be called.
        policies: the layers around each call, outermost first; `default_policies()` where none are given.
        settings: how arguments are bound; against the machine's clock by default.
        most_parallel: how many calls of one reply run at once.

    Raises:
        SettingsError: when a tool asks for an isolation that cannot be had here.
        ToolDefinitionError: when a tool cannot be isolated as it asks; the message says what to do.
    """

    def __init__(
        self,
        tools: ToolCollection,
        *,
        policies: Sequence[Policy] | None = None,
        settings: BindSettings | None = None,
        most_parallel: int = 32,
    ) -> None:
        isolated = [tool for tool in tools if tool.rules.isolation == "process"]
        if isolated:  # loaded for those who need it, and now: not in the time of the first call
            from toolhand.execution.workers.running import check_isolation  # noqa: PLC0415

            for tool in isolated:
                check_isolation(tool)
        self.cold = isolated
        """The tools whose processes have not been asked to start."""
        self.tools = tools
        settings = settings or BindSettings(clock=local_time)
        languages: tuple[Language, ...] = ("en", "zh")
        self.settings = {language: replace(settings, language=language) for language in languages}
        self.policies = tuple(default_policies(rebind=self.rebind) if policies is None else policies)
        if policies is not None:
            refuse_unserved((tool for tool in tools if tool.policies is None), self.policies)
        self._way = chain(self.policies, invoke)
        self.layers = self._way.layers
        self._most_parallel = most_parallel

    def warm_up(self) -> None:
        """Begins, once, to start the processes of tools that have some of their own; meanwhile the model can be asked."""
        from toolhand.execution.workers.running import warm_up  # noqa: PLC0415 - as above

        cold, self.cold = self.cold, []
        warm_up(cold)

    async def __call__(
        self, call: ToolCall, context: RunContext, choice: ToolChoice | None = None
    ) -> ToolResult:
        """One call's result."""
        bound = call.problem or self.rebind(call, context)
        if isinstance(bound, BoundCall) and choice is not None and not choice.allows(bound.tool.name):
            bound = _not_allowed(bound.tool.name, choice, context.language)
        if isinstance(bound, ToolError):
            return self._refused(call, bound, context)
        context.emit(CallStarted(call=bound.call, tool=bound.tool))
        started = time.monotonic()
        try:
            given: object = await self._way(bound, context)
            result = given if isinstance(given, ToolResult) else _broken(bound, context, _no_result(given))
        except BaseException as error:
            if not isinstance(error, Exception) or isinstance(error, _ENDING):
                seconds = time.monotonic() - started
                context.emit(CallCancelled(call=bound.call, seconds=seconds, tool=bound.tool))
                raise
            result = _broken(bound, context, error)
        seconds = time.monotonic() - started
        context.emit(CallFinished(call=bound.call, result=result, seconds=seconds, tool=bound.tool))
        return result

    def _refused(self, call: ToolCall, error: ToolError, context: RunContext) -> ToolResult:
        """The result of a call that does not go on its way."""
        tool = self.tools.lookup(call.name)
        if tool is not None and tool.rules.sensitive:
            error = refusal(error, call.arguments, tool)
        result = ToolResult(call_id=call.id, name=call.name, outcome=error)
        context.emit(CallFinished(call=replace(call, problem=error), result=result, seconds=0.0, tool=tool))
        return result

    async def each(
        self,
        calls: Sequence[ToolCall],
        context: RunContext,
        choice: ToolChoice | None = None,
        *,
        on_result: Callable[[ToolResult], None] | None = None,
    ) -> tuple[ToolResult, ...]:
        """The results of several calls, in their order; none sinks another.

        Reads run side by side; what changes something runs one after the other, as written: the order may be meant.

        Args:
            calls: calls with different ids.
            context: the run's facts.
            choice: which tools may be called.
            on_result: takes each result as soon as it is there, so that a caller who is cancelled knows them.

        Raises:
            FatalError: when a tool or a policy ends the run; none of the calls still runs then.
        """
        if len(calls) > 1:
            return await self._side_by_side(calls, context, choice, on_result)
        results = tuple([await self(call, context, choice) for call in calls])
        if on_result is not None:
            for result in results:
                on_result(result)
        return results

    async def _side_by_side(
        self,
        calls: Sequence[ToolCall],
        context: RunContext,
        choice: ToolChoice | None,
        on_result: Callable[[ToolResult], None] | None,
    ) -> tuple[ToolResult, ...]:
        found: dict[str, ToolResult] = {}
        gate = asyncio.Semaphore(self._most_parallel)

        async def one(call: ToolCall, before: asyncio.Task[None] | None) -> None:
            if before is not None:
                await asyncio.wait([before])  # however it ended; before the gate, so that it keeps nobody out
            async with gate:
                result = found[call.id] = await self(call, context, choice)
                if on_result is not None:
                    on_result(result)

        try:
            async with asyncio.TaskGroup() as group:
                last: asyncio.Task[None] | None = None
                for call in calls:
                    is_write = self._writes(call)
                    task = group.create_task(one(call, last if is_write else None))
                    last = task if is_write else last
        except BaseExceptionGroup as raised:  # only what ends a run gets here, and one reason is enough
            raise _first(raised) from None
        # A tool that cancelled its own task has left nothing.
        return tuple(found[call.id] for call in calls if call.id in found)

    def _writes(self, call: ToolCall) -> bool:
        """Whether a call may change something; one that is not understood does not run."""
        tool = None if call.problem else self.tools.lookup(call.name)
        return tool is not None and tool.rules.effect != "reads"

    def recall(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], context: RunContext) -> None:
        """Gives the policies back what they knew of calls that another process ran, before a run is gone on with.

        Args:
            calls: the run's calls so far.
            results: their results, in the same order.
            context: the run's, whose memory is filled.
        """
        for call, result in zip(calls, results, strict=True):
            bound = call.problem or self.rebind(call, context)
            if isinstance(bound, ToolError):
                continue
            for policy in self.layers(bound.tool):
                if isinstance(policy, Recalling):
                    policy.recall(bound, result, context)
                elif policy is conditions and result.ok:
                    note_success(bound.tool.name, context)

    def rebind(self, call: ToolCall, context: RunContext) -> BoundCall | ToolError:
        """Binds a call anew, such as one whose arguments a person has changed."""
        settings = self.settings[context.language]
        if self.tools.get(call.name) is None:  # only then do errors tell of other tools
            settings = self.settings_for(context)
        return bind(call, self.tools, settings=settings)

    def settings_for(self, context: RunContext, hidden: frozenset[str] | None = None) -> BindSettings:
        """How the calls of a run are bound at this moment: with the tools unnamed that its model is not shown.

        Args:
            context: the run's facts.
            hidden: what `hidden` has just given, where that is known.
        """
        settings = self.settings[context.language]
        hidden = self.hidden(context) if hidden is None else hidden
        return replace(settings, hidden=hidden) if hidden else settings

    def hidden(self, context: RunContext) -> frozenset[str]:
        """The names of tools that the model is not shown now: what the user may not call, and what is out of order."""
        return frozenset(tool.name for policy, tool in self._hideable if not policy.offers(tool, context))

    @cached_property
    def needs_grounds(self) -> bool:
        """Whether a reply may have to be compared with what was said before: a tool takes an id, or is asked before giving up."""
        return any(tool.rules.source or id_parameters(tool) for tool in self.tools)

    @cached_property
    def _hideable(self) -> list[tuple[Offering, Tool]]:
        return [(policy, tool) for tool in self.tools for policy in offering(self.layers(tool), tool)]


def _not_allowed(name: str, choice: ToolChoice, language: Language) -> ToolError:
    words = {
        "en": f"; allowed: {', '.join(choice.names)}",
        "zh": f"；可以调用：{'、'.join(choice.names)}",
    }
    which = words[language] if choice.names and choice.mode != "none" else ""
    return ToolError(
        code=ErrorCode.NOT_ALLOWED, message=_NOT_ALLOWED[language].format(name=name, which=which)
    )


def _broken(call: BoundCall, context: RunContext, error: Exception) -> ToolResult:
    """The result where a layer around the tool has raised, before the tool ran or after: nobody can say.

    It is no reason for the other calls to end.
    """
    if isinstance(error, ToolFailure):  # a policy's own words
        return call.answer(error.told(context.language))
    tell_failed(call, context, error)
    is_safe = call.tool.repeatable
    said, unknown = _BROKEN[context.language]
    code = ErrorCode.EXECUTION if is_safe else ErrorCode.OUTCOME_UNKNOWN
    message = said.format(name=call.tool.name)
    failure = ToolError(code=code, message=message, hint="" if is_safe else unknown)
    return call.answer(failure, exception=type(error).__name__)


def _no_result(given: object) -> TypeError:
    """What is wrong where the layers around a tool gave something else than a result."""
    kind = type(given).__name__
    return TypeError(
        say(
            f"a policy returned {kind} instead of a ToolResult: return what `proceed` gives, or `call.answer(…)`",
            f"策略返回了 {kind} 而不是 ToolResult：请返回 `proceed` 给出的结果，或 `call.answer(…)`",
        )
    )


def _first(raised: BaseExceptionGroup[BaseException]) -> BaseException:
    first = raised.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
