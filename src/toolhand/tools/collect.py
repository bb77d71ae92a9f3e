"""Makes one collection of whatever a user hands over as tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolhand.core.errors import ToolDefinitionError
from toolhand.core.language import say
from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection
from toolhand.tools.decorator import tool
from toolhand.tools.openai import from_openai


def collect(tools: Any) -> ToolCollection:
    """A collection from a collection, a tool, a function, an OpenAI schema, or an iterable of these.

    Raises:
        ToolDefinitionError: when something in it is none of these, or two tools have one name.
    """
    if isinstance(tools, ToolCollection):
        return tools
    return ToolCollection(each_tool(tools))


def each_tool(tools: Any) -> list[Tool]:
    """The tools in whatever was handed over, in order."""
    if tools is None:
        return []
    if isinstance(tools, Tool):
        return [tools]
    if isinstance(tools, Mapping):
        return from_openai([tools])
    if isinstance(tools, Iterable) and not isinstance(tools, str | bytes):
        return [found for item in tools for found in each_tool(item)]
    if callable(tools):
        return [tool(tools)]
    shown = f"{tools!r:.200}"
    raise ToolDefinitionError(
        say(
            f"a tool is a function, a Tool or an OpenAI schema, and {shown} is none of these: "
            "where it is what a tool gave, leave out the parentheses, as in tools=[get_price]",
            f"工具应是函数、Tool 或 OpenAI schema，而 {shown} 都不是："
            "如果它是调用工具得到的结果，请去掉括号，写成 tools=[get_price]",
        )
    )
