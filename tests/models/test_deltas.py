"""Streamed replies: pieces of calls as providers send them, and bytes cut anywhere."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.core.errors import ModelError
from toolhand.core.tools import Tool
from toolhand.models.deltas import CallAssembler, EventDecoder, StreamedOutput
from toolhand.tools.export import wire_name

CASES = json.loads((Path(__file__).parent.parent / "cases" / "models" / "deltas.json").read_text("utf-8"))


def chunk(delta: Any, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def read(arguments: Any) -> Any:
    if isinstance(arguments, str):
        return json.loads(arguments) if arguments else None
    return arguments


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_pieces_of_calls(case: dict[str, Any]) -> None:
    streamed = StreamedOutput([Tool(name=name) for name in case.get("declared", ())])
    for entries in case["entries"]:
        assert streamed.feed(chunk({"tool_calls": entries})) == ""
    streamed.feed(chunk({}, "tool_calls"))
    output = streamed.finish()
    assert [[c.id, c.name, read(c.arguments)] for c in output.calls] == case["calls"]
    assert output.finish_reason == "tool_calls"


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=40),
    order=st.randoms(use_true_random=False),
    count=st.integers(1, 4),
)
def test_any_cut_and_any_interleaving_of_well_numbered_calls_gives_the_same(
    sizes: list[int], order: Any, count: int
) -> None:
    texts = [json.dumps({"q": "杭州" * i, "n": i}, ensure_ascii=False) for i in range(count)]
    queues = []
    for index, text in enumerate(texts):
        pieces = [{"index": index, "id": f"c{index}", "function": {"name": "find"}}]
        start, size = 0, iter(sizes * 40)
        while start < len(text):
            step = next(size)
            pieces.append({"index": index, "function": {"arguments": text[start : start + step]}})
            start += step
        queues.append(pieces)
    calls = CallAssembler(["find"])
    for queue in queues:  # every call is opened in order, as servers do
        calls.feed(queue.pop(0))
    while any(queues):
        calls.feed(order.choice([queue for queue in queues if queue]).pop(0))
    assert [(c.id, c.name, c.arguments) for c in calls.calls()] == [
        (f"c{i}", "find", text) for i, text in enumerate(texts)
    ]


def test_text_thinking_and_usage() -> None:
    streamed = StreamedOutput()
    pieces = [
        streamed.feed(chunk({"role": "assistant", "content": None, "reasoning_content": "想"})),
        streamed.feed(chunk({"content": "你"})),
        streamed.feed(chunk({"content": [{"type": "text", "text": "好"}], "reasoning_content": "想"})),
        streamed.feed(chunk(None, "stop")),
        streamed.feed({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
    ]
    output = streamed.finish()
    assert pieces == ["", "你", "好", "", ""]
    assert (output.text, output.thinking, output.finish_reason) == ("你好", "想想", "stop")
    assert (output.usage.input_tokens, output.usage.output_tokens, output.usage.requests) == (5, 2, 1)


def test_a_legacy_function_call_in_pieces() -> None:
    streamed = StreamedOutput()
    streamed.feed(chunk({"function_call": {"name": "f", "arguments": '{"x"'}}))
    streamed.feed(chunk({"function_call": {"arguments": ": 1}"}}, "function_call"))
    output = streamed.finish()
    assert [(c.name, c.arguments) for c in output.calls] == [("f", '{"x": 1}')]
    assert output.finish_reason == "tool_calls"


def test_names_on_the_wire_become_the_tools_own() -> None:
    streamed = StreamedOutput([Tool(name="查天气")])
    streamed.feed(chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": wire_name("查天气")}}]}))
    assert [c.name for c in streamed.finish().calls] == ["查天气"]


def test_a_call_that_broke_off_counts_as_cut() -> None:
    streamed = StreamedOutput()
    streamed.feed(
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x'}}]})
    )
    assert not streamed.is_finished
    assert streamed.finish().finish_reason == "length"


def test_an_error_in_the_stream() -> None:
    with pytest.raises(ModelError, match="overloaded") as caught:
        StreamedOutput().feed({"error": {"message": "overloaded", "code": 503}})
    assert (caught.value.status, caught.value.retryable) == (503, True)


EVENTS = (
    ': comment\r\n\r\nevent: message\ndata: {"a": "杭州🙂"}\n\ndata:{"a": 2}\r\rdata: {"a":\ndata: 3}\n\n'
    'data: {"a": 4}\ndata: {"a": 5}\nid: 7\n\ndata: [DONE]\n\n'
).encode()


@given(cuts=st.lists(st.integers(0, len(EVENTS)), max_size=12))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(EVENTS)]
    events = EventDecoder()
    chunks = [c for a, b in pairwise(edges) for c in events.feed(EVENTS[a:b])]
    assert chunks == [{"a": "杭州🙂"}, {"a": 2}, {"a": 3}, {"a": 4}, {"a": 5}]
    assert events.is_done


def test_a_stream_without_a_last_line_end() -> None:
    events = EventDecoder()
    assert events.feed(b'\xef\xbb\xbfdata: {"a": 1}') == []
    assert events.feed(b"", is_last=True) == [{"a": 1}]


def test_bare_json_lines() -> None:
    assert EventDecoder().feed(b'{"a": 1}\n{"a": 2}\n') == [{"a": 1}, {"a": 2}]


def test_what_is_not_json_is_an_error() -> None:
    with pytest.raises(ModelError, match="not JSON: hello"):
        EventDecoder().feed(b"data: hello\n\n")
