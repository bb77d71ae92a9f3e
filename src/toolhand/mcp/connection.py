"""One server's connection: opened when it is first needed, opened again when the server has died, closed once."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import anyio
import httpx2
import mcp_types as types
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError

from mcp import Client
from toolhand.core.errors import ErrorCode
from toolhand.core.language import say
from toolhand.mcp.listing import every_resource, every_tool
from toolhand.mcp.servers import Server, ServerStartError
from toolhand.mcp.stdio import Child
from toolhand.mcp.transports import way_to

T = TypeVar("T")

_LOG: Final = logging.getLogger("toolhand.mcp")

_LOST: Final = (
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.EndOfStream,
    httpx2.TransportError,
    OSError,
)
_SESSION_GONE: Final = "Session terminated"
"""What the SDK says when a server no longer knows our session: it has not looked at the request."""

_RELISTEN_SECONDS: Final = 1.0


class LostError(ConnectionResetError):
    """The connection was lost while a call was under way: it may have had its effect, or not."""


class NotSentError(ConnectionRefusedError):
    """The server cannot be reached: the call has not gone out."""


class _Session:
    """One life of a connection: the task that holds it, and what became of it."""

    def __init__(self, server: Server) -> None:
        self.child = Child(server)
        self.closing = asyncio.Event()
        self.ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self.error: BaseException | None = None
        self.task: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        """Whether calls can be made."""
        return (
            self.task is not None
            and not self.task.done()
            and not self.closing.is_set()
            and not self.child.has_ended.is_set()
        )


class Connection:
    """A server's connection. All of it but `tools` and `version` belongs to the loop where connections live.

    Args:
        server: where to.
        start_timeout: seconds until it must have answered and listed its tools.
        on_change: called when its tools are not what they were.
    """

    def __init__(self, server: Server, *, start_timeout: float, on_change: Callable[[], None]) -> None:
        self.server = server
        self.tools: Sequence[types.Tool] = ()
        self.capabilities: types.ServerCapabilities | None = None
        self._start_timeout = start_timeout
        self._on_change = on_change
        self._session: _Session | None = None
        self._opening = asyncio.Lock()
        self._background: set[asyncio.Task[None]] = set()

    async def open(self) -> Client:
        """The SDK's client, connected; opened, or opened again, where it has to be.

        Raises:
            ServerStartError: when the server does not come up.
        """
        async with self._opening:
            if self._session is not None and self._session.is_alive:
                return self._session.ready.result()
            await self._drop(self._session)
            session = self._session = _Session(self.server)
            session.task = asyncio.create_task(self._live(session))
            try:
                async with asyncio.timeout(self._start_timeout):
                    return await asyncio.shield(session.ready)
            except TimeoutError:
                self._leave(session)
                raise self._not_started(ErrorCode.TIMEOUT, session) from None
            except asyncio.CancelledError:
                self._leave(session)
                raise
            except Exception as error:  # noqa: BLE001 - whatever a server's start comes to
                self._leave(session)
                code = ErrorCode.NETWORK if isinstance(error, _LOST) else ErrorCode.UPSTREAM
                raise self._not_started(code, session, error) from None

    def _leave(self, session: _Session) -> None:
        """Ends a session that came to nothing, without waiting for it."""
        if session.task is not None:
            session.task.cancel()
            self._background.add(session.task)
            session.task.add_done_callback(self._background.discard)
        self._session = None

    async def _drop(self, session: _Session | None) -> None:
        if session is None or session.task is None:
            return
        session.closing.set()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(asyncio.shield(session.task), 10)
        session.task.cancel()

    async def close(self) -> None:
        """Ends the server's process, or says goodbye to it."""
        async with self._opening:
            session, self._session = self._session, None
            await self._drop(session)
        if self._background:
            await asyncio.wait(list(self._background), timeout=10)

    async def _live(self, session: _Session) -> None:
        """Holds the connection open: entered and left in one task, as the SDK wants."""
        try:
            async with Client(
                way_to(self.server, session.child),
                message_handler=lambda message: self._hear(session, message),
                client_info=types.Implementation(name="toolhand", version=_version()),
                cache=None,
            ) as client:
                self.capabilities = client.session.server_capabilities
                tools = self.capabilities.tools if self.capabilities is not None else None
                await self._take(await every_tool(client, self.server.name) if tools is not None else [])
                session.child.is_well = True
                if not session.ready.done():
                    session.ready.set_result(client)
                await self._until_closed(session, client, has_changes=bool(tools and tools.list_changed))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - the SDK gives groups of whatever went wrong
            session.error = _first(error)
            if not session.ready.done():
                session.ready.set_exception(_plain(session.error))
                session.ready.exception()  # heard, whether anybody still waits or not
        finally:
            session.closing.set()

    async def _until_closed(self, session: _Session, client: Client, *, has_changes: bool) -> None:
        """Waits for the end, and listens for changes meanwhile where the protocol's version has that in a stream of its own."""
        ends = [
            asyncio.ensure_future(session.closing.wait()),
            asyncio.ensure_future(session.child.has_ended.wait()),
        ]
        listening = asyncio.create_task(self._listen(client)) if has_changes else None
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*ends, *((listening,) if listening else ())):
                task.cancel()
            await asyncio.gather(*ends, *((listening,) if listening else ()), return_exceptions=True)

    async def _listen(self, client: Client) -> None:
        is_again = False
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    if is_again:
                        await self._relist(client)  # what changed meanwhile is not told
                    is_again = True
                    async for _ in changes:
                        await self._relist(client)
            except (SubscriptionLost, MCPError, TimeoutError) as error:
                _LOG.debug("the MCP server '%s' no longer tells of changes: %s", self.server.name, error)
            except ListenNotSupportedError:
                return  # an older version tells of them unasked
            await asyncio.sleep(_RELISTEN_SECONDS)

    async def _hear(self, session: _Session, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification) and session.ready.done():
            task = asyncio.create_task(self._relist(session.ready.result()))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _relist(self, client: Client) -> None:
        try:
            async with asyncio.timeout(self._start_timeout):
                await self._take(await every_tool(client, self.server.name))
        except (MCPError, TimeoutError, *_LOST) as error:
            _LOG.warning(
                "the changed tools of the MCP server '%s' cannot be listed: %s", self.server.name, error
            )

    async def _take(self, tools: Sequence[types.Tool]) -> None:
        if list(tools) == list(self.tools):
            return
        before = {tool.name: tool for tool in self.tools}
        for tool in tools:
            known = before.get(tool.name)
            if known is not None and known != tool:
                _LOG.warning(
                    "the tool '%s' of the MCP server '%s' is no longer what it was",
                    tool.name,
                    self.server.name,
                )
        self.tools = tuple(tools)
        self._on_change()

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, is_repeatable: bool, progress: Any = None
    ) -> types.CallToolResult:
        """One call of a tool. A server that has died is started again; a call that may have had its effect is not repeated.

        Args:
            name: the tool's name on the server.
            arguments: as it takes them.
            is_repeatable: whether it may run twice.
            progress: called with what the server tells meanwhile.

        Raises:
            NotSentError: when the server cannot be reached.
            LostError: when the connection was lost while it ran.
            MCPError: when the server refused the request.
        """
        return await self._twice(
            lambda client: client.call_tool(name, dict(arguments), progress_callback=progress),
            is_repeatable=is_repeatable,
        )

    async def read(self, uri: str) -> types.ReadResourceResult:
        """A resource of the server.

        Raises:
            NotSentError: when the server cannot be reached.
            MCPError: when there is none.
        """
        return await self._twice(lambda client: client.read_resource(uri), is_repeatable=True)

    async def resources(self) -> list[types.Resource]:
        """All resources that the server lists.

        Raises:
            NotSentError: when the server cannot be reached.
            MCPError: when it does not list them.
        """
        return await self._twice(every_resource, is_repeatable=True)

    async def _twice(self, ask: Callable[[Client], Awaitable[T]], *, is_repeatable: bool) -> T:
        for attempt in (1, 2):
            try:
                client = await self.open()
            except ServerStartError as error:
                raise NotSentError(str(error)) from None
            session = self._session
            try:
                return await ask(client)
            except MCPError as error:
                if error.code != types.CONNECTION_CLOSED and _SESSION_GONE not in error.message:
                    raise
                reached = _SESSION_GONE not in error.message and await self._was_reached(session)
            except _LOST:
                reached = await self._was_reached(session)
            if session is not None:
                session.closing.set()
            if attempt == 2 or (reached and not is_repeatable):
                kind = LostError if reached else NotSentError
                raise kind(f"the connection to the MCP server '{self.server.name}' was lost")
            _LOG.warning(
                "the connection to the MCP server '%s' was lost: it is opened again", self.server.name
            )
        raise AssertionError  # the second attempt returns or raises

    async def _was_reached(self, session: _Session | None) -> bool:
        """Whether a request may have arrived before the connection was lost."""
        if session is None or session.task is None:
            return True
        session.closing.set()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(asyncio.shield(session.task), 5)
        return not isinstance(session.error, httpx2.ConnectError | httpx2.ConnectTimeout)

    def _not_started(
        self, code: ErrorCode, session: _Session, error: BaseException | None = None
    ) -> ServerStartError:
        name, said = self.server.name, session.child.last_words
        why = {
            ErrorCode.TIMEOUT: say(
                f"it did not answer within {self._start_timeout:g} seconds",
                f"{self._start_timeout:g} 秒内没有答复",
            ),
            ErrorCode.NETWORK: say("it cannot be reached", "无法连接"),
        }.get(code, say("it is no MCP server, or refused us", "它不是 MCP 服务器，或拒绝了连接"))
        if isinstance(error, FileNotFoundError | PermissionError) and self.server.command:
            command = self.server.command[0]
            why = say(
                f"the command '{command}' cannot be run: is it installed?",
                f"无法运行命令“{command}”：是否已安装？",
            )
        elif isinstance(error, MCPError) and session.child.has_ended.is_set():
            why = say("its process ended", "它的进程结束了")
        elif isinstance(error, MCPError):
            why = f"{why} ({error.message[:200]})"
        more = say(f"; it said: {said}", f"；它的输出：{said}") if said else ""
        return ServerStartError(
            say(
                f"the MCP server '{name}' did not start: {why}{more}",
                f"MCP 服务器“{name}”未能启动：{why}{more}",
            ),
            code=code,
        )


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _plain(error: BaseException) -> Exception:
    return error if isinstance(error, Exception) else RuntimeError(type(error).__name__)


def _version() -> str:
    try:
        return importlib.metadata.version("toolhand")
    except importlib.metadata.PackageNotFoundError:
        return "0"
