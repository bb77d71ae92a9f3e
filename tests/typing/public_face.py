"""Checked by mypy, never run: what a user's type checker sees of the public names."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic import BaseModel

from toolhand import Agent, Limits, Reply, Run, Tool, ToolResult, Toolset, parse, tool


@tool
def bare(city: str) -> str:
    return city


@tool(name="named", effect="writes")
def called(city: str) -> str:
    return city


assert_type(bare, Tool)
assert_type(called, Tool)


class Invoice(BaseModel):
    total: float


assert_type(Agent("local", tools=[bare]), Agent[str])
assert_type(Agent("local", tools=[bare], base_url="x").run_sync("?"), Run[str])
assert_type(Agent("local").run_sync("?").output, str)
assert_type(Agent("local", output=Invoice), Agent[Invoice | None])
assert_type(Agent("local", output=Invoice).run_sync("?").output, Invoice | None)
assert_type(Agent("local", output=list[int], limits=Limits(turns=3)).run_sync("?").output, list[int] | None)
assert_type(Agent("local", output=Invoice | int).run_sync("?").output, Any)
assert_type(Agent("local").run_sync("?", output=Invoice), Run[Invoice | None])
assert_type(Agent("local").run_sync("?", session="a", user="ann"), Run[str])


async def awaited() -> None:
    assert_type(await Agent("local").run("?", output=Invoice), Run[Invoice | None])
    assert_type(await Agent("local", output=Invoice).resume("s"), Run[Invoice | None])


assert_type(parse("", [bare]), Reply)
assert_type(Toolset([bare]).call_sync("bare", {"city": "x"}), ToolResult)
