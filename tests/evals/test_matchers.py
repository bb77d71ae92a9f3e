"""When a value is the expected one."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.evals.format import MATCHER_DOCS
from toolhand.evals.matchers import ABSENT, Look
from toolhand.evals.matching import MATCHERS, compiled, compiled_text
from toolhand.evals.spots import CaseFileError, Spot
from toolhand.evals.wanted import read_fixtures  # noqa: F401 - registers every matcher

LOOK = Look(today=dt.date(2025, 3, 3))

FITS = [
    ("tea", "tea"),
    (1, 1.0),
    (None, None),
    ([1, 2], [1, 2]),
    ({"a": 1, "b": {"like": "X"}}, {"b": "x!", "a": 1}),
    ({"equal": {"regex": "a"}}, {"regex": "a"}),
    ({"one_of": ["a", {"regex": "^b"}]}, "bcd"),
    ({"all_of": [{"contains": "a"}, {"not": "ab"}]}, "ba"),
    ({"not": "a"}, "b"),
    ({"like": "San  Francisco, CA"}, "san francisco ca"),
    ({"like": "北京市"}, " 北京市。"),
    ({"like": "abc"}, "ＡＢＣ"),
    ({"contains": "1200"}, "it is 1,200 in all"),
    ({"contains": ["a", "b"]}, "b a"),
    ({"regex": r"\d+"}, "room 12"),
    ({"close": 0.1}, 0.1 + 1e-9),
    ({"close": {"to": 3.1, "within": 0.05}}, 3.14),
    ({"between": [1, 5]}, 5),
    ({"date": "2025-03-01"}, "2025/3/1"),
    ({"date": "2025-03-01"}, "March 1, 2025"),
    ({"date": "2025-03-01"}, "2025年3月1日"),
    ({"date": "2025-03-01"}, "2025-03-01T09:30:00"),
    ({"date": "2025-03-01T15:00"}, "2025-03-01 15:00:10"),
    ({"date": "2025-03-01T15:00"}, "2025-03-01 at 3 pm"),
    ({"date": "today+1"}, "2025-03-04"),
    ({"date": "today+1"}, "tomorrow"),
    ({"date": "today"}, "今天"),
    ({"unordered": [1, {"like": "B"}]}, ["b", 1]),
    ({"includes": ["a"]}, ["b", "a", "c"]),
    ({"fields": {"a": 1}}, {"a": 1, "b": 2}),
    ({"type": "integer"}, 3.0),
    ({"type": "number"}, 3),
    ({"type": "boolean"}, True),
    ({"any": True}, None),
    ({"absent": True}, ABSENT),
    ({"optional": "a"}, ABSENT),
    ({"optional": "a"}, "a"),
]

DIFFERS = [
    ("tea", "Tea"),
    (1, True),
    (1, "1"),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1}, {}),
    ({"one_of": ["a", "b"]}, "c"),
    ({"not": {"regex": "a"}}, "cat"),
    ({"like": "C++"}, "C"),
    ({"contains": "1200"}, "12,00"),
    ({"regex": "^a"}, "ba"),
    ({"regex": "a"}, 5),
    ({"close": 3}, 3.1),
    ({"close": 3}, "3"),
    ({"between": [1, 5]}, True),
    ({"between": [1, 5]}, 5.01),
    ({"date": "2025-03-01"}, "2025-03-02"),
    ({"date": "2025-03-01T15:00"}, "2025-03-01"),
    ({"date": "2025-03-01"}, "soon"),
    ({"date": "2025-03-01"}, 20250301),
    ({"unordered": [1, 1]}, [1, 2]),
    ({"unordered": [1]}, [1, 1]),
    ({"includes": ["a", "a"]}, ["a", "b"]),
    ({"fields": {"a": 1}}, [1]),
    ({"type": "integer"}, True),
    ({"type": "string"}, None),
    ({"any": True}, ABSENT),
    ({"absent": True}, 1),
    ({"optional": "a"}, "b"),
    ("a", ABSENT),
    ({"not": "a"}, ABSENT),
]


@pytest.mark.parametrize(("expected", "value"), FITS, ids=repr)
def test_what_fits(expected, value):
    assert compiled(Spot(expected)).finding(value, LOOK) is None


@pytest.mark.parametrize(("expected", "value"), DIFFERS, ids=repr)
def test_what_differs(expected, value):
    finding = compiled(Spot(expected)).finding(value, LOOK)
    assert finding is not None
    assert finding.sentence("en")
    assert finding.sentence("zh")


def test_every_matcher_is_tried_above_and_documented():
    tried = {next(iter(e)) for e, _ in FITS + DIFFERS if isinstance(e, dict) and len(e) == 1}
    assert set(MATCHERS) <= tried | {"bfcl"}
    assert set(MATCHERS) == set(MATCHER_DOCS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"regex": "("},
        {"between": [5, 1]},
        {"between": [1]},
        {"close": "3"},
        {"close": {"to": 3}},
        {"date": "soon"},
        {"type": "text"},
        {"any": False},
        {"one_of": "a"},
        {"like": 5},
        {"a": {"regex": "["}},
    ],
    ids=repr,
)
def test_a_matcher_that_cannot_be_used_is_refused(wrong):
    with pytest.raises(CaseFileError):
        compiled(Spot(wrong))


def test_the_path_of_a_nested_difference():
    finding = compiled(Spot({"a": [{"b": 1}, {"b": {"between": [2, 3]}}]})).finding(
        {"a": [{"b": 1}, {"b": 9}]}, LOOK
    )
    assert finding.path == "a[1].b"
    assert "9" in finding.sentence("en")


def test_a_plain_text_of_an_answer_is_to_be_contained():
    assert compiled_text(Spot("Tea")).finding("the tea is 3", LOOK) is None
    assert compiled_text(Spot("coffee")).finding("the tea is 3", LOOK) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@settings(deadline=None)
@given(JSON)
def test_every_value_equals_itself_and_nothing_raises(value):
    assert compiled(Spot({"equal": value})).finding(value, LOOK) is None


@settings(deadline=None)
@given(JSON, st.sampled_from([expected for expected, _ in FITS]))
def test_no_value_makes_a_matcher_raise(value, expected):
    finding = compiled(Spot(expected)).finding(value, LOOK)
    assert finding is None or finding.sentence("zh")


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), max_size=6), st.randoms())
def test_any_order_is_any_order(items, random):
    shuffled = random.sample(items, len(items))
    assert compiled(Spot({"unordered": items})).finding(shuffled, LOOK) is None
    assert compiled(Spot({"includes": items})).finding([*shuffled, 9], LOOK) is None
    assert compiled(Spot({"unordered": [*items, 9]})).finding(shuffled, LOOK) is not None
