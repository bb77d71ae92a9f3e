"""The tools of one server or of several, as a toolset takes them: opened when they are first asked for, and kept up to date."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Final, TypedDict

from toolhand.core.errors import MissingExtraError, SettingsError
from toolhand.core.language import say
from toolhand.core.tools import Tool
from toolhand.mcp.servers import Named, Server, ServerStartError, servers_of
from toolhand.mcp.thread import closed_at_exit, submit, there

_LOG: Final = logging.getLogger("toolhand.mcp")

START_TIMEOUT: Final = 30.0
TIMEOUT: Final = 60.0


class McpOptions(TypedDict, total=False):
    """What `Toolset.from_mcp` can be told beside the servers.

    Args:
        env: variables for servers that are started: values by name, or names of variables that are handed on from here. Of its
            own accord a server gets only PATH, HOME and the like.
        headers: for servers that are reached by HTTP, such as an authorization.
        cwd: the folder in which servers are started.
        prefix: True puts each server's name before its tools' names; a text is put there instead. By default only names that
            two servers have get one.
        only: names of tools, as the servers have them; all by default.
        resources: also two tools for each server that has resources: one lists them, one reads one.
        timeout: seconds for a call; 60 by default.
        start_timeout: seconds until a server must have answered; 30 by default.
        retries: how often a call that failed in passing is tried again, where that is safe.
        skip_failed: leaves servers out that do not start, with a warning, as long as one does.
        untrusted: whether results are marked for a model as written by others; True by default.
    """

    env: Mapping[str, str] | Iterable[str]
    headers: Mapping[str, str]
    cwd: str | os.PathLike[str]
    prefix: bool | str
    only: Iterable[str]
    resources: bool
    timeout: float
    start_timeout: float
    retries: int
    skip_failed: bool
    untrusted: bool


class McpSource:
    """Servers whose tools are wanted.

    Args:
        source: see `servers_of`.
        options: see `McpOptions`.

    Raises:
        SettingsError: when it names no server, or an option is not known.
        MissingExtraError: when the extra `mcp` is not installed.
    """

    def __init__(self, source: Named, options: McpOptions) -> None:
        if unknown := options.keys() - McpOptions.__annotations__.keys():
            known = ", ".join(McpOptions.__annotations__)
            raise SettingsError(
                say(
                    f"from_mcp has no option '{min(unknown)}'; there is: {known}",
                    f"from_mcp 没有选项“{min(unknown)}”；可用的有：{known}",
                )
            )
        if find_spec("mcp") is None:
            raise MissingExtraError("mcp", say("tools from an MCP server", "来自 MCP 服务器的工具"))
        self.servers: list[Server] = servers_of(
            source, env=options.get("env", ()), headers=options.get("headers"), cwd=options.get("cwd")
        )
        self.options = options
        self.version = 0
        self._lock = threading.Lock()
        self._connections: list[Any] = []
        self._made: tuple[int, Sequence[Tool]] = (-1, ())
        closed_at_exit(self)

    def _changed(self) -> None:
        self.version += 1

    @property
    def is_open(self) -> bool:
        """Whether the servers were started."""
        return bool(self._connections)

    async def open(self) -> None:
        """Starts the servers, or finds that they run.

        Raises:
            ServerStartError: when one does not start.
        """
        await there(self._open())

    def open_blocking(self) -> None:
        """The same for code that is not async."""
        submit(self._open()).result()

    async def _open(self) -> None:
        from toolhand.mcp.connection import Connection  # noqa: PLC0415 - loads the SDK

        if self._connections:
            return
        seconds = self.options.get("start_timeout", START_TIMEOUT)
        made = [Connection(one, start_timeout=seconds, on_change=self._changed) for one in self.servers]
        outcomes = await asyncio.gather(*(one.open() for one in made), return_exceptions=True)
        failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        well = [
            one for one, outcome in zip(made, outcomes, strict=True) if not isinstance(outcome, BaseException)
        ]
        if failed and (
            not well or not self.options.get("skip_failed") or not isinstance(failed[0], ServerStartError)
        ):
            await asyncio.gather(*(one.close() for one in well), return_exceptions=True)
            raise failed[0]
        for failure in failed:
            _LOG.warning("%s", failure)
        self._connections = well
        self._changed()

    async def close(self) -> None:
        """Ends what was started. Opening again is possible."""
        if self._connections:
            await there(self.close_there())

    async def close_there(self) -> None:
        """The same from the loop where connections live."""
        connections, self._connections = self._connections, []
        if connections:
            await asyncio.gather(*(one.close() for one in connections), return_exceptions=True)

    def tools(self) -> Sequence[Tool]:
        """The servers' tools as they are now, each under a name of its own; servers that do not run are started."""
        if not self._connections:
            self.open_blocking()
        with self._lock:
            version = self.version
            if self._made[0] != version:
                self._made = (version, self._make())
            return self._made[1]

    def _make(self) -> list[Tool]:
        from toolhand.mcp.making import Manner, resource_tools, tool_of  # noqa: PLC0415 - loads the SDK

        manner = Manner(
            timeout=self.options.get("timeout", TIMEOUT),
            retries=self.options.get("retries", 0),
            untrusted=self.options.get("untrusted", True),
        )
        wanted = self.options.get("only")
        wanted = None if wanted is None else {wanted} if isinstance(wanted, str) else set(wanted)
        found: list[tuple[str, Tool]] = []
        for connection in list(self._connections):
            name = connection.server.name
            tools = [
                tool_of(one, connection, manner)
                for one in connection.tools
                if wanted is None or one.name in wanted
            ]
            if (
                self.options.get("resources")
                and getattr(connection.capabilities, "resources", None) is not None
            ):
                tools += resource_tools(connection, manner)
            found += [(name, tool) for tool in tools]
        self._check_wanted(wanted, found)
        return self._named(found)

    def _check_wanted(self, wanted: set[str] | None, found: list[tuple[str, Tool]]) -> None:
        missing = (wanted or set()) - {tool.name for _, tool in found}
        if missing and self._made[0] < 0:
            raise SettingsError(
                say(
                    f"no MCP server has the tool '{min(missing)}'",
                    f"没有 MCP 服务器提供工具“{min(missing)}”",
                )
            )

    def _named(self, found: list[tuple[str, Tool]]) -> list[Tool]:
        """Each tool under a name of its own: where two servers have one, both get their server's in front."""
        prefix = self.options.get("prefix", False)
        if isinstance(prefix, str) and prefix:
            found = [(server, replace(tool, name=prefix + tool.name)) for server, tool in found]
        servers_by_name: dict[str, set[str]] = {}
        for server, tool in found:
            servers_by_name.setdefault(tool.name, set()).add(server)
        named: dict[str, Tool] = {}
        for server, tool in found:
            clashes = len(servers_by_name[tool.name]) > 1
            name = f"{server}_{tool.name}" if clashes or prefix is True else tool.name
            if clashes:
                _LOG.warning("more than one MCP server has the tool '%s': here it is '%s'", tool.name, name)
            number, unique = 2, name
            while unique in named:
                unique, number = f"{name}_{number}", number + 1
            named[unique] = replace(tool, name=unique)
        return list(named.values())
