"""Gives a call up after its tool's time.

An async tool is cancelled. A plain function runs in a thread, which nothing in Python can stop: its call ends on time, the
thread goes on and stays counted (`toolhand.execution.threads`).
"""

from __future__ import annotations

import asyncio

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.policies import Proceed

_SAID = {
    "en": (
        "'{name}' did not finish within {seconds:g} seconds.",
        "It may or may not have had its effect: check before you call it again.",
    ),
    "zh": ("“{name}”在 {seconds:g} 秒内没有完成。", "它可能已经生效，也可能没有：再次调用之前请先核实。"),
}


async def timeout(call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
    """Ends the call after `rules.timeout` seconds, or at the run's deadline if that comes first."""
    limits = [limit for limit in (call.tool.rules.timeout, context.seconds_left) if limit is not None]
    if not limits:
        return await proceed(call, context)
    seconds = min(limits)
    clock = asyncio.timeout(seconds)
    try:
        async with clock:
            return await proceed(call, context)
    except TimeoutError:
        if (
            not clock.expired()
        ):  # the tool's own TimeoutError is caught where it is invoked, so this is someone else's
            raise
    reads = call.tool.rules.effect == "reads"
    message, warning = _SAID[context.language]
    error = ToolError(
        code=ErrorCode.TIMEOUT if reads or call.tool.rules.idempotent else ErrorCode.OUTCOME_UNKNOWN,
        message=message.format(name=call.tool.name, seconds=seconds),
        retryable=reads or call.tool.rules.idempotent,
        hint="" if reads else warning,
        details={"seconds": seconds},
    )
    return ToolResult(call_id=call.call.id, name=call.tool.name, outcome=error)
