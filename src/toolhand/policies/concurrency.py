"""How many calls of a tool, or of a session, may run at once; the others wait their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from contextvars import ContextVar
from typing import Final

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.policies import Proceed
from toolhand.policies.sharing import SharedPlaces
from toolhand.policies.sharing.gate import Gate
from toolhand.policies.sharing.places import place_of

_WORDS = {
    "en": (
        "Too many calls of '{name}' are running, and none ended within {seconds:g} seconds. It did not run.",
        "Call it again later, and fewer at once.",
        "'{name}' was called from inside itself, with at most {most} at once: it would wait for itself. It did not run.",
    ),
    "zh": (
        "正在运行的“{name}”太多，{seconds:g} 秒内没有一个结束，这次没有运行。",
        "请稍后再调用，并减少同时调用的数量。",
        "“{name}”在自己内部又被调用，而它最多同时运行 {most} 个：这样会一直等待自己，这次没有运行。",
    ),
}


_INSIDE: Final[ContextVar[tuple[Gate, ...]]] = ContextVar("toolhand_gates", default=())
"""The gates that the code which asks has come through, once for each place that it holds."""


class Concurrency:
    """A tool's own `concurrency`, and a bound for each session; whoever came first goes first.

    A call waits as long as it may itself take (`timeout`), or until the run's deadline, and is then refused.

    Args:
        per_session: how many calls of one session may run at once, or None for any number.
        longest_wait: seconds that a call without a timeout waits.
        shared: where the bounds of tools are those of all processes together; None for those of each.
    """

    def __init__(
        self,
        *,
        per_session: int | None = None,
        longest_wait: float = 30.0,
        shared: SharedPlaces | None = None,
    ) -> None:
        self._per_session = per_session
        self._shared = shared
        self._longest_wait = longest_wait
        self._gates: dict[Hashable, Gate] = {}

    def applies(self, tool: Tool) -> bool:
        """Only where there is a bound."""
        return tool.rules.concurrency is not None or self._per_session is not None

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """Proceeds when there is room."""
        rules = call.tool.rules
        seconds = self._longest_wait if rules.timeout is None else rules.timeout
        if context.seconds_left is not None:
            seconds = min(seconds, context.seconds_left)
        # The tool's gate first: a call that waits for its tool must not keep the session's other calls out.
        bounds: list[tuple[Hashable, int | None]] = [
            (("tool", call.tool.name), rules.concurrency),
            (("session", context.user, context.session_id), self._per_session),
        ]
        return await self._through([bound for bound in bounds if bound[1]], seconds, call, context, proceed)

    async def _through(
        self,
        bounds: list[tuple[Hashable, int | None]],
        seconds: float,
        call: BoundCall,
        context: RunContext,
        proceed: Proceed,
    ) -> ToolResult:
        if not bounds:
            return await proceed(call, context)
        (key, most), *inner = bounds
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = Gate(most or 1)
        inside = _INSIDE.get()
        if inside.count(gate) >= (most or 1):
            return _refused_inside(call, context, most or 1)
        try:
            if not await gate.enter(seconds):
                return _refused(call, context, seconds)
            token = _INSIDE.set((*inside, gate))
            try:
                if (
                    self._shared is not None
                    and most == call.tool.rules.concurrency
                    and not inside.count(gate)
                ):
                    proceed = _among_all(self._shared, seconds, proceed)
                return await self._through(inner, seconds, call, context, proceed)
            finally:
                _INSIDE.reset(token)
                gate.leave()
        finally:
            if gate.is_idle and most == self._per_session:
                self._gates.pop(key, None)  # sessions come and go, tools stay


def _among_all(shared: SharedPlaces, seconds: float, proceed: Proceed) -> Proceed:
    """Goes on with a place among all processes, inside of everything else that bounds the call."""

    async def placed(call: BoundCall, context: RunContext) -> ToolResult:
        place = await place_of(call, shared, seconds)
        if place is None:
            return _refused(call, context, seconds)
        try:
            return await proceed(call, context)
        finally:
            await asyncio.shield(asyncio.ensure_future(shared.leave(call.tool.name, place)))

    return placed


def _refused_inside(call: BoundCall, context: RunContext, most: int) -> ToolResult:
    message = _WORDS[context.language][2].format(name=call.tool.name, most=most)
    return call.answer(ToolError(code=ErrorCode.RATE_LIMITED, message=message))


def _refused(call: BoundCall, context: RunContext, seconds: float) -> ToolResult:
    message, hint, _ = _WORDS[context.language]
    error = ToolError(
        code=ErrorCode.RATE_LIMITED,
        message=message.format(name=call.tool.name, seconds=seconds),
        retryable=True,
        hint=hint,
        details={"waited": seconds},
    )
    return call.answer(error)
