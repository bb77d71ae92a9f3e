"""English number words. What only approximates ("a few", "a couple") is no number."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from toolhand.core.lazily import lazy_pattern

_ONES: Final = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS: Final = {
    word: 10 * value
    for value, word in enumerate(
        ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 2
    )
} | {"fourty": 40}
_SCALES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS: Final = {
    **dict.fromkeys(("half", "halves"), 2),
    **dict.fromkeys(("third", "thirds"), 3),
    **dict.fromkeys(("quarter", "quarters", "fourth", "fourths"), 4),
    **dict.fromkeys(("fifth", "fifths"), 5),
    **dict.fromkeys(("tenth", "tenths"), 10),
}
_WORDS: Final = lazy_pattern(r"[a-z]+(?:[ -]+[a-z]+)*")


def read_english(text: str) -> Fraction | None:
    """The number that a text is; None where it is not exactly one.

    Args:
        text: such as "twenty-five", "one hundred and five", "two and a half", "three point one four", "two thirds",
            "half a million", "a dozen".
    """
    lowered = text.lower()
    if not _WORDS.fullmatch(lowered):
        return None
    words = re.split(r"[ -]+", lowered)
    if words[0] in ("minus", "negative"):
        value = _unsigned(words[1:])
        return None if value is None else -value
    return _unsigned(words)


def _unsigned(words: list[str]) -> Fraction | None:
    if words in (["half"], ["a", "half"], ["one", "half"]):
        return Fraction(1, 2)
    if words[:2] in (["half", "a"], ["half", "an"]) and len(words) == 3:
        unit = _SCALES.get(words[2]) or {"dozen": 12, "hundred": 100}.get(words[2])
        return None if unit is None else Fraction(unit, 2)
    if "point" in words:
        at = words.index("point")
        whole = _cardinal(words[:at])
        digits = [_ONES.get(word, 10) for word in words[at + 1 :]]
        if whole is None or not digits or max(digits) > 9:
            return None
        return whole + Fraction(int("".join(map(str, digits))), 10 ** len(digits))
    if words[-1:] and words[-1] in _PARTS and len(words) > 1:
        return _with_part(words)
    if words[-1:] == ["dozen"]:
        times = Fraction(1) if words[:-1] in ([], ["a"]) else _cardinal(words[:-1])
        return None if times is None else times * 12
    return _cardinal(words)


def _with_part(words: list[str]) -> Fraction | None:
    """Such as "two and a half", "two thirds", "a quarter"."""
    part = Fraction(1, _PARTS[words[-1]])
    before = words[:-1]
    if before in (["a"], ["one"]):
        return part
    if before[-2:] in (["and", "a"], ["and", "one"]):
        whole = _cardinal(before[:-2])
        return None if whole is None else whole + part
    times = _cardinal(before)
    return times * part if times is not None and words[-1].endswith("s") else None


def _cardinal(words: list[str]) -> Fraction | None:
    if not words or words[0] == "and" or words[-1] == "and":
        return None
    if words[0] in ("a", "an"):
        if len(words) < 2 or words[1] not in ("hundred", *_SCALES):
            return None
        words = ["one", *words[1:]]
    if words == ["zero"]:
        return Fraction(0)
    total, group, ceiling = 0, 0, 10**15
    for index, word in enumerate(words):
        if word == "and":
            if words[index - 1] not in ("hundred", *_SCALES):
                return None
        elif word in _ONES:
            value = _ONES[word]
            room = group % 100 == 0 or (group % 10 == 0 and group % 100 >= 20 and value < 10)
            if not value or not room:
                return None
            group += value
        elif word in _TENS:
            if group % 100:
                return None
            group += _TENS[word]
        elif word == "hundred":
            if not 0 < group < 100:
                return None
            group *= 100
        elif word in _SCALES and group and _SCALES[word] < ceiling:
            ceiling = _SCALES[word]
            total, group = total + group * ceiling, 0
        else:
            return None
    return Fraction(total + group)
