"""Reads all the tools that a server has, page by page."""

from __future__ import annotations

import json
import logging
from typing import Any, Final

import mcp_types as types

_LOG: Final = logging.getLogger("toolhand.mcp")

MOST_PAGES: Final = 1000
MOST_TOOLS: Final = 10_000
MOST_CHARACTERS: Final = 100_000
"""Of one tool's parameters: some 25,000 tokens, which a model would read at each turn."""


async def every_tool(client: Any, name: str) -> list[types.Tool]:
    """All tools, each name once, in the server's order.

    Args:
        client: the SDK's, connected.
        name: the server's, for warnings.
    """
    found: dict[str, types.Tool] = {}
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        for tool in page.tools:
            if _is_too_large(tool):
                _LOG.warning(
                    "the tool '%.60s' of the MCP server '%s' describes its parameters at too great a length: it is left out",
                    tool.name,
                    name,
                )
            elif found.setdefault(tool.name, tool) is not tool:
                _LOG.warning(
                    "the MCP server '%s' lists the tool '%s' twice: the first one counts", name, tool.name
                )
        cursor = page.next_cursor
        if not cursor:
            break
        if len(found) >= MOST_TOOLS:
            _LOG.warning(
                "the MCP server '%s' lists more than %d tools: the list ends there", name, MOST_TOOLS
            )
            break
        if cursor in seen:
            _LOG.warning(
                "the MCP server '%s' gives the page '%.60s' of its tools again: the list ends there",
                name,
                cursor,
            )
            break
        seen.add(cursor)
    return list(found.values())


def _is_too_large(tool: types.Tool) -> bool:
    return len(json.dumps(tool.input_schema, ensure_ascii=False, default=str)) > MOST_CHARACTERS


async def every_resource(client: Any) -> list[types.Resource]:
    """All resources, page by page.

    Args:
        client: the SDK's, connected.
    """
    found: list[types.Resource] = []
    cursor: str | None = None
    seen: set[str] = set()
    while len(seen) < MOST_PAGES:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        cursor = page.next_cursor
        if not cursor or cursor in seen:
            break
        seen.add(cursor)
    return found
