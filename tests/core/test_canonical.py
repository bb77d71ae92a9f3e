from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand import tool
from toolhand.core.canonical import canonical, digest, loose, same_call

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_the_order_of_keys_makes_no_difference(arguments):
    turned = dict(reversed(list(arguments.items())))
    assert canonical(arguments) == canonical(turned)
    assert canonical(json.loads(json.dumps(arguments))) == canonical(arguments)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"x": 1}, {"x": 1.0}, True),
        ({"x": 1}, {"x": "1"}, False),
        ({"x": 1}, {"x": True}, False),
        ({"x": [1, 2]}, {"x": [2, 1]}, False),
        ({"x": {"a": 1, "b": 2}}, {"x": {"b": 2.0, "a": 1}}, True),
        ({"x": "a"}, {"x": "A"}, False),
        ({"x": None}, {}, False),
    ],
)
def test_what_is_the_same(one, other, is_same):
    assert (canonical(one) == canonical(other)) is is_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"x": " Rome "}, {"x": "rome"}),
        ({"x": "ＡＢＣ"}, {"x": "abc"}),
        ({"x": "北\u3000京"}, {"x": "北京"}),
        ({"x": "3"}, {"x": 3.0}),
    ],
)
def test_near_repeats_have_one_loose_text(one, other):
    assert canonical(one) != canonical(other)
    assert loose(canonical(one)) == loose(canonical(other))


@pytest.mark.parametrize(
    ("one", "other"), [("C", "C++"), ("-5", "5"), ("1.5", "15"), ("a/b", "ab"), ("甲", "乙")]
)
def test_what_differs_in_a_sign_is_no_near_repeat(one, other):
    assert loose(canonical({"x": one})) != loose(canonical({"x": other}))


def test_defaults_count_as_sent():
    @tool
    def read(path: str, page: int = 1) -> str:
        """Reads a page."""
        return path

    assert same_call(read, {"path": "a"}) == same_call(read, {"page": 1.0, "path": "a"})
    assert same_call(read, {"path": "a"}) != same_call(read, {"path": "a", "page": 2})


def test_a_digest_keeps_its_parts_apart():
    assert digest("a", "bc") != digest("ab", "c")
    assert digest("a", "b") == digest("a", "b")
    assert len(digest("\ud800")) == 32
