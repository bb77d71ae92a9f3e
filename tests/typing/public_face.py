"""Checked by mypy, never run: what a user's type checker sees of the public names."""

from __future__ import annotations

from typing import assert_type

from toolhand import Agent, Reply, Run, Tool, ToolResult, Toolset, parse, tool


@tool
def bare(city: str) -> str:
    return city


@tool(name="named", effect="writes")
def called(city: str) -> str:
    return city


assert_type(bare, Tool)
assert_type(called, Tool)
assert_type(Agent("local", tools=[bare]).run_sync("?"), Run)
assert_type(parse("", [bare]), Reply)
assert_type(Toolset([bare]).call_sync("bare", {"city": "x"}), ToolResult)
