"""Answers a client's requests for a toolset."""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import uuid
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged

from toolhand.core.approvals import decide, pending_of
from toolhand.core.call_events import CallProgressed
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError, ToolhandError
from toolhand.core.events import Event
from toolhand.core.language import Language
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.mcp_server.answers import answer, listed, refusal
from toolhand.mcp_server.approvals import Approvals, nobody_to_ask
from toolhand.observability import Sink, listening
from toolhand.observability.defaults import default_sinks
from toolhand.policies.shrinking.read_result import read_result_tool
from toolhand.policies.shrinking.store import ResultStore, has_results, memory_with
from toolhand.tools.export import exported
from toolhand.toolset import Toolset

_LOG: Final = logging.getLogger("toolhand.mcp")

_TELLING_SECONDS: Final = 5.0
"""How long a result waits for a client that is slow to hear of progress."""

_MOST_SESSIONS: Final = 200
"""Of how many clients large results are kept to be read on."""


class Serving:
    """A toolset as an MCP server.

    Args:
        tools: the toolset.
        name: what the server calls itself.
        user: for whom it acts: permissions, limits per user and the audit go by it.
        permissions: what the user holds.
        roles: what the user is.
        language: of its sentences.
        instructions: what a client tells its model of the server.
        sinks: who listens; the log by default.
    """

    def __init__(
        self,
        tools: Toolset,
        *,
        name: str = "toolhand",
        user: str = "",
        permissions: Collection[str] = (),
        roles: Collection[str] = (),
        language: Language = "en",
        instructions: str | None = None,
        sinks: Sequence[Sink] | None = None,
    ) -> None:
        self.tools, self.language = tools, language
        self._user, self._permissions, self._roles = user, frozenset(permissions), frozenset(roles)
        self._sinks = sinks
        self._session = uuid.uuid4().hex
        self._approvals = Approvals()
        self._results: OrderedDict[str, ResultStore] = OrderedDict()
        self._extended: tuple[Toolset, Toolset] | None = None
        self._changes = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            name,
            version=_version(),
            instructions=instructions,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._changes),
        )

    def _now(self) -> Toolset:
        """The tools of this moment, and the one that reads the rest of a large result."""
        now = self.tools.now()
        if self._extended is None or self._extended[0] is not now:
            more = () if "read_result" in now else (read_result_tool(),)
            self._extended = (now, now.extended(*more))
        return self._extended[1]

    def _context(self, ctx: Any) -> RunContext:
        session = _session_of(ctx) or self._session
        results = self._results.setdefault(session, ResultStore())
        self._results.move_to_end(session)
        if len(self._results) > _MOST_SESSIONS:
            self._results.popitem(last=False)
        return RunContext(
            user=self._user,
            session_id=session,
            permissions=self._permissions,
            roles=self._roles,
            language=self.language,
            memory=memory_with(results),
        )

    async def _list(self, ctx: Any, params: Any) -> types.ListToolsResult:
        del params  # all in one page: many clients read no second one
        return types.ListToolsResult(tools=[listed(tool) for tool in self._now().offered(self._context(ctx))])

    async def _call(
        self, ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tools, context = self._now(), self._context(ctx)
        tool = tools.lookup(params.name)
        arguments: Any = params.arguments or {}
        if tool is not None:
            arguments = exported(tool, "mcp").own_arguments(arguments)
        call = ToolCall(id=f"mcp_{uuid.uuid4().hex}", name=params.name, arguments=arguments)
        had_results = has_results(context)
        try:
            decision = self._approvals.given(call, params)
            if decision is not None:
                decide(context, {call.id: decision})
            found = await self._settled(call, tools, context, ctx)
        except ToolhandError as error:  # what ends a run: a tool says so, or it cannot be written down
            _LOG.error("the call of '%s' ended the run: %s", call.name, error)
            raise MCPError(types.INTERNAL_ERROR, "the server cannot go on with this call") from None
        if has_results(context) and not had_results:
            await self._tell_of_changes(ctx)
        return answer(found, self.language) if isinstance(found, ToolResult) else found

    async def _settled(
        self, call: ToolCall, tools: Toolset, context: RunContext, ctx: Any
    ) -> ToolResult | types.CallToolResult | types.InputRequiredResult:
        """The call's result, after a person was asked where one has to be."""
        result = await self._dispatched(call, tools, context, ctx)
        pending, tool = pending_of(result), tools.lookup(call.name)
        if pending is None or tool is None:
            return result
        decided = await self._approvals.ask(pending, call, tool, ctx, self.language)
        if decided is None:
            message, hint = nobody_to_ask(pending.name, self.language)
            return refusal(ToolError(code=ErrorCode.APPROVAL_REQUIRED, message=message, hint=hint))
        if isinstance(decided, types.InputRequiredResult):
            return decided
        decide(context, {pending.approval_id: decided})
        return await self._dispatched(call, tools, context, ctx)

    async def _dispatched(self, call: ToolCall, tools: Toolset, context: RunContext, ctx: Any) -> ToolResult:
        """The result by the one way there is, its progress told to the client meanwhile."""
        told: asyncio.Queue[CallProgressed | None] = asyncio.Queue()

        def hear(event: Event, context: RunContext) -> None:
            del context
            if isinstance(event, CallProgressed):
                told.put_nowait(event)

        sinks = default_sinks() if self._sinks is None else self._sinks
        telling = asyncio.create_task(_tell(told, ctx))
        try:
            result = await tools.dispatch(call, listening(context, (*sinks, hear)))
            told.put_nowait(None)
            await asyncio.wait([telling], timeout=_TELLING_SECONDS)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
        return result

    async def _tell_of_changes(self, ctx: Any) -> None:
        """There is something to read on now, so the list has one tool more."""
        try:
            await self._changes.publish(ToolsListChanged())
            await ctx.session.send_tool_list_changed()
        except Exception as error:  # noqa: BLE001 - the client may be gone, or take no such word
            _LOG.debug("a client was not told of a changed list: %s", error)


async def _tell(told: asyncio.Queue[CallProgressed | None], ctx: Any) -> None:
    """Hands progress on; the protocol wants it to grow."""
    last = float("-inf")
    while (event := await told.get()) is not None:
        if event.done > last:
            last = event.done
            await ctx.session.report_progress(event.done, event.total, event.message or None)


def _session_of(ctx: Any) -> str:
    """The client's session where the way it comes by has sessions."""
    headers = getattr(ctx.request, "headers", None)
    found = headers.get("mcp-session-id") if headers is not None else None
    return str(found or "")


def _version() -> str:
    try:
        return importlib.metadata.version("toolhand")
    except importlib.metadata.PackageNotFoundError:
        return "0"
