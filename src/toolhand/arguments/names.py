"""Which tool a name means, and what to say where it means none."""

from __future__ import annotations

from typing import Final

from toolhand.arguments.suggest import close, is_near
from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection, bare, folded

MOST_NAMED: Final = 20
"""How many tools an error names at most, the nearest first."""


def near_tool(name: str, tools: ToolCollection) -> Tool | None:
    """The tool of which a name is a slip of the pen: only where one alone is near and it only reads."""
    sought = folded(bare(name))
    near = [tool for tool in tools if is_near(sought, folded(tool.name))]
    if len(near) == 1 and near[0].rules.effect == "reads":
        return near[0]
    return None


def close_names(name: str, tools: ToolCollection) -> list[str]:
    """The names that a model may have meant, best first."""
    return close(bare(name), tools.names)


def named(name: str, tools: ToolCollection) -> list[str]:
    """The tools that an error tells of: all of them, or the nearest and the first of many."""
    nearest = close_names(name, tools)
    return list(dict.fromkeys([*nearest, *tools.names]))[:MOST_NAMED]
