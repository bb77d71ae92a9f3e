"""Histories for tests: made by hand or by chance, and what holds of every valid one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from toolhand.core.messages import Message, Note, Text, ToolCall, ToolResult, Value, system, user
from toolhand.models.wire import wire_messages


def asked(*calls: ToolCall, text: str = "") -> Message:
    return Message(role="assistant", parts=(*((Text(text),) if text else ()), *calls))


def answered(*results: tuple[str, Any], name: str = "look_up") -> Message:
    parts = tuple(ToolResult(call_id=i, name=name, outcome=Value(data)) for i, data in results)
    return Message(role="tool", parts=parts)


def said(text: str) -> Message:
    return Message(role="assistant", parts=(Text(text),))


def exchange(
    number: int, *, rows: int = 5, steps: int = 1, words: str = "What is in store {number}?"
) -> list[Message]:
    """A user's message, some calls with a table each, and an answer."""
    messages = [user(words.format(number=number))]
    for step in range(steps):
        call_id = f"c{number}_{step}"
        table = [{"id": i, "name": f"item {number}-{i}", "price": i * 1.5} for i in range(rows)]
        messages += [
            asked(ToolCall(id=call_id, name="look_up", arguments={"store": number})),
            answered((call_id, table)),
        ]
    return [*messages, said(f"There are {rows} things in store {number}.")]


@st.composite
def valid_histories(draw: st.DrawFn) -> list[Message]:
    """Histories as a run leaves them: several calls in a reply, notes, with and without a system message."""
    messages: list[Message] = [system("Be brief.")] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 6))):
        messages.append(user(draw(st.sampled_from(["hello", "天气怎么样？", "x" * 300]))))
        for _ in range(draw(st.integers(0, 4))):
            calls, results = [], []
            for _ in range(draw(st.integers(1, 3))):
                number += 1
                name = draw(st.sampled_from(["look_up", "add", "note"]))
                calls.append(ToolCall(id=f"c{number}", name=name, arguments={"n": number}))
                data = draw(st.sampled_from(["甲", "short", 7, None, ["row"] * 200, {"text": "long " * 300}]))
                results.append(ToolResult(call_id=f"c{number}", name=name, outcome=Value(data)))
            messages.append(asked(*calls, text=draw(st.sampled_from(["", "I look."]))))
            messages.append(Message(role="tool", parts=tuple(results)))
            if draw(st.booleans()) and draw(st.booleans()):
                messages.append(Message(role="user", parts=(Note("Mend it."),)))
        if draw(st.booleans()):
            messages.append(said("the answer"))
    return messages


def on_wire(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [entry for message in messages for entry in wire_messages(message, "en")]


def check_invariants(wire: Sequence[dict[str, Any]]) -> None:
    """What every provider asks of a list of messages."""
    waiting: set[str] = set()
    seen: set[str] = set()
    for entry in wire:
        if entry["role"] == "tool":
            assert entry["tool_call_id"] in waiting, "a result without its call right before it"
            waiting.remove(entry["tool_call_id"])
            assert isinstance(entry["content"], str)
            continue
        assert not waiting, f"calls without results: {waiting}"
        if entry["role"] == "assistant":
            assert "content" in entry
            for call in entry.get("tool_calls", []):
                assert call["id"]
                assert call["id"] not in seen
                assert call["function"]["name"]
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                seen.add(call["id"])
                waiting.add(call["id"])
    assert not waiting
    assert all(entry["role"] != "system" for entry in wire[1:])
