"""Nearness of names and words: which one was meant, and which ones are worth naming in an error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

_DIGITS: Final = re.compile(r"\d+")
_LONGEST: Final = 64
_SHORTEST: Final = 4


def distance(one: str, other: str, limit: int) -> int:
    """How many letters must be put in, left out, changed or swapped with their neighbour; `limit + 1` for more.

    Optimal string alignment; rows are left as soon as all of their entries pass the limit.
    """
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, against in enumerate(other, 1):
            least = min(last[j] + 1, row[-1] + 1, last[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        if min(row) > limit:
            return limit + 1
        before, last = last, row
    return min(last[-1], limit + 1)


def is_near(one: str, other: str) -> bool:
    """Whether one is a slip of the pen for the other: one letter, two in long words; never in a number.

    Args:
        one: a word, folded as its kind is folded.
        other: another.
    """
    if min(len(one), len(other)) < _SHORTEST or max(len(one), len(other)) > _LONGEST:
        return False
    if not (one.isascii() and other.isascii()):
        return False  # a Chinese character is a word: one of four changed means something else
    if _DIGITS.findall(one) != _DIGITS.findall(other):
        return False
    if one[0] != other[0] and one[:2] != other[1::-1]:
        return False  # get and set, ascending and descending: what differs at the front is meant
    limit = 1 if min(len(one), len(other)) < 8 else 2
    return distance(one, other, limit) <= limit


def close(word: str, among: Iterable[str], most: int = 3) -> list[str]:
    """The words that most resemble one, best first, and only those that do; for an error's words, not for deciding."""
    sought = word.casefold()[:_LONGEST]
    scored = []
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(sought)
    for candidate in among:
        matcher.set_seq1(candidate.casefold()[:_LONGEST])
        if matcher.real_quick_ratio() < 0.5 or matcher.quick_ratio() < 0.5:
            continue
        score = matcher.ratio()
        if score >= 0.5:
            scored.append((-score, candidate))
    return [candidate for _, candidate in sorted(scored)[:most]]


def closest(word: str, among: Iterable[str]) -> str:
    """The one that most resembles a word, or ""."""
    return next(iter(close(word, among, 1)), "")
