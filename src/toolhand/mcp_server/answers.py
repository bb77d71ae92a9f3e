"""Tools and results in the protocol's words.

Source: https://modelcontextprotocol.io/specification/2025-11-25/server/tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types

from toolhand.core.errors import ToolError
from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import Language
from toolhand.core.messages import ToolResult
from toolhand.core.tools import Tool
from toolhand.core.untrusted import disarmed
from toolhand.tools.export import exported, wire_name

ERROR_NOTE: Final = "toolhand/error"
"""Under this key of a result's `_meta` an error's code stands, whether it may be tried again, and in how many seconds."""


def listed(tool: Tool) -> types.Tool:
    """A tool as a client lists it, with its effect as hints.

    Its name is one that every provider takes, since clients hand it on as it is; its own stands in the title.
    """
    shown, name = exported(tool, "mcp").schema, wire_name(tool.name)
    return types.Tool(
        name=name,
        title=tool.name if tool.name != name else None,
        description=shown.get("description") or None,
        input_schema=dict(shown["inputSchema"]),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.rules.effect == "reads",
            destructive_hint=tool.rules.effect == "destroys",
            idempotent_hint=tool.repeatable,
            open_world_hint=tool.rules.untrusted,
        ),
    )


def answer(result: ToolResult, language: Language) -> types.CallToolResult:
    """A call's result: text for a model, the value beside it for a program.

    What strangers wrote comes in its frame alone: a value beside it would reach a model without the frame.
    """
    if result.error is not None:
        return refusal(result.error, untrusted=result.untrusted)
    text = result_text(result, language)
    structured = None if result.untrusted or result.remark else _structured(result.data)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=structured
    )


def refusal(error: ToolError, *, untrusted: bool = False) -> types.CallToolResult:
    """An error as a result, which a model sees and can act on."""
    text = disarmed(error.sentence) if untrusted else error.sentence
    note: dict[str, Any] = {"code": str(error.code), "retryable": error.retryable}
    wait = error.details.get("retry_after")
    if isinstance(wait, int | float):
        note["retry_after"] = wait
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=True, _meta={ERROR_NOTE: note}
    )


def _structured(value: Any) -> dict[str, Any] | None:
    """An object, as every version of the protocol takes it; what is none is put into one, as the official SDK does."""
    plain = jsonable(value)
    if isinstance(plain, Mapping):
        return dict(plain)
    return {"result": plain} if isinstance(plain, list | int | float | bool) else None
