"""`Toolset`: tools under one roof, to be combined, filtered, shown to a provider, and called."""

from __future__ import annotations

import itertools
import json
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, Unpack, cast

from toolhand.choosing.selection import selection_of
from toolhand.core.approvals import PENDING, direct_id, give_back
from toolhand.core.context import RunContext, several
from toolhand.core.errors import SettingsError, ToolDefinitionError
from toolhand.core.language import say
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.core.tokens import estimate_tokens
from toolhand.core.tools import Tool
from toolhand.execution.dispatch import Dispatcher
from toolhand.execution.layers import refuse_unserved
from toolhand.execution.running import run_blocking
from toolhand.observability import listening
from toolhand.observability.defaults import default_sinks
from toolhand.policies import Policy
from toolhand.policies.approval import Approval
from toolhand.policies.permission import Permission
from toolhand.policies.shrinking.read_result import READS_RESULTS
from toolhand.policies.shrinking.store import results_of
from toolhand.tools.collect import each_tool
from toolhand.tools.collection import ToolCollection
from toolhand.tools.export import Exported, exported, schema
from toolhand.tools.openai import from_openai

if TYPE_CHECKING:
    from types import TracebackType

    from toolhand.mcp import McpOptions
    from toolhand.openapi.options import OpenAPIOptions

_LOG: Final = logging.getLogger("toolhand")


