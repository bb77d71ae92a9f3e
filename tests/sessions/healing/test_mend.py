"""Histories that come from elsewhere are mended, or refused clearly; right ones are left alone."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sessions.histories import check_invariants, on_wire, valid_histories
from tests.timing import cpu_seconds
from toolhand.core.messages import Message, Text, ToolCall, ToolResult, Value, user
from toolhand.histories import HistoryError, heal, to_anthropic, to_openai


def call(id_, name="add", arguments='{"x":1}'):
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def asking(*calls, text=None):
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def answer(id_, text, **more):
    return {"role": "tool", "tool_call_id": id_, "content": text, **more}


ASK = {"role": "user", "content": "q"}


def kinds(healed):
    return [repair.kind for repair in healed.repairs]


def paired(healed):
    return {result.call_id: result.data for message in healed.messages for result in message.results}


# ---------------------------------------------------------------------- what is right stays
@given(valid_histories())
def test_a_right_history_is_left_alone(messages):
    healed = heal(messages)
    assert healed.repairs == ()
    assert all(one is other for one, other in zip(healed.messages, messages, strict=True))


@given(valid_histories())
def test_there_and_back_in_openais_shape(messages):
    there = to_openai(messages)
    check_invariants(there)
    healed = heal(there)
    assert healed.repairs == ()
    assert to_openai(healed.messages) == there


def test_results_in_another_order_than_their_calls_are_right_too():
    given_ = [
        ASK,
        asking(call("a"), call("b")),
        answer("b", "2"),
        answer("a", "1"),
        {"role": "assistant", "content": "3"},
    ]
    healed = heal(given_)
    assert healed.repairs == ()
    assert [entry.get("tool_call_id") for entry in to_openai(given_)] == [None, None, "b", "a", None]


def test_results_get_their_tools_names():
    healed = heal([ASK, asking(call("a", "geo")), answer("a", "1")])
    assert healed.messages[2].results[0].name == "geo"


# ---------------------------------------------------------------------- kinds of damage
def test_orphan_results_are_dropped():
    healed = heal([answer("gone", "1"), ASK, answer("other", "2")])
    assert kinds(healed) == ["orphan_result_dropped"] * 2
    assert [message.role for message in healed.messages] == ["user"]
    assert [repair.place for repair in healed.repairs] == [0, 2]


@pytest.mark.parametrize(("question", "words"), [("q", "may or may not have run"), ("怎么样", "也可能没有")])
def test_a_call_without_a_result_gets_one_that_says_so(question, words):
    given_ = [
        {"role": "user", "content": question},
        asking(call("a"), call("b")),
        answer("b", "2"),
        {"role": "user", "content": question},
    ]
    healed = heal(given_)
    assert kinds(healed) == ["missing_result_filled"]
    assert words in str(healed.messages[2].results[0].error)
    check_invariants(on_wire(healed.messages))


def test_calls_that_wait_may_go_on_waiting():
    given_ = [ASK, asking(call("a"), call("b")), answer("b", "2")]
    healed = heal(given_, keeps_pending=True)
    assert healed.repairs == ()
    assert paired(healed) == {"b": "2"}
    earlier = [*given_, ASK]
    assert kinds(heal(earlier, keeps_pending=True)) == ["missing_result_filled"]


def test_repeated_ids_in_several_replies_are_told_apart_by_where_they_stand():
    healed = heal([ASK, asking(call("c")), answer("c", "1"), ASK, asking(call("c")), answer("c", "2")])
    assert kinds(healed) == ["id_replaced"]
    assert list(paired(healed).values()) == ["1", "2"]
    check_invariants(on_wire(healed.messages))


def test_repeated_ids_in_one_reply_are_told_apart_by_name():
    healed = heal(
        [
            ASK,
            asking(call("c", "add"), call("c", "sub")),
            answer("c", "2", name="sub"),
            answer("c", "1", name="add"),
        ]
    )
    named = {r.name: r.data for r in healed.messages[2].results}
    assert named == {"add": "1", "sub": "2"}
    check_invariants(on_wire(healed.messages))


@pytest.mark.parametrize("missing", ["", None])
def test_missing_ids_are_made(missing):
    healed = heal([ASK, asking(call(missing, "geo")), answer(missing, "east")])
    assert "id_made" in kinds(healed)
    assert list(paired(healed).values()) == ["east"]
    check_invariants(on_wire(healed.messages))


def test_a_result_without_an_id_belongs_to_the_only_call_that_there_is():
    healed = heal([ASK, asking(call("k1", "geo")), {"role": "tool", "name": "geo", "content": "east"}])
    assert paired(healed) == {"k1": "east"}
    assert kinds(healed) == ["result_paired"]


def test_results_without_ids_are_told_apart_by_name():
    given_ = [
        ASK,
        asking(call("a", "add"), call("b", "sub")),
        {"role": "tool", "name": "sub", "content": "2"},
        {"role": "tool", "content": "1"},
    ]
    assert paired(heal(given_)) == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    "results",
    [
        [{"role": "tool", "name": "add", "content": "2"}, {"role": "tool", "name": "add", "content": "1"}],
        [{"role": "tool", "content": "2"}],
        [{"role": "tool", "content": "2"}, {"role": "tool", "content": "1"}],
    ],
)
def test_what_could_belong_to_several_calls_is_refused(results):
    calls = asking(call("c1", arguments='{"x":1}'), call("c2", arguments='{"x":2}'))
    with pytest.raises(HistoryError, match="give it the id of its call") as caught:
        heal([ASK, calls, *results])
    assert caught.value.code == "ambiguous_tool_result"
    assert caught.value.place == 2


def test_where_it_makes_no_difference_there_is_nothing_to_guess():
    equal_results = [{"role": "tool", "name": "add", "content": "1"}] * 2
    healed = heal(
        [ASK, asking(call("a", arguments='{"x":1}'), call("b", arguments='{"x":2}')), *equal_results]
    )
    assert paired(healed) == {"a": "1", "b": "1"}
    other = [{"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}]
    assert paired(heal([ASK, asking(call("a"), call("b")), *other])) == {"a": "1", "b": "2"}


def test_two_results_of_one_call():
    healed = heal([ASK, asking(call("a")), answer("a", "1"), answer("a", "2")])
    assert kinds(healed) == ["duplicate_result_dropped"]
    assert paired(healed) == {"a": "1"}


def test_results_stand_behind_their_calls_whatever_came_between():
    given_ = [
        answer("a", "1"),
        ASK,
        asking(call("a"), call("b"), text="I add."),
        {"role": "user", "content": "by the way"},
        answer("b", "2"),
    ]
    healed = heal(given_)
    assert kinds(healed) == ["result_moved", "result_moved"]
    assert [message.role for message in healed.messages] == ["user", "assistant", "tool", "user"]
    assert paired(healed) == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("arguments", "read", "kind"),
    [
        ("{'x': 1,}", {"x": 1}, "arguments_mended"),
        ('"{\\"x\\": 1}"', {"x": 1}, "arguments_mended"),
        ('{"path": "a.md", "content": "half', {}, "arguments_unreadable"),
        ("[1, 2]", {}, "arguments_unreadable"),
        ("no json", {}, "arguments_unreadable"),
        (7, {}, "arguments_unreadable"),
        ("", {}, None),
        (None, {}, None),
        ({"x": 1}, {"x": 1}, None),
    ],
)
def test_arguments_always_go_out_as_a_json_object(arguments, read, kind):
    healed = heal([ASK, asking(call("a", arguments=arguments)), answer("a", "1")])
    assert healed.messages[1].calls[0].arguments == read
    assert kinds(healed) == ([kind] if kind else [])
    assert json.loads(to_openai(healed.messages)[1]["tool_calls"][0]["function"]["arguments"]) == read


def test_there_is_one_system_message_at_the_start():
    healed = heal(
        [
            ASK,
            {"role": "system", "content": "one"},
            {"role": "developer", "content": "two"},
            {"role": "system", "content": "one"},
        ]
    )
    assert [message.role for message in healed.messages] == ["system", "user"]
    assert healed.messages[0].text == "one\n\ntwo"
    assert set(kinds(healed)) == {"system_joined"}


def test_a_call_without_a_name_gets_that_of_its_result_or_goes():
    healed = heal(
        [ASK, asking(call("a", "")), answer("a", "1", name="geo"), asking(call("b", "")), answer("b", "2")]
    )
    assert [c.name for m in healed.messages for c in m.calls] == ["geo"]
    assert "nameless_call_dropped" in kinds(healed)
    check_invariants(on_wire(healed.messages))


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("hello", "not_a_message"),
        (None, "not_a_message"),
        ({"role": "boss", "content": "x"}, "unknown_role"),
        ({"content": "x"}, "unknown_role"),
    ],
)
def test_what_is_no_message_is_refused(entry, code):
    with pytest.raises(HistoryError, match="message 1 of the history") as caught:
        heal([ASK, entry])
    assert (caught.value.code, caught.value.place) == (code, 1)


# ---------------------------------------------------------------------- other shapes
def test_anthropics_shape():
    given_ = [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I add."},
                {"type": "tool_use", "id": "t1", "name": "add", "input": {"x": 1}},
                {"type": "tool_use", "id": "t2", "name": "add", "input": {"x": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "1"}]},
                {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True},
                {"type": "text", "text": "go on"},
            ],
        },
    ]
    healed = heal(given_)
    assert kinds(healed) == ["reasoning_left_out"]
    assert [message.role for message in healed.messages] == ["user", "assistant", "tool", "user"]
    back = to_anthropic(healed.messages)["messages"]
    assert back[1]["content"] == given_[1]["content"][1:]
    assert back[2]["content"][1] == given_[2]["content"][1]
    assert [block["type"] for block in back[2]["content"]] == ["tool_result", "tool_result", "text"]


def test_the_older_function_call_and_the_responses_shape():
    older = [
        ASK,
        {"role": "assistant", "content": None, "function_call": {"name": "geo", "arguments": "{}"}},
        {"role": "function", "name": "geo", "content": "east"},
    ]
    assert list(paired(heal(older)).values()) == ["east"]
    newer = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "geo", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "east"},
    ]
    assert paired(heal(newer)) == {"c1": "east"}


def test_what_has_no_place_here_is_said_so():
    healed = heal(
        [
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "x"}},
                    {"type": "text", "text": "what is it?"},
                ],
            }
        ]
    )
    assert kinds(healed) == ["content_left_out"]
    assert healed.messages[0].text == "(image_url)what is it?"


# ---------------------------------------------------------------------- export
def test_to_anthropic_puts_results_first_and_calls_last():
    given_ = [
        ASK,
        asking(call("c1"), call("c2"), text="first I add"),
        answer("c2", "b"),
        {"role": "user", "content": "and the weather"},
        answer("c1", "a"),
    ]
    made = to_anthropic(given_)["messages"]
    assert [turn["role"] for turn in made] == ["user", "assistant", "user"]
    assert [[block["type"] for block in turn["content"]] for turn in made[1:]] == [
        ["text", "tool_use", "tool_use"],
        ["tool_result", "tool_result", "text"],
    ]


@given(valid_histories())
def test_to_anthropic_is_what_the_api_takes(messages):
    made = to_anthropic(messages)
    turns = made["messages"]
    assert all(one["role"] != other["role"] for one, other in pairwise(turns))
    assert turns[0]["role"] == "user"
    waiting: list[str] = []
    for turn in turns:
        types = [block["type"] for block in turn["content"]]
        assert types
        answered = [block["tool_use_id"] for block in turn["content"] if block["type"] == "tool_result"]
        assert sorted(answered) == sorted(waiting)
        assert types[: len(answered)] == ["tool_result"] * len(answered)
        waiting = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
    assert ("system" in made) == any(message.role == "system" for message in messages)


def test_a_history_that_begins_with_the_model_gets_a_beginning():
    assert to_anthropic([{"role": "assistant", "content": "hello"}])["messages"][0]["role"] == "user"


# ---------------------------------------------------------------------- anything at all
_IDS = st.sampled_from(["", "a", "b", "c"])
_NAMES = st.sampled_from(["", "add", "sub"])
_CALLS = st.builds(call, _IDS, _NAMES, st.sampled_from(['{"x":1}', "{'x':2}", "{", None, "[]"]))
_ENTRIES = st.one_of(
    st.sampled_from([ASK, {"role": "system", "content": "s"}, {"role": "assistant", "content": "x"}, {"role": "assistant", "content": ""}]),
    st.builds(lambda calls, text: asking(*calls, text=text), st.lists(_CALLS, max_size=3), st.sampled_from([None, "t"])),
    st.builds(lambda i, n, t: answer(i, t, name=n), _IDS, _NAMES, st.sampled_from(["1", "2", None])),
    st.builds(
        lambda i, t: {"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": t}, {"type": "text", "text": "u"}]},
        _IDS,
        st.sampled_from(["1", "2"]),
    ),
)  # fmt: skip


def healed_or_refused(entries):
    try:
        return heal(entries)
    except HistoryError as error:
        caught = error
    assert caught.code == "ambiguous_tool_result"
    assert 0 <= caught.place < len(entries)
    return None


@settings(max_examples=400, deadline=None)
@given(st.lists(_ENTRIES, max_size=12))
def test_any_list_becomes_valid_or_is_refused_clearly(entries):
    healed = healed_or_refused(entries)
    if healed is None:
        return
    check_invariants(on_wire(healed.messages))
    said = [e["content"] for e in entries if e["role"] == "user" and isinstance(e["content"], str)]
    assert [m.text for m in healed.messages if m.role == "user"].count("q") == said.count("q")
    assert heal(healed.messages).repairs == ()
    check_invariants(
        to_openai(entries) if not any(r.kind == "missing_result_filled" for r in healed.repairs) else []
    )
    to_anthropic(entries)


@settings(deadline=None)
@given(valid_histories(), st.data())
def test_a_damaged_history_becomes_valid_or_is_refused_clearly(messages, data):
    damaged = list(messages)
    for _ in range(data.draw(st.integers(1, 4))):
        if not damaged:
            break
        at = data.draw(st.integers(0, len(damaged) - 1))
        match data.draw(st.sampled_from(["drop", "double", "swap", "cut", "forget"])):
            case "drop":
                del damaged[at]
            case "double":
                damaged.insert(at, damaged[at])
            case "swap":
                other = data.draw(st.integers(0, len(damaged) - 1))
                damaged[at], damaged[other] = damaged[other], damaged[at]
            case "cut":
                damaged = damaged[at:]
            case "forget":
                parts = tuple(
                    ToolResult(call_id="", name=p.name, outcome=p.outcome) if isinstance(p, ToolResult) else p
                    for p in damaged[at].parts
                )
                damaged[at] = Message(role=damaged[at].role, parts=parts)
    healed = healed_or_refused(damaged)
    if healed is not None:
        check_invariants(on_wire(healed.messages))


@pytest.mark.parametrize(
    "some",
    [
        lambda n: [ASK, asking(call("c"), call("")), answer("c", "1")] * n,
        lambda n: [answer("c", "1")] * n + [asking(call("c")), answer("c", "1")] * n,
        lambda n: [ASK, asking(*[call("c", f"f{i}") for i in range(n)]), *[answer("c", "1", name=f"f{i}") for i in range(n)]],
        lambda n: [ASK, asking(*[call("", f"f{i}") for i in range(n)]), *[answer("", "1", name=f"f{i}") for i in range(n)]],
    ],
)  # fmt: skip
def test_a_long_history_takes_a_time_in_proportion_to_its_length(some):
    def seconds(count):
        messages = some(count)
        return cpu_seconds(lambda: heal(messages))

    seconds(100)
    assert seconds(8_000) < 8 * 3 * max(seconds(1_000), 0.005)


def test_texts_in_a_message_of_results_are_the_users():
    odd = Message(role="tool", parts=(ToolResult(call_id="x", name="", outcome=Value(1)), Text("by the way")))
    healed = heal([user("q"), Message(role="assistant", parts=(ToolCall(id="a", name="add"),)), odd])
    assert [message.role for message in healed.messages] == ["user", "assistant", "tool", "user"]
