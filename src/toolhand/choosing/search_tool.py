"""The tool by which a model looks for tools that it is not shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from toolhand.core.context import RunContext
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

SEARCH_TOOLS: Final = "search_tools"

MOST_FOUND: Final = 20

MOST_CATEGORIES: Final = 20

_LONGEST_TOLD: Final = 200

Search = Callable[[str, int, RunContext], Awaitable[list[Tool]]]

_WORDS: Final = {
    "en": {
        "found": "You can call these tools now.",
        "none": "No tool fits these words: try other words for what it should do{categories}, or go on without.",
        "categories": " (there are tools for: {names})",
    },
    "zh": {
        "found": "现在可以调用这些工具。",
        "none": "没有符合这些词的工具：请换一种说法描述它该做什么{categories}，或者不用它继续。",
        "categories": "（现有工具的类别：{names}）",
    },
}

_DESCRIPTION: Final = (
    "Finds more tools: only some of {count} are shown to you. Call it when none of the tools you see can do what is asked; "
    "the tools that it finds can be called afterwards.{categories}"
)


def search_tool(search: Search, tools: Sequence[Tool]) -> Tool:
    """The tool `search_tools(query, most)`.

    Args:
        search: finds tools and shows them to the model.
        tools: what is searched.
    """
    categories = list(dict.fromkeys(found.rules.category for found in tools if found.rules.category))
    categories = categories[:MOST_CATEGORIES]
    about = f" There are tools for: {', '.join(categories)}." if categories else ""

    @tool(name=SEARCH_TOOLS, description=_DESCRIPTION.format(count=len(tools), categories=about))
    async def search_tools(  # noqa: D417 - the context is not the model's
        context: RunContext, query: str, most: int = 5
    ) -> dict[str, Any]:
        """Finds tools.

        Args:
            query: What the tool should do, in a few words of your own.
            most: The most tools to find, at most 20.
        """
        words = _WORDS[context.language]
        found = await search(query, min(max(most, 1), MOST_FOUND), context)
        if not found:
            names = ("、" if context.language == "zh" else ", ").join(categories)
            told = words["categories"].format(names=names) if categories else ""
            return {"tools": [], "note": words["none"].format(categories=told)}
        return {
            "tools": [{"name": one.name, "description": _short(one.description)} for one in found],
            "note": words["found"],
        }

    return search_tools


def _short(text: str) -> str:
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= _LONGEST_TOLD else f"{first[: _LONGEST_TOLD - 1]}…"