class Toolset(ToolCollection):
    """An ordered, immutable set of tools. Combining and filtering give new ones, so that agents never share a change.

    Args:
        tools: tools, functions, OpenAI schemas, other toolsets, or an iterable of these.
        policies: the layers around each call, outermost first, instead of `default_policies()` and of any that the tools
            had. A tool keeps them, and what they have counted, in every toolset and agent that is made of this one; of two
            toolsets put together each tool keeps its own. Without `policies` a tool that has none gets default layers,
            which count for this toolset alone.

    Raises:
        ToolDefinitionError: when one of them cannot be described, or two have one name.
    """

    def __init__(self, tools: Any = (), *, policies: Sequence[Policy] | None = None) -> None:
        super().__init__(each_tool(tools) if policies is None else _behind(tuple(policies), each_tool(tools)))
        self._policies = policies
        self._numbers = itertools.count(1)
        self.live = _live_in(tools)
        self._given: Any = tools if self.live else ()
        self._newer: Toolset | None = None
        self.may_change = bool(self.live)
        """Whether `now` may give others."""

    @classmethod
    def from_openai(
        cls, schemas: Iterable[Mapping[str, Any]], functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> Self:
        """Tools that are only declared, from OpenAI function schemas, for `parse` or a gateway.

        Args:
            schemas: `{"type": "function", "function": {…}}` or the inner objects alone.
            functions: what runs, by name, where something shall.
        """
        return cls(from_openai(schemas, functions))

    @classmethod
    def from_openapi(
        cls, document: str | os.PathLike[str] | Mapping[str, Any], **options: Unpack[OpenAPIOptions]
    ) -> Self:
        """A tool for each operation of an OpenAPI document, 3.0 or 3.1: GET reads, DELETE destroys, the others write.

        Args:
            document: a dict, the path of a file in JSON or YAML, or an "http(s)://" address, which is waited for
                (`await toolhand.openapi.fetch_document(url)` where an event loop runs).
            options: see `OpenAPIOptions`.

        Raises:
            SettingsError: when the document cannot be used, or something is named that it does not have.
            ToolDefinitionError: when no operation is left.
            MissingExtraError: when it is YAML and the extra `openapi` is not installed.
        """
        from toolhand.openapi import openapi_tools  # noqa: PLC0415 - loads the HTTP client

        return cls(openapi_tools(document, **options))

    @staticmethod
    def from_mcp(
        server: Any, *, policies: Sequence[Policy] | None = None, **options: Unpack[McpOptions]
    ) -> LiveToolset:
        """The tools of one MCP server or of several, started when they are first needed, or by `async with`.

        Args:
            server: a command line ("npx -y some-server") or its words; an "http(s)://" address; a `.json` file or a dict with
                `mcpServers`, as other clients have; a dict of any of these by name.
            policies: as for `Toolset`.
            options: see `toolhand.mcp.McpOptions`.

        Raises:
            SettingsError: when no server is named, or an option is not known.
            MissingExtraError: when the extra `mcp` is not installed.
        """
        from toolhand.mcp import McpSource  # noqa: PLC0415 - for those who need it

        return LiveToolset(McpSource(server, options), policies=policies)

    def now(self) -> Toolset:
        """These tools as they are at this moment: another toolset where a server has changed its list, behind the same layers.

        A run asks this once, when it begins.
        """
        if self._newer is not None:
            return self._newer.now()
        if all(live.version == version for live, version in self.live):
            return self
        try:
            newer = Toolset(self._given, policies=self._policies)
        except ToolDefinitionError as error:
            _LOG.warning("the changed list of tools is not taken over: %s", error)
            self.live = [(live, live.version) for live, _ in self.live]
            return self
        self._newer = newer.behind_those_of(self)
        return self._newer

    def behind_those_of(self, other: Toolset) -> Self:
        """This toolset, new and not used yet, behind the layers of another, which keep what they have counted."""
        self._policies = other.dispatch.policies
        return self

    def combine(self, *others: Iterable[Tool]) -> Self:
        """These tools and the others'; those of a server stay up to date.

        Raises:
            ToolDefinitionError: when two of them have one name.
        """
        return self._of([self, *others])

    __add__ = combine

    def schemas(self, provider: str = "openai") -> list[dict[str, Any]]:
        """The tools' schemas in a provider's form, as copies.

        Args:
            provider: "openai", "openai-strict", "responses", "responses-strict", "anthropic", "gemini", "plain" (for servers
                that know little) or "mcp".

        Raises:
            SettingsError: for a form that is not known.
        """
        return [schema(tool, provider) for tool in self]

    def exported(self, provider: str = "openai") -> list[Exported]:
        """The same with what stands beside a schema: notes on what could not be said, and the way back for a call's arguments."""
        return [exported(tool, provider) for tool in self]

    @cached_property
    def tokens(self) -> int:
        """About how many tokens their schemas take of a prompt."""
        return estimate_tokens(json.dumps(self.schemas(), ensure_ascii=False)) if len(self) else 0

    @cached_property
    def dispatch(self) -> Dispatcher:
        """The one way for a call to these tools to become a result."""
        return Dispatcher(self, policies=self._policies)

    def offered(self, context: RunContext, hidden: frozenset[str] | None = None) -> Self:
        """The tools that may be shown to a model now: without those that the user may not call or that are out of order.

        Where tools are chosen (`Agent(choose=…)`), only the chosen ones, in the order in which they came.

        Args:
            context: the run's.
            hidden: what `dispatch.hidden` has just given, where that is known.
        """
        hidden = self.dispatch.hidden(context) if hidden is None else hidden
        if (selection := selection_of(context)) is not None:
            return selection.kept(self, hidden, self._of)
        return self.filter(lambda tool: tool.name not in hidden) if hidden else self

    def extended(self, *tools: Tool) -> Self:
        """These tools and some more behind the same layers, which keep what they have counted."""
        return type(self)([*self, *tools]).behind_those_of(self)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        user: str = "",
        session: str = "",
        permissions: Collection[str] = (),
        roles: Collection[str] = (),
        context: RunContext | None = None,
        **facts: Any,
    ) -> ToolResult:
        """Calls one tool through every policy, as the loop does. It never raises for a wrong name or argument.

        Args:
            name: the tool's name.
            arguments: what a model would send.
            user: who asks.
            session: the conversation.
            permissions: what the user holds.
            roles: what the user is, for access rules.
            context: the whole context instead.
            facts: values for `Injected` parameters.

        Raises:
            SettingsError: when something stands beside a context that the context itself says, or one string for several names.
        """
        if context is not None:
            beside = {"user": user, "session": session, "permissions": permissions, "roles": roles}
            _refuse_beside([*(key for key, value in beside.items() if value), *facts])
        if context is None:
            context = RunContext(
                user=user,
                session_id=session,
                permissions=several("permissions", permissions),
                roles=several("roles", roles),
                facts=facts,
            )
            context = listening(context, default_sinks())
        if not context.turn:  # else in a run of an agent, whose model can read on
            results_of(context).is_readable = any(READS_RESULTS in tool.rules.tags for tool in self)
        sent = arguments or {}
        may_ask = any(isinstance(layer, Approval | Permission) for layer in self._layers_of(name))
        made = direct_id(name, sent, context) if may_ask else f"call_{next(self._numbers)}"
        result = await self.dispatch(ToolCall(id=made, name=name, arguments=sent), context)
        if PENDING in result.notes:
            give_back(made)
        return result

    def _layers_of(self, name: str) -> Iterator[Policy]:
        """The layers that a call may go through, those of the tools that stand in for its tool too."""
        tool, seen = self.lookup(name), set[str]()
        while tool is not None and tool.name not in seen:
            seen.add(tool.name)
            yield from self.dispatch.layers(tool)
            tool = tool.rules.fallback

    def call_sync(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> ToolResult:
        """`call` for code that is not async."""
        return run_blocking(self.call(name, arguments, **options))


class ToolSource(Protocol):
    """Where tools come from that may change, such as a server."""

    @property
    def version(self) -> int:
        """Another number after each change."""
        ...

    def tools(self) -> Sequence[Tool]:
        """The tools as they are now; what has to be started is started and waited for."""
        ...

    async def open(self) -> None:
        """Starts what has to be started."""
        ...

    async def close(self) -> None:
        """Ends what was started."""
        ...


class LiveToolset(Toolset):
    """The tools of a source that has to be opened and may change: opened when they are first looked at, or by `async with`.

    In each run of an agent they are what they were when it began. What is made of it by `filter`, `only`, `prefix` and the like
    is a plain toolset of that moment, whose calls still reach the source; `+` and a list with other tools stay up to date.

    Args:
        source: where they come from.
        policies: as for `Toolset`.
    """

    def __init__(self, source: ToolSource, *, policies: Sequence[Policy] | None = None) -> None:
        super().__init__()
        self.source = source
        self._wanted = policies
        self.may_change = True
        self._taken: tuple[int, Toolset] | None = None

    @property
    def version(self) -> int:
        """Another number after each change of the source."""
        return self.source.version

    async def __aenter__(self) -> Self:
        await self.source.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> Self:
        self.now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_sync()

    async def close(self) -> None:
        """Ends what was started; it is started again when it is needed again."""
        await self.source.close()

    def close_sync(self) -> None:
        """`close` for code that is not async."""
        run_blocking(self.source.close())

    def now(self) -> Toolset:
        """The tools as they are at this moment."""
        tools, version = self.source.tools(), self.source.version
        if self._taken is None or self._taken[0] != version:
            made = Toolset(tools, policies=self._wanted)
            self._taken = (version, made.behind_those_of(self._taken[1]) if self._taken else made)
        return self._taken[1]

    @property
    def _by_name(self) -> dict[str, Tool]:
        return self.now()._tools  # noqa: SLF001 - one of this class

    def _of(self, tools: Iterable[Any]) -> Self:
        return cast("Self", Toolset(tools))

    def lookup(self, name: str) -> Tool | None:
        """As for any toolset, among the tools of this moment."""
        return self.now().lookup(name)

    @property
    def dispatch(self) -> Dispatcher:
        """The one way for a call to the tools of this moment to become a result."""
        return self.now().dispatch

    @property
    def tokens(self) -> int:
        """How many tokens their schemas have at this moment."""
        return self.now().tokens

    def extended(self, *tools: Tool) -> Self:
        """The tools of this moment and some more, behind the same layers."""
        return cast("Self", self.now().extended(*tools))


def _live_in(tools: Any) -> list[tuple[LiveToolset, int]]:
    """The toolsets among some tools whose tools may change, with what they are at now."""
    if isinstance(tools, LiveToolset):
        return [(tools, tools.version)]
    if isinstance(tools, Toolset):
        return list(tools.live)
    if isinstance(tools, list | tuple):
        return [found for part in tools for found in _live_in(part)]
    return []


def _refuse_beside(options: Sequence[str]) -> None:
    """Refuses what stands beside a context, and would count for nothing."""
    if options:
        said = ", ".join(options)
        raise SettingsError(
            say(
                f"a call with context=… takes everything from it: leave out {said}, or put it into the RunContext",
                f"给出 context=… 的调用一切以它为准：请去掉 {said}，或把它写进 RunContext",
            )
        )


def _behind(policies: tuple[Policy, ...], tools: Iterable[Tool]) -> list[Tool]:
    behind = list(tools)
    refuse_unserved(behind, policies)
    return [replace(tool, policies=policies) for tool in behind]
