"""Histories to and from other programs: `to_openai`, `to_anthropic`, and `heal` for what comes in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import Language
from toolhand.core.messages import Message, Note, Text, ToolCall, ToolResult
from toolhand.models.wire import wire_messages
from toolhand.sessions.healing import Healed, HistoryError, heal
from toolhand.sessions.healing.reading import IS_ERROR
from toolhand.tools.export import wire_name

__all__ = ["Healed", "HistoryError", "heal", "to_anthropic", "to_openai"]


def to_openai(
    messages: Iterable[Message | dict[str, Any]], language: Language = "en"
) -> list[dict[str, Any]]:
    """Messages in the shape of OpenAI's chat completions; mended first where they need it.

    Args:
        messages: `run.messages`, or dicts in any shape that `heal` reads.
        language: of the words for an error and for an empty result.

    Raises:
        HistoryError: when a result could belong to several calls.
    """
    healed = heal(messages, keeps_pending=True, language=language)
    return [entry for message in healed.messages for entry in wire_messages(message, language)]


def to_anthropic(messages: Iterable[Message | dict[str, Any]], language: Language = "en") -> dict[str, Any]:
    """Messages in the shape of Anthropic's messages API: `{"system": …, "messages": […]}`; mended first where they need it.

    Roles take turns, a reply's calls come last in it, and their results come first in the user's turn that follows.

    Args:
        messages: `run.messages`, or dicts in any shape that `heal` reads.
        language: of the words for an error and for an empty result.

    Raises:
        HistoryError: when a result could belong to several calls.

    Source: https://docs.anthropic.com/en/api/messages.
    """
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    instructions = ""
    for message in heal(messages, language=language).messages:
        if message.role == "system":
            instructions = message.text
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(_blocks(message, language))
    if turns and turns[0][0] == "assistant":  # the API wants the user to begin
        turns.insert(0, ("user", [_text("…")]))
    made = [{"role": role, "content": _in_order(blocks)} for role, blocks in turns if blocks]
    return {"system": instructions, "messages": made} if instructions else {"messages": made}


def _blocks(message: Message, language: Language) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Text | Note):
            if part.text.strip():  # an empty text is refused
                blocks.append(_text(part.text))
        elif isinstance(part, ToolCall):
            arguments = jsonable(dict(part.arguments))
            blocks.append(
                {"type": "tool_use", "id": part.id, "name": wire_name(part.name), "input": arguments}
            )
        elif isinstance(part, ToolResult):
            block = {
                "type": "tool_result",
                "tool_use_id": part.call_id,
                "content": result_text(part, language),
            }
            is_error = part.error is not None or part.notes.get(IS_ERROR)
            blocks.append({**block, "is_error": True} if is_error else block)
    return blocks


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _in_order(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results before texts, texts before calls."""
    rank = {"tool_result": 0, "text": 1, "tool_use": 2}
    return sorted(blocks, key=lambda block: rank[block["type"]])
