"""What is shown of a history that is too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sessions.histories import (
    answered,
    asked,
    check_invariants,
    exchange,
    on_wire,
    said,
    valid_histories,
)
from toolhand.core.errors import ErrorCode, SettingsError, ToolError
from toolhand.core.messages import Message, ToolCall, ToolResult, Value, system, user
from toolhand.core.tokens import message_tokens
from toolhand.sessions.trimming import History, trim

HISTORY = [
    system("Be brief."),
    user("first"),
    asked(
        ToolCall(id="c1", name="add", arguments={"x": 1}), ToolCall(id="c2", name="add", arguments={"x": 2})
    ),
    answered(("c1", "one"), ("c2", "two"), name="add"),
    said("the sum"),
    user("second"),
]


@pytest.mark.parametrize("most", range(1, 9))
def test_a_bound_on_messages_never_parts_a_call_from_its_result(most):
    shown = trim(HISTORY, History(messages=most))
    check_invariants(on_wire(shown))
    assert shown[0] == HISTORY[0]
    assert shown[-1] == HISTORY[-1]
    assert len(on_wire(shown)) - 1 <= most


def test_what_fits_is_left_as_it_is():
    assert trim(HISTORY, History(messages=6, turns=2, tokens=10_000)) == HISTORY
    assert trim(HISTORY, History()) == HISTORY


@given(
    valid_histories(),
    st.integers(1, 12),
    st.sampled_from(["messages", "turns", "tokens"]),
    st.sampled_from([0.3, 0.6, 1]),
)
def test_whatever_is_cut_is_valid(messages, most, what, keep):
    most = most * 40 if what == "tokens" else most
    shown = trim(messages, History(**{what: most}, keep=keep))
    check_invariants(on_wire(shown))
    opened = [message for message in messages if message.role == "user" and message.text]
    assert any(message is opened[-1] for message in shown)
    assert [message for message in shown if message.role == "system"] == [
        m for m in messages if m.role == "system"
    ]
    assert shown[-1].role == messages[-1].role
    body = [message for message in shown if message.role != "system"]
    if (
        len({id(message) for message in body} & {id(message) for message in opened}) > 1
    ):  # else it is the least that stays
        sizes = {
            "messages": len(on_wire(body)),
            "turns": sum(message.role == "assistant" for message in body),
            "tokens": sum(map(message_tokens, body)),
        }
        assert sizes[what] <= most


@given(valid_histories(), st.integers(40, 2_000))
def test_cutting_again_changes_nothing(messages, most):
    history = History(tokens=most)
    once = trim(messages, history)
    assert trim(once, history) == once or sum(map(message_tokens, once)) > most


def test_old_results_are_shortened_before_anything_goes():
    messages = [message for number in range(4) for message in exchange(number, rows=60)]
    whole = sum(map(message_tokens, messages))
    shown = trim(messages, History(tokens=whole - 100, keep=0.5))
    assert len(shown) == len(messages)
    assert [m.results[0].data for m in shown if m.results][-1] == messages[-2].results[0].data
    first = shown[2].results[0].data
    assert "item 0-0" in str(first)
    assert "rows left out" in str(first)
    assert message_tokens(shown[2]) < message_tokens(messages[2]) / 5


def test_short_forms_come_in_the_runs_language():
    messages = [message for number in range(4) for message in exchange(number, rows=60)]
    shown = trim(messages, History(tokens=3000), language="zh")
    assert "省略了" in str(shown[2].results[0].data)


def test_an_exchange_that_is_too_long_keeps_its_question_and_its_last_step():
    messages = exchange(1, rows=30, steps=20)[:-1]
    shown = trim(messages, History(tokens=2000))
    check_invariants(on_wire(shown))
    assert shown[0] is messages[0]
    assert shown[-2:] == messages[-2:]
    assert sum(map(message_tokens, shown)) <= 2000


def test_a_last_result_that_no_model_could_take_is_squeezed_into_the_room():
    call = ToolCall(id="c1", name="look_up")
    messages = [user("all of it"), asked(call), answered(("c1", "a word and another " * 20_000))]
    shown = trim(messages, History(tokens=1500))
    assert 900 < sum(map(message_tokens, shown)) <= 1500
    assert shown[-1].results[0].call_id == "c1"


def test_errors_are_never_shortened():
    error = ToolError(code=ErrorCode.EXECUTION, message="It failed. " * 100)
    old = [
        user("first"),
        asked(ToolCall(id="c1", name="add")),
        Message(role="tool", parts=(ToolResult(call_id="c1", name="add", outcome=error),)),
        said("no"),
    ]
    messages = [*old, *exchange(1, rows=200), user("and now?")]
    shown = trim(messages, History(tokens=sum(map(message_tokens, messages)) // 2, keep=1))
    assert len(shown) == len(messages)
    assert shown[2].results[0].outcome is error
    assert shown[6].results[0].outcome != messages[6].results[0].outcome


def test_another_short_form_may_be_given():
    messages = [message for number in range(3) for message in exchange(number, rows=60)]

    def shorten(result: ToolResult) -> ToolResult:
        return ToolResult(call_id=result.call_id, name=result.name, outcome=Value("a table of things"))

    shown = trim(messages, History(tokens=3000), shorten=shorten)
    assert shown[2].results[0].data == "a table of things"


@pytest.mark.parametrize(
    "wrong", [{"turns": 0}, {"tokens": -1}, {"messages": True}, {"keep": 0}, {"keep": 1.5}, {"tokens": 1.5}]
)
def test_a_bound_that_is_none_is_refused(wrong):
    with pytest.raises(SettingsError, match=r"History\("):
        History(**wrong)
