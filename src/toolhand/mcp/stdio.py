"""A server as a child process that speaks over its standard streams.

Unlike the SDK's own transport, this one keeps what the server says on standard error for an error's sentence, passes over lines
that are no messages, knows at once when the server has died, and does not wait for a server that never came up.
Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from toolhand.arguments.masking import masked
from toolhand.mcp.servers import Server

_LOG: Final = logging.getLogger("toolhand.mcp")

LONGEST_MESSAGE: Final = 64_000_000
"""Bytes of one message; a server that sends more is broken."""

_KEPT_LINES: Final = 20
_POLITE_SECONDS: Final = 2.0
_KILL_SECONDS: Final = 1.0


class Child:
    """What is known of a server's process while it runs and after.

    Args:
        server: which.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.has_ended = asyncio.Event()
        self.is_well = False
        self.said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._has_warned = False

    @property
    def last_words(self) -> str:
        """The last that it wrote on standard error, in one line, without its secrets."""
        text = " / ".join(line for line in self.said if line.strip())[-400:]
        return str(masked(text, self.server.secrets))

    def note_noise(self, line: str) -> None:
        """Notes a line that is no message: said once, since a chatty server has many."""
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        _LOG.log(level, "the MCP server '%s' wrote a line that is no message: %.200r", self.server.name, line)


@asynccontextmanager
async def stdio_streams(child: Child) -> AsyncIterator[tuple[Any, Any]]:
    """Starts the server; gives the streams of messages from it and to it; ends it with all its children.

    Args:
        child: where it is noted what becomes of the process.

    Raises:
        OSError: when it cannot be started.
    """
    server = child.server
    process = await asyncio.create_subprocess_exec(
        *server.command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**get_default_environment(), **server.env},
        cwd=server.cwd,
        limit=LONGEST_MESSAGE,
        start_new_session=True,
    )
    inward, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outward = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(process, inward, child)),
        asyncio.create_task(_write(process, outward, inward)),
        asyncio.create_task(_listen(process, child)),
    ]
    try:
        yield received, sent
    finally:
        ending = asyncio.create_task(_end(process, tasks, child))
        for stream in (received, sent, inward, outward):
            stream.close()
        while not ending.done():  # also where we are being cancelled: no process may be left behind
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(ending)


async def _read(process: asyncio.subprocess.Process, inward: Any, child: Child) -> None:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    try:
        async with inward:
            while line := await process.stdout.readline():
                text = line.decode("utf-8", "replace").strip()
                try:
                    message = (
                        types.jsonrpc_message_adapter.validate_json(text, by_name=False) if text else None
                    )
                except ValueError:
                    child.note_noise(text)
                    continue
                if message is not None:
                    await inward.send(SessionMessage(message))
    except (ValueError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
        if isinstance(error, ValueError):
            _LOG.error(
                "the MCP server '%s' sent a message of more than %d bytes", child.server.name, LONGEST_MESSAGE
            )
    finally:
        child.has_ended.set()


async def _write(process: asyncio.subprocess.Process, outward: Any, inward: Any) -> None:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    try:
        async with outward:
            async for message in outward:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode())
                await process.stdin.drain()
    except (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        inward.close()  # who waits for an answer must not wait for ever


async def _listen(process: asyncio.subprocess.Process, child: Child) -> None:
    assert process.stderr is not None  # noqa: S101 - it was asked for
    while True:
        try:
            line = await process.stderr.readline()
        except ValueError:  # a line without end is passed over in pieces
            continue
        if not line:
            return
        child.said.append(line.decode("utf-8", "replace").rstrip())
        _LOG.debug("the MCP server '%s' said: %s", child.server.name, child.said[-1])


async def _end(process: asyncio.subprocess.Process, tasks: list[asyncio.Task[None]], child: Child) -> None:
    """Closes its input, waits, and kills what is left. A server that never answered is not waited for."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    await _gone(process, _POLITE_SECONDS if child.is_well else 0.05)
    _signal(process, signal.SIGTERM)
    if not await _gone(process, _KILL_SECONDS if child.is_well else 0.2):
        await _gone(process, 0.0)
    _signal(process, signal.SIGKILL)
    await _gone(process, _KILL_SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    transport = getattr(
        process, "_transport", None
    )  # a grandchild may hold the pipes: they are closed from our side
    if transport is not None:
        with contextlib.suppress(OSError):
            transport.close()


async def _gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether it ended in time. Not by `wait`, which also waits for pipes that a grandchild may hold."""
    deadline = asyncio.get_running_loop().time() + seconds
    while process.returncode is None and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.01)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """To the whole group, since `npx` and shells start the server as their child, and may be gone before it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
