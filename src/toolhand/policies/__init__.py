"""What surrounds a call on its way to the tool and back: one file a policy, each small enough to read at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from toolhand.core.context import RunContext
from toolhand.core.messages import BoundCall, ToolResult

Proceed: TypeAlias = Callable[[BoundCall, RunContext], Awaitable[ToolResult]]
"""The rest of the way to the tool."""


class Policy(Protocol):
    """One layer around a call. It answers by itself or proceeds; it never raises for what a model or a tool got wrong."""

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """The call's result, with the call's id."""
        ...


def chain(policies: Sequence[Policy], invoke: Proceed) -> Proceed:
    """One way to the tool: the first policy is the outermost layer, `invoke` the innermost."""
    way = invoke
    for policy in reversed(policies):
        way = partial(policy, proceed=way)
    return way
