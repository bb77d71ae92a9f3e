"""Mends what servers get wrong in their answers, so that one odd tool or block does not take all the others with it.

The SDK refuses a whole list for one tool that is not as the specification says, and a whole result for one block.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Self

import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import TypeAdapter, ValidationError

_LOG: Final = logging.getLogger("toolhand.mcp")

_BLOCK: Final[TypeAdapter[Any]] = TypeAdapter(types.ContentBlock)
_OPTIONAL: Final = ("annotations", "outputSchema", "icons", "execution", "title", "_meta", "description")


class Mended(AbstractAsyncContextManager[Any]):
    """A transport whose incoming messages are mended.

    Args:
        transport: the SDK's or ours.
        name: the server's, for warnings.
    """

    def __init__(self, transport: Any, name: str) -> None:
        self._transport, self._name = transport, name

    async def __aenter__(self) -> tuple[Any, Any]:
        received, sent = await self._transport.__aenter__()
        return _Stream(received, self._name), sent

    async def __aexit__(self, *error: object) -> Any:
        return await self._transport.__aexit__(*error)


class _Stream:
    """A stream of messages, each mended when it is taken."""

    def __init__(self, inner: Any, name: str) -> None:
        self._inner, self._name = inner, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return mended(await self._inner.__anext__(), self._name)

    async def receive(self) -> Any:
        """The next message."""
        return mended(await self._inner.receive(), self._name)

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._inner.__aexit__(*error)


def mended(message: Any, name: str) -> Any:
    """A message as it came, or with what is wrong in its tools or content put right.

    Args:
        message: from a server.
        name: the server's, for warnings.
    """
    if not isinstance(message, SessionMessage) or not isinstance(message.message, types.JSONRPCResponse):
        return message
    result = message.message.result
    if isinstance(result.get("tools"), list):
        tools = [_tool(tool, name) for tool in result["tools"]]
        changed = {**result, "tools": [tool for tool in tools if tool is not None]}
    elif "content" in result or "structuredContent" in result:
        content = result.get("content")
        if isinstance(content, Mapping) and "role" in result:
            return message  # no result of a tool
        changed = {
            **result,
            "content": [_block(one) for one in (content if isinstance(content, list) else [])],
        }
        if isinstance(content, str):
            changed["content"] = [{"type": "text", "text": content}]
    else:
        return message
    if changed != result:
        message.message.result = changed
    return message


def _tool(tool: Any, name: str) -> Any:
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str) or not tool["name"]:
        _LOG.warning("the MCP server '%s' lists a tool without a name: it is left out", name)
        return None
    found = dict(tool)
    schema = found.get("inputSchema")
    schema = dict(schema) if isinstance(schema, Mapping) else {}
    schema = {key: value for key, value in schema.items() if value is not None}
    found["inputSchema"] = {**schema, "type": "object"}
    output = found.get("outputSchema")
    if output is not None and not (isinstance(output, Mapping) and output.get("type") == "object"):
        del found["outputSchema"]
    for key in ("", *_OPTIONAL):
        found.pop(key, None)
        try:
            types.Tool.model_validate(found, by_name=False)
        except ValidationError:
            continue
        return found
    _LOG.warning(
        "the MCP server '%s' lists the tool '%s' in a way that cannot be read: it is left out",
        name,
        tool["name"],
    )
    return None


def _block(block: Any) -> Any:
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        text = block if isinstance(block, str) else json.dumps(block, ensure_ascii=False, default=str)
        return {"type": "text", "text": text}
    return block
