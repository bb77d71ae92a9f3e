"""The way to a server, in the SDK's terms."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from toolhand.mcp.mending import Mended
from toolhand.mcp.servers import Server
from toolhand.mcp.stdio import Child, stdio_streams

_TIMEOUT: Final = httpx2.Timeout(30.0, connect=10.0, read=600.0)
"""Seconds; a stream of events may be silent for long, and each call has its own limit."""


def way_to(server: Server, child: Child) -> Any:
    """What the SDK's client takes: a transport, or a server object.

    Args:
        server: where to.
        child: where it is noted what becomes of a process.
    """
    match server.transport:
        case "here":
            return server.target
        case "http":
            return Mended(_http(server), server.name)
        case "sse":
            return Mended(sse_client(server.url, headers=dict(server.headers)), server.name)
        case _ if (
            sys.platform == "win32"
        ):  # groups of processes are another matter there, which the SDK knows
            command, *words = server.command
            return StdioServerParameters(command=command, args=words, env=dict(server.env), cwd=server.cwd)
        case _:
            return Mended(stdio_streams(child), server.name)


@asynccontextmanager
async def _http(server: Server) -> AsyncIterator[tuple[Any, Any]]:
    async with contextlib.AsyncExitStack() as stack:
        client = httpx2.AsyncClient(headers=dict(server.headers), timeout=_TIMEOUT)
        await stack.enter_async_context(client)
        yield await stack.enter_async_context(streamable_http_client(server.url, http_client=client))
