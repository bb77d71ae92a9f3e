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
    """A policy that knows beforehand when a call would be refused.

    One more method is optional: `hides(tool)` (see `Hiding`).
    """

    def offers(self, tool: Tool, context: RunContext) -> bool:
        """Whether it makes sense to show the tool to the model now."""
        ...


@runtime_checkable
class Hiding(Protocol):
    """An `Offering` policy that hides only certain tools."""

    def hides(self, tool: Tool) -> bool:
        """Whether `offers` is to be asked about the tool in each turn. Asked once."""
        ...


@runtime_checkable
class Recalling(Protocol):
    """A policy that remembers calls for the length of a run, and can be told of them when another process goes on with it."""

    def recall(self, call: BoundCall, result: ToolResult, context: RunContext) -> None:
        """Takes note of a call that has run already."""
        ...


def offering(policies: Sequence[Policy], tool: Tool) -> tuple[Offering, ...]:
    """The policies that may find that the tool need not be shown to the model."""
    return tuple(
        policy
        for policy in policies
        if isinstance(policy, Offering)
        and (not isinstance(policy, Selective) or policy.applies(tool))
        and (not isinstance(policy, Hiding) or policy.hides(tool))
    )


def offered(policies: Sequence[Policy], tool: Tool, context: RunContext) -> bool:
    """Whether every policy finds that the tool may be shown to the model now."""
    return all(policy.offers(tool, context) for policy in offering(policies, tool))


def chain(policies: Sequence[Policy], invoke: Proceed) -> Chain:
    """One way to the tool: the first policy is the outermost layer, `invoke` the innermost.

    The way is laid once for each tool, through the policies that have something to do for it: its own (`Tool.policies`)
    where it has some.
    """
    return Chain(tuple(policies), invoke)


class Chain:
    """What `chain` makes.

    Args:
        policies: the layers of tools that have none of their own.
        invoke: the innermost.
    """

    def __init__(self, policies: tuple[Policy, ...], invoke: Proceed) -> None:
        self._policies = policies
        self._invoke = invoke
        self._ways: dict[Tool, Proceed] = {}

    def __call__(self, call: BoundCall, context: RunContext) -> Awaitable[ToolResult]:
        """The call's result, through its tool's layers."""
        way = self._ways.get(call.tool)
        if way is None:
            if len(self._ways) >= MOST_WAYS:
                self._ways.clear()
            way = self._ways[call.tool] = self._laid(self.layers(call.tool), 0, call.tool)
        return way(call, context)

    def layers(self, tool: Tool) -> tuple[Policy, ...]:
        """The policies of a tool: its own, which it keeps wherever it goes, or the chain's."""
        return self._policies if tool.policies is None else tool.policies

    def _laid(self, layers: tuple[Policy, ...], start: int, tool: Tool, past: type | None = None) -> Proceed:
        """The way for a tool from one of its layers on, without those of the kind `past`."""
        for number in range(start, len(layers)):
            policy = layers[number]
            if type(policy) is not past and (not isinstance(policy, Selective) or policy.applies(tool)):
                way: Any = partial(policy, proceed=self._rest(layers, number, tool, past))
                return way  # type: ignore[no-any-return]
        return self._invoke

    def _rest(self, layers: tuple[Policy, ...], number: int, tool: Tool, past: type | None) -> Proceed:
        """Behind a layer: the rest of its tool's way, or another tool's, whose own rules then count (a fallback)."""
        way = self._laid(layers, number + 1, tool, past)

        def rest(call: BoundCall, context: RunContext) -> Awaitable[ToolResult]:
            if call.tool is tool:
                return way(call, context)
            own = self.layers(call.tool)
            if own is layers:
                return self._laid(layers, number + 1, call.tool)(call, context)
            # All of its own layers but for the kind that is at work here, so that no fallback goes round for ever.
            return self._laid(own, 0, call.tool, type(layers[number]))(call, context)

        return rest
