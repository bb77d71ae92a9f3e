"""Numbers as people write them, in digits and in Chinese and English words.

Own code, because the published converters guess: they read "十来个" or "三四" as one number, and take text that only
begins with a numeral. Here a text that is not exactly one number is not a number.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import Final

from toolhand.arguments.coerce.chinese import read_chinese
from toolhand.arguments.coerce.english import read_english
from toolhand.core.lazily import lazy_pattern

_LONGEST: Final = 80
_LONGEST_DIGITS: Final = 400
_LARGEST_EXPONENT: Final = 308

_PLAIN: Final = lazy_pattern(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_GROUPED: Final = lazy_pattern(
    r"[+-]?\d{1,3}(?:(,)\d{3}(?:,\d{3})*|( )\d{3}(?: \d{3})*|(_)\d{3}(?:_\d{3})*|(')\d{3}(?:'\d{3})*)(\.\d+)?",
    re.ASCII,
)
_RATIO: Final = lazy_pattern(r"([+-]?)(?:(\d{1,9}) )?(\d{1,9}) ?[/⁄] ?(\d{1,9})", re.ASCII)
_SUFFIXED: Final = lazy_pattern(
    r"([+-]?[\d.,]+) ?(k|K|M|mn|B|bn|w|W|thousand|million|billion|trillion|mln|bln)", re.ASCII
)
_SUFFIXES: Final = {
    "k": 10**3,
    "K": 10**3,
    "thousand": 10**3,
    "w": 10**4,
    "W": 10**4,
    "M": 10**6,
    "mn": 10**6,
    "mln": 10**6,
    "million": 10**6,
    "B": 10**9,
    "bn": 10**9,
    "bln": 10**9,
    "billion": 10**9,
    "trillion": 10**12,
}
_SIGNS: Final = str.maketrans({"−": "-", "–": "-", "﹣": "-", "，": ",", "．": ".", "。": "."})


def read_number(text: str) -> Fraction | None:
    """The one number that a text is, exactly; None for anything else, also for what only approximates.

    Args:
        text: digits ("12,500", "１２", "1e3", "3k", "1/2"), Chinese ("两万五", "1.5万", "负三点一四", "三分之二") or English
            ("twenty-five", "one and a half").
    """
    if len(text) > _LONGEST_DIGITS:
        return None
    bare = _folded(text)
    if bare is None:
        return None
    if _PLAIN.fullmatch(bare):
        return _plain(bare)
    if len(bare) > _LONGEST:
        return None
    grouped = _GROUPED.fullmatch(bare)
    if grouped:
        return Fraction(re.sub(r"[, _']", "", bare))
    for reader in (_suffixed, _ratio, read_chinese, read_english):
        number = reader(bare)
        if number is not None:
            return number
    return None


def is_digits(text: str) -> bool:
    """Whether a text is a number in plain digits."""
    bare = _folded(text)
    return bare is not None and _PLAIN.fullmatch(bare) is not None


def is_grouped(text: str) -> bool:
    """Whether a text is a number in digits with separators between thousands."""
    bare = _folded(text)
    return bare is not None and _GROUPED.fullmatch(bare) is not None


def _folded(text: str) -> str | None:
    """Half-width, one minus sign, no blanks around; None where folding would change the number, as in 5²."""
    if not text.isascii():
        parts: list[str] = []
        for letter in text:
            if unicodedata.category(letter) == "No":
                value = unicodedata.numeric(letter, None)
                if value is None or "⁄" not in unicodedata.normalize("NFKC", letter):
                    return None
                parts.append(f" {unicodedata.normalize('NFKC', letter)}")
            else:
                parts.append(unicodedata.normalize("NFKC", letter))
        text = "".join(parts).translate(_SIGNS)
    return text.strip()


def _plain(text: str) -> Fraction | None:
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > _LARGEST_EXPONENT:
        return None
    return Fraction(mantissa.rstrip(".")) * Fraction(10) ** int(exponent or 0)


def _suffixed(text: str) -> Fraction | None:
    match = _SUFFIXED.fullmatch(text)
    if match is None:
        return None
    digits = match[1]
    if not (_PLAIN.fullmatch(digits) or _GROUPED.fullmatch(digits)):
        return None
    return Fraction(digits.replace(",", "").rstrip(".")) * _SUFFIXES[match[2]]


def _ratio(text: str) -> Fraction | None:
    match = _RATIO.fullmatch(text)
    if match is None or int(match[4]) == 0:
        return None
    value = Fraction(int(match[2] or 0)) + Fraction(int(match[3]), int(match[4]))
    return -value if match[1] == "-" else value
