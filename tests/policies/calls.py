"""Tools with rules, calls of them, and the way through some policies, for the tests of policies."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from toolhand import RunContext, Tool, tool
from toolhand.core.events import Event
from toolhand.core.messages import BoundCall, ToolCall, ToolResult
from toolhand.execution.invoke import invoke
from toolhand.policies import Policy, chain

_NUMBERS = itertools.count(1)


def made(function: Callable[..., Any], **rules: Any) -> Tool:
    """A tool with these rules."""
    plain = tool(function)
    return replace(plain, rules=replace(plain.rules, **rules))


def bound(of: Tool, id_: str = "", **arguments: Any) -> BoundCall:
    return BoundCall(
        call=ToolCall(id=id_ or f"c{next(_NUMBERS)}", name=of.name, arguments=arguments), tool=of
    )


class Way:
    """Calls tools through policies, each call checked for the id of its result."""

    def __init__(self, *policies: Policy, context: RunContext | None = None) -> None:
        self.events: list[Event] = []
        self.context = replace(context or RunContext(), emit=self.events.append)
        self._way = chain(policies, invoke)

    async def __call__(self, of: Tool, *, context: RunContext | None = None, **arguments: Any) -> ToolResult:
        call = bound(of, **arguments)
        result = await self._way(call, context or self.context)
        assert isinstance(result, ToolResult)
        assert result.call_id == call.call.id
        return result

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def fails_first(
    times: int, error: Callable[[], BaseException]
) -> tuple[Callable[[int], Awaitable[str]], list[int]]:
    """An async tool's function that raises so many times and then succeeds, and the list of its runs."""
    runs: list[int] = []

    async def flaky(x: int) -> str:
        """Fails at first."""
        runs.append(x)
        if len(runs) <= times:
            raise error()
        return f"ok after {len(runs)}"

    return flaky, runs


def codes(results: Sequence[ToolResult]) -> list[str | None]:
    return [None if result.error is None else str(result.error.code) for result in results]
