"""How often a tool, a user or a session may call, counted in a moving window."""

from __future__ import annotations

import math

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.core.rates import Rate, Scope, rates
from toolhand.core.tools import Tool
from toolhand.policies import Proceed
from toolhand.policies.sharing import SharedState, Taking
from toolhand.policies.sharing.memory import MemoryState

_WORDS = {
    "en": (
        "'{name}' was called too often. It can be called again in {seconds} seconds.",
        "Do not call it before that: go on without it, or tell the user when it will work.",
    ),
    "zh": (
        "“{name}”调用过于频繁，{seconds} 秒后才能再次调用。",
        "在此之前不要调用它：请不用它继续，或告诉用户何时可用。",
    ),
}


class RateLimit:
    """A tool's own `rate_limit` and limits over all tools together; a refused call takes no place in any of them.

    Args:
        state: where the counts are; in this process by default.
        user: what each user may do with all tools together, such as "100/minute".
        session: what each session may.
        everybody: what all may together.

    Raises:
        SettingsError: when a limit cannot be read.
    """

    def __init__(
        self, state: SharedState | None = None, *, user: str = "", session: str = "", everybody: str = ""
    ) -> None:
        self._state = state or MemoryState()
        self._overall: tuple[tuple[Scope, Rate], ...] = (
            *(("user", rate) for rate in rates(user)),
            *(("session", rate) for rate in rates(session)),
            *(("everybody", rate) for rate in rates(everybody)),
        )

    def applies(self, tool: Tool) -> bool:
        """Only where there is a limit."""
        return bool(tool.rules.rate_limit or self._overall)

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """Takes a place in every window and proceeds, or says when there will be one."""
        takings = [
            _taking(f"tool:{call.tool.name}", rate.scope, rate, context)
            for rate in rates(call.tool.rules.rate_limit)
        ]
        takings += [_taking("all", scope, rate, context) for scope, rate in self._overall]
        wait = await self._state.take(takings)
        if wait <= 0:
            return await proceed(call, context)
        message, hint = _WORDS[context.language]
        error = ToolError(
            code=ErrorCode.RATE_LIMITED,
            message=message.format(name=call.tool.name, seconds=max(1, math.ceil(wait - 1e-6))),
            retryable=True,
            hint=hint,
            details={"retry_after": wait},
        )
        return call.answer(error)


def _taking(what: str, scope: Scope, rate: Rate, context: RunContext) -> Taking:
    who = {"user": context.user, "session": f"{context.user}\x00{context.session_id}", "everybody": ""}[scope]
    return Taking(key=f"{what}:{scope}:{who}", count=rate.count, seconds=rate.seconds)
