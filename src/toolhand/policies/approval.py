"""A person agrees to a call, declines it, or changes its arguments, before it runs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Final, TypeAlias

from toolhand.core import approvals
from toolhand.core.approvals import Approve, Decision, Deny, Edit, PendingCall
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import CallFailed
from toolhand.core.messages import BoundCall, ToolCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.policies import Proceed
from toolhand.policies.redaction.walk import shown_arguments
from toolhand.policies.sharing.approval_words import APPROVAL_WORDS

Ask: TypeAlias = Callable[[BoundCall, RunContext], "Awaitable[Decision | None] | Decision | None"]
"""Asks a person now; None when there is no answer yet."""

Rebind: TypeAlias = Callable[[ToolCall, RunContext], "BoundCall | ToolError"]
"""Binds a call anew."""

_AGREED: Final[ContextVar[frozenset[str]]] = ContextVar("toolhand_agreed", default=frozenset())
"""The approval ids of the calls around the code that asks, each of which was agreed to."""


class Approval:
    """For a tool with `approval`, or where an access rule says "ask": nothing runs before somebody has agreed.

    A decision comes from the run (`toolhand.core.approvals.decide`, as when a suspended run is resumed) or from `ask`. Without
    either the call ends with `approval_required`, whose `details["pending"]` is the `PendingCall` as JSON.

    Args:
        ask: asks a person and waits; async or not. When it fails or the run's time is over, nobody has agreed.
        rebind: binds a call with edited arguments; by default only the tool's own validator looks at them.
    """

    def __init__(self, ask: Ask | None = None, *, rebind: Rebind | None = None) -> None:
        self._ask = ask
        self._rebind = rebind

    def applies(self, tool: Tool) -> bool:
        """Only where the tool wants it."""
        return tool.rules.approval

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """Proceeds as soon as there is a decision that says so; each agreement is to one call."""
        name = approvals.approval_id(call.call, context)
        if name in _AGREED.get():  # in a layer around this one, such as by an access rule
            return await proceed(call, context)
        decision = approvals.spend(call.call, context)
        if decision is None and self._ask is not None:
            decision = await self._asked(call, context)
            if decision is not None:
                approvals.decide(context, {name: decision})
                approvals.spend(call.call, context)
        match decision:
            case Approve():
                return await _agreed(name, call, context, proceed)
            case Edit(arguments=arguments):
                return await self._edited(call, dict(arguments), context, proceed)
            case Deny(reason=reason):
                return _denied(call, reason, context)
            case _:
                return _required(call, context)

    async def _asked(self, call: BoundCall, context: RunContext) -> Decision | None:
        try:
            async with asyncio.timeout(context.seconds_left):
                answer = self._ask(call, context) if self._ask is not None else None
                decision = await answer if inspect.isawaitable(answer) else answer
            return None if decision is None else approvals.checked(decision, "the answer of ask")
        except Exception as error:  # noqa: BLE001 - whatever goes wrong with asking, nobody has agreed
            context.emit(CallFailed(call=call.call, exception=error, tool=call.tool))
            return None

    async def _edited(
        self, call: BoundCall, arguments: dict[str, object], context: RunContext, proceed: Proceed
    ) -> ToolResult:
        edited = replace(call.call, arguments=arguments)
        bound = (self._rebind or _validated(call.tool))(edited, context)
        words = APPROVAL_WORDS[context.language]
        if isinstance(bound, ToolError):
            message = words["invalid"].format(name=call.tool.name)
            failure = replace(bound, message=f"{message} {bound.message}", retryable=False)
            return call.answer(failure, edited=arguments)
        name = approvals.approval_id(bound.call, context)
        approvals.decide(context, {name: Approve()})
        approvals.spend(bound.call, context)
        result = await _agreed(name, bound, context, proceed)
        remark = words["edited"].format(arguments=shown_arguments(bound.call.arguments, bound.tool))
        notes = {**result.notes, "edited": dict(bound.call.arguments)}
        return replace(result, notes=notes, remark=f"{remark} {result.remark}".strip())


async def _agreed(name: str, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
    token = _AGREED.set(_AGREED.get() | {name})
    try:
        return await proceed(call, context)
    finally:
        _AGREED.reset(token)


def _validated(tool: Tool) -> Rebind:
    def rebind(call: ToolCall, context: RunContext) -> BoundCall | ToolError:
        try:
            if tool.validate is not None:
                tool.validate(call.arguments)
        except ValueError as error:
            return ToolError(code=ErrorCode.INVALID_ARGUMENT, message=str(error))
        except Exception as error:  # noqa: BLE001 - a type's own validators may raise anything
            context.emit(CallFailed(call=call, exception=error, tool=tool))
            return ToolError(code=ErrorCode.INVALID_ARGUMENT, message="")
        return BoundCall(call=call, tool=tool)

    return rebind


def _denied(call: BoundCall, reason: str, context: RunContext) -> ToolResult:
    words, code = APPROVAL_WORDS[context.language], ErrorCode.APPROVAL_DENIED
    message = words["denied"].format(name=call.tool.name)
    if reason:
        message = f"{message} {words['reason'].format(reason=reason)}"
    return call.answer(
        ToolError(code=code, message=message, hint=words["denied_hint"], details={"reason": reason})
    )


def _required(call: BoundCall, context: RunContext) -> ToolResult:
    pending = PendingCall.of(call, context)
    words = APPROVAL_WORDS[context.language]
    return call.answer(
        ToolError(
            code=ErrorCode.APPROVAL_REQUIRED,
            message=words["required"].format(name=call.tool.name),
            hint=words["required_hint"],
            details={"approval_id": pending.approval_id, "pending": pending.to_json()},
        ),
        **{approvals.PENDING: pending.to_json()},
    )
