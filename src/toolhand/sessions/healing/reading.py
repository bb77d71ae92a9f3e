"""Dicts as messages: OpenAI's chat and responses shapes and Anthropic's, also mixed, as clients really keep them.

Sources: https://platform.openai.com/docs/api-reference/chat/create, https://platform.openai.com/docs/api-reference/responses,
https://docs.anthropic.com/en/api/messages. What has no id or a wrong one is kept as it is: to mend it is `mend`'s business.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolhand.core.history_events import Repair
from toolhand.core.language import say
from toolhand.core.messages import Message, Part, Role, Text, ToolCall, ToolResult, Value
from toolhand.parsing.loose import LooseError, read_value
from toolhand.sessions.healing.problems import HistoryError

_ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TEXTS: Final = frozenset({"text", "input_text", "output_text", "refusal"})
_SILENT: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})

IS_ERROR: Final = "is_error"
"""The note of a result that its sender marked as an error."""


def read_history(given: Iterable[Any]) -> tuple[list[Message], list[int], list[Repair]]:
    """Messages in any of the shapes as neutral ones.

    Args:
        given: dicts, `Message`s, or objects with `model_dump`.

    Returns:
        The messages, where each of them stood, and what was mended in reading.

    Raises:
        HistoryError: for what is no message.
    """
    messages: list[Message] = []
    places: list[int] = []
    repairs: list[Repair] = []
    for place, entry in enumerate(given):
        for message in _read(entry, place, repairs):
            messages.append(message)
            places.append(place)
    return messages, places, repairs


def _read(entry: Any, place: int, repairs: list[Repair]) -> Iterator[Message]:
    if isinstance(entry, Message):
        yield entry
        return
    if not isinstance(entry, Mapping) and hasattr(entry, "model_dump"):
        entry = entry.model_dump(exclude_none=True)
    if not isinstance(entry, Mapping):
        own = type(entry).__name__
        said = say(f"a dict was expected, and this is {own}", f"这里应是 dict，而不是 {own}")
        raise HistoryError("not_a_message", place, said)
    kind = entry.get("type")
    if kind == "function_call":
        yield Message(role="assistant", parts=(_call(entry, place, repairs),))
    elif kind == "function_call_output":
        yield Message(
            role="tool", parts=(_result(entry.get("call_id"), "", entry.get("output"), place, repairs),)
        )
    elif kind in _SILENT:
        repairs.append(Repair(kind="reasoning_left_out", place=place))
    else:
        yield from _of_role(entry, place, repairs)


def _of_role(entry: Mapping[str, Any], place: int, repairs: list[Repair]) -> Iterator[Message]:
    role = _ROLES.get(str(entry.get("role", "")))
    if role is None:
        known = ", ".join(dict.fromkeys(_ROLES.values()))
        own = repr(entry.get("role"))
        said = say(f"its role is {own}; there is: {known}", f"它的 role 是 {own}；可用：{known}")
        raise HistoryError("unknown_role", place, said)
    if role == "tool":
        call_id = entry.get("tool_call_id") or entry.get("call_id")
        yield Message(
            role="tool", parts=(_result(call_id, entry.get("name"), entry.get("content"), place, repairs),)
        )
        return
    parts = [*_parts(entry.get("content"), place, repairs)]
    parts += [_call(call, place, repairs) for call in _calls(entry)]
    results = tuple(part for part in parts if isinstance(part, ToolResult))
    others = tuple(part for part in parts if not isinstance(part, ToolResult))
    if results:
        yield Message(role="tool", parts=results)
    if others or not results:
        yield Message(role=role, parts=others or (Text(""),))


def _calls(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = entry.get("tool_calls")
    found = calls if isinstance(calls, list) else [calls]
    if isinstance(entry.get("function_call"), Mapping) and not any(found):
        found = [entry["function_call"]]
    return [call for call in found if isinstance(call, Mapping)]


def _parts(content: Any, place: int, repairs: list[Repair]) -> Iterator[Part]:
    """A content's parts: it may be a text, a list of blocks, one block, or nothing."""
    if isinstance(content, str):
        if content:
            yield Text(content)
        return
    for block in content if isinstance(content, list | tuple) else [content]:
        if isinstance(block, str):
            yield Text(block)
        elif not isinstance(block, Mapping):
            continue
        elif block.get("type", "text") in _TEXTS:
            yield Text(str(block.get("text") or block.get("refusal") or ""))
        elif block.get("type") == "tool_use":
            yield _call({**block, "arguments": block.get("input")}, place, repairs)
        elif block.get("type") == "tool_result":
            is_error = bool(block.get(IS_ERROR))
            yield _result(
                block.get("tool_use_id"), "", block.get("content"), place, repairs, is_error=is_error
            )
        elif block.get("type") in _SILENT:
            repairs.append(Repair(kind="reasoning_left_out", place=place))
        else:
            repairs.append(Repair(kind="content_left_out", place=place))
            yield Text(f"({block.get('type')})")


def _call(entry: Mapping[str, Any], place: int, repairs: list[Repair]) -> ToolCall:
    function = entry.get("function")
    inner = function if isinstance(function, Mapping) else entry
    call_id = str(entry.get("call_id") or entry.get("id") or "")
    arguments, mended = _arguments(inner.get("arguments"))
    if mended:
        repairs.append(Repair(kind=mended, place=place, call_id=call_id))
    return ToolCall(id=call_id, name=str(inner.get("name") or ""), arguments=arguments)


def _arguments(sent: Any) -> tuple[Mapping[str, Any], str]:
    """A call's arguments, and what was mended in them."""
    if isinstance(sent, Mapping):
        return dict(sent), ""
    if sent is None or (isinstance(sent, str) and not sent.strip()):
        return {}, ""
    if not isinstance(sent, str):
        return {}, "arguments_unreadable"
    try:
        value = json.loads(sent)
    except (ValueError, RecursionError):
        try:
            loose = read_value(sent)
        except (LooseError, RecursionError):
            return {}, "arguments_unreadable"
        if isinstance(loose.value, dict) and loose.is_complete and not sent[loose.end :].strip():
            return loose.value, "arguments_mended"
        return {}, "arguments_unreadable"
    if isinstance(value, str):  # JSON in JSON, as some clients store it
        inner, mended = _arguments(value)
        return inner, mended or "arguments_mended"
    return (value, "") if isinstance(value, dict) else ({}, "arguments_unreadable")


def _result(
    call_id: Any, name: Any, content: Any, place: int, repairs: list[Repair], *, is_error: bool = False
) -> ToolResult:
    if isinstance(content, str | list | tuple) or content is None:
        texts = [part.text for part in _parts(content, place, repairs) if isinstance(part, Text)]
        content = "\n".join(texts)
    notes = {IS_ERROR: True} if is_error else {}
    return ToolResult(call_id=str(call_id or ""), name=str(name or ""), outcome=Value(content), notes=notes)
