"""Leaves a tool alone that keeps failing, and lets a single call try whether it is well again."""

from __future__ import annotations

from typing import Final

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import CircuitChanged
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.core.tools import Breaker, Tool
from toolhand.policies import Proceed
from toolhand.policies.sharing import ADMITTED, WELL, Circuit, Health, SharedState
from toolhand.policies.sharing.memory import MemoryState
from toolhand.policies.timeout import NOT_STARTED

_ILL: Final = frozenset({
    ErrorCode.TIMEOUT, ErrorCode.NETWORK, ErrorCode.UPSTREAM, ErrorCode.OUTCOME_UNKNOWN,
})  # fmt: skip
"""What says that a tool is ill. An exception says so too; what a tool says on purpose does not: a `ToolFailure`, or its own
sentence about what a caller asked (`notes["own_words"]`), which would else close the tool to everybody else."""

PROBE_SECONDS: Final = 60.0
"""How long a tool without a timeout may try whether it is well before another call may."""

_WORDS = {
    "en": (
        "'{name}' is out of order: it kept failing. It is not available for the next {seconds} seconds.",
        "Do not call it until then: go on without it, or tell the user.",
    ),
    "zh": (
        "“{name}”连续出错，已暂停使用，接下来 {seconds} 秒内不可用。",
        "在此之前不要再调用它：请不用它继续，或告诉用户。",
    ),
}


class CircuitBreaker:
    """One circuit for each tool, or for all tools with the same `upstream`.

    Failures in a row open it, since that needs no window and no minimum of calls: a success sets the count to 0. Only what
    says that the tool is ill counts. While it is open no call reaches the tool; after the cooldown exactly one does.

    Args:
        state: where the circuits are; in this process by default.
        breaker: the measure for tools without one of their own.
    """

    def __init__(self, state: SharedState | None = None, *, breaker: Breaker | None = None) -> None:
        self._state = state or MemoryState()
        self._breaker = breaker or Breaker()

    def applies(self, tool: Tool) -> bool:
        """Whether the tool has a circuit: all have, but those with `breaker=None`."""
        return tool.rules.breaker is not None

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """Proceeds unless the circuit is open."""
        rules = call.tool.rules
        if rules.breaker is None:
            return await proceed(call, context)
        breaker = self._breaker if rules.breaker == "default" else rules.breaker
        name = rules.upstream or call.tool.name
        if self._state.is_calm(name):
            # Nothing is known against the tool: only a failure has to be written down.
            result = await proceed(call, context)
            if isinstance(result.outcome, ToolError) and (health := _health(result)) == "ill":
                circuit = await self._state.settle(name, breaker, ADMITTED, health)
                _report(name, circuit, context, is_changed=True)
            return result
        return await self._guarded(call, context, proceed, name, breaker)

    async def _guarded(
        self, call: BoundCall, context: RunContext, proceed: Proceed, name: str, breaker: Breaker
    ) -> ToolResult:
        """The same where something is known against the tool."""
        rules = call.tool.rules
        probe_seconds = PROBE_SECONDS if rules.timeout is None else rules.timeout * (rules.retries + 1) + 1
        admission = await self._state.admit(name, breaker, probe_seconds)
        if not admission.is_admitted:
            return _refused(call, context, admission.retry_after)
        was_open = bool(admission.probe)
        try:
            result = await proceed(call, context)
        except BaseException:
            if was_open:  # a probe that was cancelled proves nothing: the next call may try
                await self._state.settle(name, breaker, admission, "neither")
            raise
        health = _health(result)
        circuit = await self._state.settle(name, breaker, admission, health)
        _report(name, circuit, context, is_changed=was_open or health == "ill")
        return result

    def circuit(self, name: str) -> Circuit:
        """The state of a tool's circuit (or an upstream's), as far as this process knows: `.state`, `.failures`."""
        return self._state.circuit(name)

    def offers(self, tool: Tool, context: RunContext) -> bool:  # noqa: ARG002 - the protocol's
        """Whether calls may reach the tool; an open circuit's tool need not be shown to the model."""
        if tool.rules.breaker is None:
            return True
        name = tool.rules.upstream or tool.name
        return self._state.is_calm(name) or self._state.circuit(name).state != "open"


def _health(result: ToolResult) -> Health:
    error = result.error
    if error is None:
        return "well"
    if error.code in _ILL:
        return "neither" if error.details.get(NOT_STARTED) is True else "ill"
    is_ill = error.code is ErrorCode.EXECUTION and "exception" in result.notes
    return "ill" if is_ill and "own_words" not in result.notes else "neither"


def _refused(call: BoundCall, context: RunContext, seconds: float) -> ToolResult:
    message, hint = _WORDS[context.language]
    wait = max(1, round(seconds + 0.5))
    error = ToolError(
        code=ErrorCode.CIRCUIT_OPEN,
        message=message.format(name=call.tool.name, seconds=wait),
        hint=hint,
        details={"retry_after": seconds},
    )
    return call.answer(error)


def _report(name: str, circuit: Circuit, context: RunContext, *, is_changed: bool) -> None:
    if is_changed and circuit.state == "open":
        context.emit(CircuitChanged(name=name, state="open", retry_after=circuit.retry_after))
    elif is_changed and circuit == WELL:
        context.emit(CircuitChanged(name=name, state="closed"))
