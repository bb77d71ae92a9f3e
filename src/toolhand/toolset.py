"""`Toolset`: tools under one roof, to be combined, filtered, shown to a provider, and called."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, Unpack

from toolhand.core.context import RunContext
from toolhand.core.language import chosen_language
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.core.tokens import estimate_tokens
from toolhand.core.tools import Tool
from toolhand.execution.dispatch import Dispatcher
from toolhand.execution.running import run_blocking
from toolhand.observability import listening
from toolhand.observability.defaults import default_sinks
from toolhand.policies import Policy
from toolhand.tools.collect import each_tool
from toolhand.tools.collection import ToolCollection
from toolhand.tools.export import Exported, exported, schema
from toolhand.tools.openai import from_openai

if TYPE_CHECKING:
    from toolhand.openapi.options import OpenAPIOptions


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

    def offered(self, context: RunContext) -> Self:
        """The tools that may be shown to a model now: without those that the user may not call or that are out of order."""
        hidden = self.dispatch.hidden(context)
        return self.filter(lambda tool: tool.name not in hidden) if hidden else self

    def extended(self, *tools: Tool) -> Self:
        """These tools and some more behind the same layers, which keep what they have counted."""
        extended = type(self)([*self, *tools])
        extended._policies = self.dispatch.policies  # noqa: SLF001 - one of this class
        return extended

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
        """
        if context is None:
            context = RunContext(
                user=user,
                session_id=session,
                permissions=frozenset(permissions),
                roles=frozenset(roles),
                facts=facts,
                language=chosen_language() or "en",
            )
            context = listening(context, default_sinks())
        call = ToolCall(id=f"call_{next(self._numbers)}", name=name, arguments=arguments or {})
        return await self.dispatch(call, context)

    def call_sync(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> ToolResult:
        """`call` for code that is not async."""
        return run_blocking(self.call(name, arguments, **options))


def _behind(policies: tuple[Policy, ...], tools: Iterable[Tool]) -> list[Tool]:
    return [replace(tool, policies=policies) for tool in tools]
