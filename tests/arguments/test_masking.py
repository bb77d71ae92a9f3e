"""Secrets that are known, taken out of what comes back however it is spelt."""

from __future__ import annotations

import json
from urllib.parse import quote, quote_plus

import pytest

from tests.timing import cpu_seconds
from toolhand.arguments.masking import masked

SECRET = "ab/c+d==&密é-<k>"
LONGER = f"{SECRET}-and-more"


@pytest.mark.parametrize(
    "spelling",
    [
        SECRET,
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote(SECRET),
        quote_plus(SECRET),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        SECRET.replace("/", "\\/"),  # PHP
        SECRET.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"),  # Go
        SECRET.replace("+", "\\u002B").replace("&", "\\u0026"),  # .NET
    ],
)
def test_no_spelling_of_it_is_left(spelling):
    assert masked(f"before {spelling} after", [SECRET]) == "before *** after"
    assert masked({spelling: [spelling, 1, None]}, [SECRET], "[x]") == {"[x]": ["[x]", 1, None]}


def test_the_longer_of_two_is_taken_out_whole_and_nothing_else_changes():
    assert masked(f"{LONGER} {SECRET}", [SECRET, LONGER]) == "*** ***"
    assert masked("ab/c", [SECRET]) == "ab/c"
    assert masked("as it was", ["", *[]]) == "as it was"


def test_a_long_text_takes_time_by_its_length():
    text = "ab/c+d==&密" * 100_000
    assert cpu_seconds(lambda: masked(text, [SECRET])) < 20 * max(
        cpu_seconds(lambda: masked(text[: len(text) // 10], [SECRET])), 0.01
    )
