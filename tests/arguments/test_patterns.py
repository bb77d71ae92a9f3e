"""Patterns of strangers: they say what Python's say, and none of them takes long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.timing import cpu_seconds
from toolhand.arguments.patterns import _Beyond, _Machine, _parser, matcher

PIECES = [
    "a",
    "b",
    "[ab]",
    "[^a]",
    r"\d",
    r"\w",
    ".",
    "^",
    "$",
    r"\b",
    "(a|b)",
    "(?:ab)",
    "(a+)",
    "(b*)",
    "(a|ab)",
]
patterns = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}"])),
    min_size=1,
    max_size=5,
).map(
    lambda pairs: "".join(
        piece + ("" if piece in "^$" or piece == r"\b" else times) for piece, times in pairs
    )
)


@given(patterns, st.text("ab1 \n", max_size=12))
def test_all_ways_at_once_find_what_python_finds(pattern: str, text: str) -> None:
    assert _Machine(_parser.parse(pattern)).finds(text) is (re.search(pattern, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        (r"^[a-z0-9]+(?:-[a-z0-9]+)*$", "a-slug-of-" + "many-" * 40 + "words", "a--b" + "-c" * 40),
        (r"^[^@\s]+@[^@\s]+\.[a-z]+$", "someone@" + "example." * 20 + "org", "x" * 300),
        (r"^(?=.*\d).{8,}$", "passw0rd", "password"),
        (r"^\d{4}-\d{2}$", "2026-11", "2026"),
    ],
)
def test_usual_patterns_are_looked_at(pattern, fits, fails):
    test = matcher(pattern)
    assert test is not None
    assert test(fits)
    assert not test(fails)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$", r"(a|aa)+$", r"(a|a)*$", r"(.*a){25}", r"a*a*a*a*a*b", r"(x+x+)+y", r"(a?){40}a{40}", r"(\w+\s?)*$",
        r"(?=(a+)+$)b", r"((a{0,50}){0,50}){0,50}$", r"(a*)*b", r"(\w*)\1*b", r"(?i)(a+)+$", r"(a{1,99}){1,99}b", "a{1,4294967294}b",
    ],
)  # fmt: skip
def test_no_pattern_takes_long(pattern):
    def work() -> None:
        if (test := matcher(pattern)) is not None:
            for text in ("a" * 40 + "!", "a" * 2_000, "x" * 500, "a " * 300 + "!"):
                test(text)

    assert cpu_seconds(work, times=1) < 10


@pytest.mark.parametrize("pattern", ["(", r"(a+)+\1$", "a" * 5_000, r"\p{L}+"])
def test_what_cannot_be_told_is_not_looked_at(pattern):
    assert matcher(pattern) is None


def test_a_machine_that_would_be_too_large_is_none():
    with pytest.raises(_Beyond):
        _Machine(_parser.parse("((a{0,50}){0,50}){0,50}$"))
