"""Makes one collection of whatever a user hands over as tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolhand.core.errors import ToolDefinitionError
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
    raise ToolDefinitionError(
        f"a tool is a function, a Tool or an OpenAI schema, and {tools!r} is none of these"
    )
