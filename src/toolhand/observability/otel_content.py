"""What users, models and tools said, as the OpenTelemetry conventions write it: JSON of messages with typed parts, masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolhand.core.messages import Message, Note, Opaque, Part, Reply, Text, ToolCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.observability.excerpts import PLAIN, Excerpts
from toolhand.tools.export import schema

CONTENT_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable by which an operator agrees to content in spans."""

_NONE: Final[Mapping[str, Tool]] = {}


def messages(
    role: str,
    said: str | Sequence[Message],
    most: int,
    excerpts: Excerpts = PLAIN,
    tools: Mapping[str, Tool] = _NONE,
) -> str:
    """A text, or the messages of a history, as JSON.

    Args:
        role: whose text it is; messages know their own.
        said: the text or the messages. Of a long history the end is kept.
        most: about how many characters there may be.
        excerpts: what must not be shown.
        tools: by name, so that what was sent to them under a misspelt sensitive name is not shown either.
    """
    if isinstance(said, str):
        return excerpts.json([{"role": role, "parts": [{"type": "text", "content": said}]}], most)
    written = [
        {
            "role": m.role,
            "parts": [_part(part, tools, most) for part in m.parts if not isinstance(part, Opaque)],
        }
        for m in said
    ]
    kept: list[Any] = []
    left = most
    for message in reversed(written):
        if left <= 0:
            break
        kept.insert(0, excerpts.value(message, left))
        left -= len(str(kept[0]))
    return excerpts.json(kept, 2 * most)


def reply_messages(
    reply: Reply, finish_reason: str, most: int, excerpts: Excerpts = PLAIN, tools: Mapping[str, Tool] = _NONE
) -> str:
    """What a model said and asked for, as JSON."""
    parts: list[Part] = [Text(reply.text)] if reply.text else []
    parts += (*reply.calls, *reply.broken)
    said = {
        "role": "assistant",
        "parts": [_part(part, tools, most) for part in parts],
        "finish_reason": finish_reason,
    }
    return excerpts.json([said], most)


def definitions(tools: Sequence[Tool], most: int) -> str:
    """The tools that a model was shown, as JSON; "" for none."""
    return PLAIN.json([schema(tool) for tool in tools], most) if tools else ""


def _part(part: Part, tools: Mapping[str, Tool], most: int) -> dict[str, Any]:
    match part:
        case Text(text=text) | Note(text=text):
            return {"type": "text", "content": text}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            of = Excerpts.of(tools.get(name), arguments)
            sent = arguments if of is PLAIN else of.value(arguments, most)
            return {"type": "tool_call", "id": call_id, "name": name, "arguments": sent}
        case ToolResult(call_id=call_id, error=error, data=data):
            response = data if error is None else {"error": str(error.code), "message": error.message}
            return {"type": "tool_call_response", "id": call_id, "response": response}
        case Opaque():
            return {"type": "reasoning"}
