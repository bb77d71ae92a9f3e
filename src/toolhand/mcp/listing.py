"""Reads all the tools that a server has, page by page."""

from __future__ import annotations

import logging
from typing import Any, Final

import mcp_types as types

_LOG: Final = logging.getLogger("toolhand.mcp")

MOST_PAGES: Final = 1000


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
            if found.setdefault(tool.name, tool) is not tool:
                _LOG.warning(
                    "the MCP server '%s' lists the tool '%s' twice: the first one counts", name, tool.name
                )
        cursor = page.next_cursor
        if not cursor:
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
