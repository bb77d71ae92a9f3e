"""What of a call may be kept: nothing sensitive, and never much."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from toolhand.observability.excerpts import PLAIN, Excerpts

from .events import caught, made

KEY = "sk-proj-abcdefghijklmnopqrstuvwx1234"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=40,
)


def test_a_secret_is_masked_in_texts_and_values():
    assert KEY not in PLAIN.text(f"calling with {KEY} now", 100)
    assert KEY not in PLAIN.json({"a": [f"x {KEY}"], "headers": {"Authorization": f"Bearer {KEY}"}}, 1000)


def test_declared_names_are_masked_and_so_is_their_value_elsewhere():
    excerpts = Excerpts.of(made(sensitive=frozenset({"nickname"})), {"nickname": "Grizzly", "item": "tea"})
    assert excerpts.value({"nickname": "Grizzly", "item": "tea"}, 100)["item"] == "tea"
    assert "Grizzly" not in excerpts.json({"nickname": "Grizzly"}, 100)
    assert "Grizzly" not in excerpts.text("no account of Grizzly here", 100)
    assert "Grizzly" not in excerpts.exception(ValueError("Grizzly is unknown"), 100)
    assert "Grizzly" not in excerpts.named("nickname", "Grizzly", 100)


def test_values_inside_a_sensitive_argument_are_masked_elsewhere_too():
    excerpts = Excerpts.of(made(sensitive=frozenset({"card"})), {"card": {"holder": ["Mary Poppins"]}})
    assert "Poppins" not in excerpts.text("declined: Mary Poppins", 100)


def test_what_the_model_may_see_is_masked_in_a_log_all_the_same():
    excerpts = Excerpts.of(made(reveals=frozenset({"phone", "email"})), {})
    assert "13812345678" not in excerpts.text("call 13812345678", 100)


def test_a_long_text_is_cut_and_says_so():
    text = PLAIN.text("word " * 100_000, 100)
    assert len(text) < 150
    assert text.endswith("more characters)")


def test_a_secret_at_the_edge_of_what_is_looked_at_does_not_show():
    for before in range(8_400, 8_700, 7):
        text = "a " * (before // 2) + KEY + " " + "b " * 50_000
        assert "abcdefgh" not in PLAIN.text(text, 4_200)


def test_a_large_value_stays_json_and_small():
    value = {"rows": [{"n": number, "text": "x" * 50} for number in range(10_000)]}
    text = PLAIN.json(value, 500)
    assert len(text) < 2_000
    assert "more items" in text
    assert json.loads(text)["rows"][0] == {"n": 0, "text": "x" * 50}


@given(VALUES, st.integers(0, 200))
def test_any_value_becomes_json(value, most):
    json.loads(PLAIN.json(value, most))


@given(st.text(max_size=300), st.integers(0, 100))
def test_a_text_is_never_much_longer_than_asked(text, most):
    assert len(PLAIN.text(text, most)) <= most + 40


def test_an_exception_whose_text_explodes():
    class Bad(Exception):
        def __str__(self) -> str:
            raise RuntimeError("never")

    error = caught(Bad())
    assert PLAIN.exception(error, 100)
    assert "Bad" in PLAIN.traceback(error, 1000)


def test_a_traceback_tells_the_cause_and_no_secret():
    error = RuntimeError("higher up")
    error.__cause__ = caught(ValueError(f"token={KEY}"))
    text = PLAIN.traceback(caught(error), 4000)
    assert "in fails" in text
    assert "ValueError" in text
    assert text.endswith("RuntimeError: higher up")
    assert KEY not in text


def test_lone_surrogates_can_be_written():
    assert PLAIN.text("a\udc80b", 10).encode()
    assert PLAIN.json({"a\udc80": "\udc80"}, 100).encode()
