"""What surrounds a call on its way to the tool and back: one file a policy, each small enough to read at once.

A file's policy has the file's name: `timeout.py` holds the function `timeout`, `circuit_breaker.py` the class `CircuitBreaker`,
which can be made without arguments. What policies share (clocks, counters, circuits) lives in `sharing/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from toolhand.core.context import RunContext
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.core.tools import Tool

Proceed: TypeAlias = Callable[[BoundCall, RunContext], Awaitable[ToolResult]]
"""The rest of the way to the tool: to the tool of the call that it is given, through that tool's own rules."""

MOST_WAYS: Final = 4096
"""How many tools' ways a chain keeps; past that it starts anew, so that tools made on the fly do not pile up."""


class Policy(Protocol):
    """One layer around a call. It answers by itself or proceeds; it never raises for what a model or a tool got wrong.

    Two more methods are optional: `applies(tool)` (see `Selective`) and `offers(tool, context)` (see `Offering`).
    """

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """The call's result, with the call's id."""
        ...


@runtime_checkable
class Selective(Protocol):
    """A policy that has nothing to do for some tools, and costs them nothing."""

    def applies(self, tool: Tool) -> bool:
        """Whether the tool's calls pass through this policy. Asked once for each tool."""
        ...


@runtime_checkable
class Offering(Protocol):
    """A policy that knows beforehand when a call would be refused."""

    def offers(self, tool: Tool, context: RunContext) -> bool:
        """Whether it makes sense to show the tool to the model now."""
        ...


def offering(policies: Sequence[Policy], tool: Tool) -> tuple[Offering, ...]:
    """The policies that may find that the tool need not be shown to the model."""
    return tuple(
        p for p in policies if isinstance(p, Offering) and (not isinstance(p, Selective) or p.applies(tool))
    )


def offered(policies: Sequence[Policy], tool: Tool, context: RunContext) -> bool:
    """Whether every policy finds that the tool may be shown to the model now."""
    return all(policy.offers(tool, context) for policy in offering(policies, tool))


def chain(policies: Sequence[Policy], invoke: Proceed) -> Proceed:
    """One way to the tool: the first policy is the outermost layer, `invoke` the innermost.

    The way is laid once for each tool, through the policies that have something to do for it.
    """
    return _Chain(tuple(policies), invoke)


class _Chain:
    def __init__(self, policies: tuple[Policy, ...], invoke: Proceed) -> None:
        self._policies = policies
        self._invoke = invoke
        self._ways: dict[tuple[int, Tool], Proceed] = {}
        self._outermost: dict[Tool, Proceed] = {}

    def __call__(self, call: BoundCall, context: RunContext) -> Awaitable[ToolResult]:
        way = self._outermost.get(call.tool)
        if way is None:
            if len(self._outermost) >= MOST_WAYS:
                self._outermost.clear()
                self._ways.clear()
            way = self._outermost[call.tool] = self._way(0, call.tool)
        return way(call, context)

    def _way(self, start: int, tool: Tool) -> Proceed:
        """The way for a tool from one policy on."""
        found = self._ways.get((start, tool))
        if found is None:
            found = self._ways[start, tool] = self._laid(start, tool)
        return found

    def _laid(self, start: int, tool: Tool) -> Proceed:
        for number in range(start, len(self._policies)):
            policy = self._policies[number]
            if not isinstance(policy, Selective) or policy.applies(tool):
                rest = self._rest(number + 1, tool)
                way: Any = partial(policy, proceed=rest)
                return way  # type: ignore[no-any-return]
        return self._invoke

    def _rest(self, start: int, tool: Tool) -> Proceed:
        way = self._way(start, tool)

        def rest(call: BoundCall, context: RunContext) -> Awaitable[ToolResult]:
            # A policy may go on with another tool (a fallback), whose own rules then count.
            return (way if call.tool is tool else self._way(start, call.tool))(call, context)

        return rest
