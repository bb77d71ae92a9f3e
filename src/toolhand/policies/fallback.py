"""Asks another tool when one fails, and says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import FallbackTaken
from toolhand.core.messages import BoundCall, ToolCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.policies import Proceed

_FAULTS: Final = frozenset({
    ErrorCode.TIMEOUT, ErrorCode.NETWORK, ErrorCode.UPSTREAM, ErrorCode.CIRCUIT_OPEN, ErrorCode.RATE_LIMITED,
})  # fmt: skip
"""The tool's own faults, with an exception that it raised. Not a model's mistake, a refusal, or an unknown outcome."""

_FINAL: Final = frozenset({
    ErrorCode.APPROVAL_REQUIRED, ErrorCode.APPROVAL_DENIED, ErrorCode.OUTCOME_UNKNOWN, ErrorCode.POSTCONDITION_FAILED,
})  # fmt: skip
"""What a fallback may end with and no other tool may be asked after."""

_WORDS = {
    "en": ("'{name}' is not available; this comes from '{fallback}' instead.", "What stands in for it failed too."),
    "zh": ("“{name}”不可用，这是“{fallback}”给出的结果。", "代替它的工具也失败了。"),
}  # fmt: skip


class Fallback:
    """For a tool with `fallback`: when it fails, the other is asked with the arguments that it knows.

    It is the outermost policy, so that each of the two goes through all policies by its own rules. A fallback may have one
    of its own; none is asked twice. After an unknown outcome none is asked at all, and after a failure in the midst of a tool
    that may not run twice none that writes: the effect may have landed, and must not land a second time by another way.
    """

    def applies(self, tool: Tool) -> bool:
        """Only where there is another tool to ask."""
        return tool.rules.fallback is not None

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """The tool's result, or that of the first fallback that has one."""
        failed = result = await proceed(call, context)
        asked = [call.tool]
        tried: list[str] = []
        while True:
            other = asked[-1].rules.fallback
            if result.error is None or not _is_fault(result) or other is None or other in asked:
                break
            if other.rules.effect != "reads" and _may_have_landed(asked[-1], result.error):
                break
            asked.append(other)
            arguments = _known(call.call, other)
            if arguments is None:
                break
            context.emit(FallbackTaken(call=call.call, error=result.error, fallback=other.name))
            tried.append(other.name)
            # An id of its own: what was decided about the first call counts for no other tool.
            inner = ToolCall(id=f"{call.call.id}~{other.name}", name=other.name, arguments=arguments)
            result = await proceed(BoundCall(call=inner, tool=other), _for(call.call, inner, context))
        return _answer(call, failed, result, tried, context)


def _for(asked: ToolCall, inner: ToolCall, context: RunContext) -> RunContext:
    """The context of a fallback's call: whoever keeps a ledger knows only the call that was asked for, and hears of that one."""
    before = context.before_tool
    if before is None:
        return context

    async def before_tool(call: BoundCall) -> None:
        await before(
            replace(call, call=replace(call.call, id=asked.id)) if call.call.id == inner.id else call
        )

    return replace(context, before_tool=before_tool)


def _answer(
    call: BoundCall, failed: ToolResult, result: ToolResult, tried: list[str], context: RunContext
) -> ToolResult:
    if not tried or failed.error is None:
        return failed
    came, failed_too = _WORDS[context.language]
    notes = {**result.notes, "fallback": tried[-1], "failed": failed.error.code}
    if result.error is None:
        remark = f"{came.format(name=call.tool.name, fallback=tried[-1])} {result.remark}".strip()
        return replace(result, call_id=call.call.id, name=call.tool.name, notes=notes, remark=remark)
    if result.error.code in _FINAL:
        return replace(result, call_id=call.call.id, name=call.tool.name, notes=notes)
    # Not by name: it may be one that the model is not shown.
    hint = f"{failed.error.hint} {failed_too}".strip()
    error: ToolError = replace(failed.error, hint=hint)
    return replace(failed, outcome=error, notes={**failed.notes, "fallback": tried[-1]})


def _is_fault(result: ToolResult) -> bool:
    error = result.error
    if error is None:
        return False
    return error.code in _FAULTS or (error.code is ErrorCode.EXECUTION and "exception" in result.notes)


def _may_have_landed(tool: Tool, error: ToolError) -> bool:
    """Whether a failed call may have had its effect: its tool may not run twice, and it did not fail before it did anything."""
    is_midway = error.code is ErrorCode.EXECUTION or (
        error.code is ErrorCode.UPSTREAM and not error.retryable
    )
    return is_midway and not tool.repeatable


def _known(call: ToolCall, tool: Tool) -> dict[str, object] | None:
    """The arguments that a tool knows, by name or alias; None when it would lack one."""
    known = {
        tool.aliases.get(name, name): value
        for name, value in call.arguments.items()
        if tool.aliases.get(name, name) in tool.properties
    }
    return known if all(name in known for name in tool.required) else None
