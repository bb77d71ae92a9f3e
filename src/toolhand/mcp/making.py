"""Makes a tool of what a server lists."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolhand.arguments.masking import masked
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import Language
from toolhand.core.tools import Effect, Rules, Tool
from toolhand.core.untrusted import disarmed
from toolhand.mcp.connection import Connection
from toolhand.mcp.results import resource_value, value_of
from toolhand.mcp.thread import there
from toolhand.tools.inline import inlined

LONGEST_DESCRIPTION: Final = 2000
LONGEST_PROGRESS: Final = 200
LONGEST_NAME: Final = 128

_CONTEXT: Final = "run context"
"""The hidden parameter for the run's facts; no server can have one of this name, as it holds a blank."""

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "refused": "The server '{server}' did not accept the call: {text}.",
        "garbled": "The server '{server}' answered '{name}' with something other than it declares.",
        "list": "Lists the resources of {server}: addresses, names and what they are.",
        "read": "Reads one resource of {server} by its address.",
        "uri": "the resource's address, as the list or a result gives it",
    },
    "zh": {
        "refused": "服务器“{server}”没有接受调用：{text}。",
        "garbled": "服务器“{server}”对“{name}”的答复与其声明的格式不符。",
    },
}

_CODES: Final = {
    types.INVALID_PARAMS: (ErrorCode.INVALID_ARGUMENT, True),
    types.METHOD_NOT_FOUND: (ErrorCode.UNKNOWN_TOOL, False),
    types.INTERNAL_ERROR: (ErrorCode.UPSTREAM, False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How the tools of one source are run.

    Args:
        timeout: seconds for a call.
        retries: how often a call that failed in passing is tried again, where that is safe.
        untrusted: whether results are marked as written by others.
    """

    timeout: float
    retries: int = 0
    untrusted: bool = True


def tool_of(listed: types.Tool, connection: Connection, manner: Manner) -> Tool:
    """The tool that stands for one of a server's.

    Args:
        listed: as the server describes it. Its words, the name among them, are a stranger's: what could pass for a role or a
            call is broken.
        connection: through which it is called.
        manner: how it is run.
    """
    rules = _rules(listed.annotations, connection, manner)
    secrets = connection.server.secrets
    is_repeatable = rules.effect == "reads" or rules.idempotent

    async def call(**sent: Any) -> Any:
        context: RunContext = sent.pop(_CONTEXT)
        loop = asyncio.get_running_loop()

        async def progress(done: float, total: float | None, message: str | None) -> None:
            said = disarmed(message or "")[:LONGEST_PROGRESS]
            loop.call_soon_threadsafe(context.progress, done, total, said)

        work = connection.call(listed.name, sent, is_repeatable=is_repeatable, progress=progress)
        result = await _asked(work, connection, listed.name, context)
        return value_of(result, listed.output_schema, secrets, context.language)

    title = listed.title or (listed.annotations.title if listed.annotations else None)
    return Tool(
        name=_name(listed.name),
        description=disarmed(listed.description or title or "")[:LONGEST_DESCRIPTION],
        parameters=_parameters(listed.input_schema),
        function=call,
        validate=dict,  # the server has its own defaults: only what was sent goes out
        rules=rules,
        injected={_CONTEXT: "context"},
    )


async def _asked(work: Any, connection: Connection, name: str, context: RunContext) -> Any:
    """The server's answer, or why there is none, in words that fit a model."""
    words, server = _WORDS[context.language], connection.server
    try:
        return await there(work)
    except MCPError as error:
        if error.code == types.REQUEST_TIMEOUT:
            raise TimeoutError from None
        code, retryable = _CODES.get(error.code, (ErrorCode.UPSTREAM, False))
        text = str(masked(error.message, server.secrets))[:500].rstrip("。. ")
        message = words["refused"].format(server=server.name, text=text)
        raise ToolFailure(message, code=code, retryable=retryable) from None
    except (RuntimeError, ValidationError) as error:
        message = words["garbled"].format(server=server.name, name=name)
        raise ToolFailure(message, code=ErrorCode.UPSTREAM) from error


def _rules(annotations: types.ToolAnnotations | None, connection: Connection, manner: Manner) -> Rules:
    name = connection.server.name
    return Rules(
        effect=effect_of(annotations),
        idempotent=annotations is not None and annotations.idempotent_hint is True,
        category=name,
        tags=frozenset({"mcp", name}),
        timeout=manner.timeout,
        retries=manner.retries,
        upstream=f"mcp:{name}",
        untrusted=manner.untrusted,
    )


def effect_of(annotations: types.ToolAnnotations | None) -> Effect:
    """What a tool does, as its server hints.

    A tool that hints at nothing writes. One that says that it writes, but not how, destroys, as the specification has it.
    Source: https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations.
    """
    if annotations is None or (annotations.read_only_hint is None and annotations.destructive_hint is None):
        return "writes"
    if annotations.read_only_hint:
        return "reads"
    return "writes" if annotations.destructive_hint is False else "destroys"


def _name(given: str) -> str:
    """A server's name for a tool where it is one; without what could be more than a name where it is not."""
    return disarmed("".join(one if one.isprintable() else "_" for one in given))[:LONGEST_NAME]


def _parameters(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = _disarmed(inlined(schema))
    found.setdefault("type", "object")
    if not isinstance(found.get("properties"), Mapping):
        found["properties"] = {}
        found.setdefault(
            "additionalProperties", True
        )  # it says nothing of its arguments: they pass as they come
    return {key: value for key, value in found.items() if key != "$schema"}


def _disarmed(node: Any) -> Any:
    """A schema whose words for a reader are harmless; its names and values stay as they are."""
    if isinstance(node, list):
        return [_disarmed(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    return {
        key: disarmed(value)[:LONGEST_DESCRIPTION]
        if key in ("description", "title") and isinstance(value, str)
        else _disarmed(value)
        for key, value in node.items()
    }


def resource_tools(connection: Connection, manner: Manner) -> list[Tool]:
    """Two tools for a server's resources: one lists them, one reads one."""
    name, words = connection.server.name, _WORDS["en"]

    async def list_resources(**sent: Any) -> Any:
        context: RunContext = sent.pop(_CONTEXT)
        found = await _asked(connection.resources(), connection, "list_resources", context)
        return [
            {
                key: value
                for key, value in (
                    ("uri", str(one.uri)),
                    ("name", one.name),
                    ("description", one.description),
                )
                if value
            }
            for one in found
        ]

    async def read_resource(**sent: Any) -> Any:
        context: RunContext = sent.pop(_CONTEXT)
        found = await _asked(connection.read(sent["uri"]), connection, "read_resource", context)
        values = [masked(resource_value(one), connection.server.secrets) for one in found.contents]
        return values[0] if len(values) == 1 else values

    rules = replace(_rules(None, connection, manner), effect="reads")
    uri = {
        "type": "object",
        "properties": {"uri": {"type": "string", "description": words["uri"]}},
        "required": ["uri"],
    }
    shown = name.replace("_", " ")
    return [
        Tool(
            name=f"{name}_{kind}",
            description=words[word].format(server=shown),
            parameters=parameters,
            function=function,
            validate=dict,
            rules=rules,
            injected={_CONTEXT: "context"},
        )
        for kind, word, parameters, function in (
            ("list_resources", "list", {"type": "object", "properties": {}, "required": []}, list_resources),
            ("read_resource", "read", uri, read_resource),
        )
    ]
