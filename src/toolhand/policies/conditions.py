"""What must hold before a tool runs, and of its result afterwards."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, cast

from toolhand.core.canonical import left_out
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError, ToolFailure
from toolhand.core.messages import BoundCall, ToolResult, Value
from toolhand.core.tools import Condition, Tool
from toolhand.policies import Proceed
from toolhand.policies.redaction.unheard import tell_failed

SUCCEEDED: Final = "conditions.succeeded"
"""Under this a run's memory has the tools that have succeeded in it."""

_WORDS = {
    "en": {
        "before": "'{name}' cannot run yet: something that has to be done first is not done.",
        "after": "'{name}' ran, but its result is not what it has to be.",
        "effect": "It has had its effect: do not simply call it again.",
        "broken": "'{name}' did not run: whether it may could not be found out. The details are in the program's log.",
        "unchecked": "'{name}' ran, but its result could not be checked. The details are in the program's log.",
        "requires": "Call '{first}' first; '{name}' needs its result.",
    },
    "zh": {
        "before": "“{name}”现在还不能运行：必须先做的事还没有做。",
        "after": "“{name}”已经运行，但结果不符合要求。",
        "effect": "它已经生效：不要简单地再次调用。",
        "broken": "“{name}”没有运行：无法判断是否可以运行，详情在程序的日志里。",
        "unchecked": "“{name}”已经运行，但结果无法检查，详情在程序的日志里。",
        "requires": "请先调用“{first}”，“{name}”需要它的结果。",
    },
}


@dataclass(frozen=True, slots=True)
class Requires:
    """A condition that names tools, so that a plan can be ordered by it.

    Args:
        requires: the tools that must have succeeded.
    """

    requires: tuple[str, ...]

    def __call__(self, arguments: Any, context: RunContext) -> str | None:
        """The name of the first tool that is missing."""
        del arguments
        done = succeeded(context)
        missing = next((name for name in self.requires if name not in done), None)
        return missing and _Missing(missing)


def requires(*names: str) -> Condition:
    """A condition for `before`: each of these tools has succeeded earlier in the run.

    Args:
        names: tools.
    """
    return Requires(names)


def succeeded(context: RunContext) -> Collection[str]:
    """The tools that have succeeded in the run so far."""
    return cast("Collection[str]", context.memory.get(SUCCEEDED, ()))


class _Missing(str):
    """The name of a tool that has to be called first."""

    __slots__ = ()


class Conditions:
    """Asks `rules.before`, proceeds, and asks `rules.after`.

    A condition is a function, async or not, over the call's arguments (JSON values, the tool's defaults filled in), for
    `after` also what the tool gave, and the run's context. It gives None or True when it holds, else False or a sentence for
    the model. One that raises does not hold. It runs on the event loop, so it must be quick.
    """

    def applies(self, tool: Tool) -> bool:
        """Only where there is a condition."""
        return bool(tool.rules.before or tool.rules.after)

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """Proceeds when what must hold before does, and gives the result when what must hold of it does."""
        rules = call.tool.rules
        for condition in rules.before:
            error = await _failed("before", condition, call, context, _arguments(call), context)
            if error is not None:
                return call.answer(error)
        result = await proceed(call, context)
        if not rules.after or not isinstance(result.outcome, Value):
            return result
        for condition in rules.after:
            error = await _failed("after", condition, call, context, _arguments(call), result.data, context)
            if error is not None:
                return ToolResult(call_id=result.call_id, name=result.name, outcome=error, notes=result.notes)
        note_success(call.tool.name, context)
        return result


conditions = Conditions()


def note_success(tool: str, context: RunContext) -> None:
    """Takes note that a tool has succeeded in this run."""
    context.memory.setdefault(SUCCEEDED, set()).add(tool)


def _arguments(call: BoundCall) -> dict[str, Any]:
    return {**left_out(call.tool.properties, call.call.arguments), **call.call.arguments}


async def _failed(
    when: str, condition: Condition, call: BoundCall, context: RunContext, *facts: Any
) -> ToolError | None:
    """Why a condition does not hold, or None."""
    words = _WORDS[context.language]
    hint = words["effect"] if when == "after" and not call.tool.repeatable else ""
    code = ErrorCode.PRECONDITION_FAILED if when == "before" else ErrorCode.POSTCONDITION_FAILED
    name = call.tool.name
    try:
        said = condition(*facts)
        if inspect.isawaitable(said):
            said = await said
    except ToolFailure as failure:
        said = failure.told(context.language).sentence
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - the author's own function may raise anything
        tell_failed(call, context, error)
        word = "broken" if when == "before" else "unchecked"
        return ToolError(code=code, message=words[word].format(name=name), hint=hint)
    if said is None or said is True:
        return None
    if isinstance(said, _Missing):
        message = words["requires"].format(first=said, name=name)
        return ToolError(code=code, message=message, details={"first": str(said)})
    message = words[when].format(name=name)
    if isinstance(said, str) and said:
        message = f"{message} {said}" if when == "after" else said
    return ToolError(code=code, message=message, hint=hint)
