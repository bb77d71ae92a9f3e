"""Chinese numerals, alone or mixed with digits ("1.5万", "3千5"). What only approximates ("三四", "十几") is no number."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from toolhand.core.lazily import lazy_pattern

_DIGITS: Final = {
    **dict(zip("零一二三四五六七八九", range(10), strict=True)),
    **dict(zip("零壹贰叁肆伍陆柒捌玖", range(10), strict=True)),
    **dict(zip("零壹貳參肆伍陸柒捌玖", range(10), strict=True)),
    "〇": 0,
    "○": 0,
    "两": 2,
    "兩": 2,
}
_TWOS: Final = "两兩"
_ZEROS: Final = "零〇○"
_SMALL: Final = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_LARGE: Final = (("亿億", 10**8), ("万萬", 10**4))
_LETTERS: Final = lazy_pattern(
    rf"[{''.join(_DIGITS)}{''.join(_SMALL)}万萬亿億廿卅半点點负負分之又\d.]+", re.ASCII
)
_TOKEN: Final = lazy_pattern(r"\d+(?:\.\d+)?|.", re.ASCII)
_ARABIC: Final = lazy_pattern(r"\d+(\.\d+)?", re.ASCII)


def read_chinese(text: str) -> Fraction | None:
    """The number that a text is; None where it is not exactly one.

    Args:
        text: such as "一百零五", "两万五", "负三点一四", "三分之二", "一半", "二〇二六", "1.5万". Per cent (百分之) is not read
            here: whether it is a hundredth depends on the parameter.
    """
    if not _LETTERS.fullmatch(text):
        return None
    if text[0] in "负負":
        value = read_chinese(text[1:]) if text[1:2] not in ("负", "負") else None
        return None if value is None else -value
    if text in ("半", "一半"):
        return Fraction(1, 2)
    if "分之" in text:
        return _fraction(text)
    head, point, tail = text.replace("點", "点").partition("点")
    return _decimal(head, tail) if point else _cardinal(text)


def _fraction(text: str) -> Fraction | None:
    whole_text, _, rest = text.rpartition("又")
    below, _, above = rest.partition("分之")
    whole = _cardinal(whole_text) if whole_text else Fraction(0)
    bottom = {"千": Fraction(1000), "万": Fraction(10000)}.get(below) or _cardinal(below)
    top = None if "分之" in above or not above else read_chinese(above)
    if whole is None or not bottom or top is None:
        return None
    return whole + top / bottom


def _decimal(head: str, tail: str) -> Fraction | None:
    scale = Fraction(1)
    for letters, unit in _LARGE:
        if tail[-1:] and tail[-1] in letters:
            tail, scale = tail[:-1], Fraction(unit)
            break
    whole = _cardinal(head)
    digits = [_DIGITS.get(letter) for letter in tail]
    if whole is None or not digits or None in digits or "两" in tail:
        return None
    return (whole + Fraction(int("".join(map(str, digits))), 10 ** len(digits))) * scale


def _cardinal(text: str, *, is_multiplier: bool = False) -> Fraction | None:
    """A whole number, or a decimal in digits with a Chinese unit behind it."""
    text = text.replace("廿", "二十").replace("卅", "三十")
    for letters, unit in _LARGE:
        found = [index for index, letter in enumerate(text) if letter in letters]
        if found:
            if len(found) > 1:
                return None
            at = found[0]
            return _around(text[:at], text[at + 1 :], unit)
    return _section(text, is_multiplier=is_multiplier)


def _around(left: str, right: str, unit: int) -> Fraction | None:
    """The value of `left`万`right`."""
    times = _cardinal(left, is_multiplier=True)
    if not times:
        return None
    value = times * unit
    if not right:
        return value
    if value.denominator != 1 or "." in left:
        return None
    rest = right.lstrip(_ZEROS)
    has_zero = rest != right
    addend = _cardinal(rest) if rest else None
    if addend is None or addend.denominator != 1 or not 0 < addend < unit or len(right) - len(rest) > 1:
        return None
    if rest.isdecimal() and rest.isascii():
        if len(rest) == 1 and not has_zero:
            return value + addend * unit / 10
        return value + addend if 10 ** (len(rest)) * 10 >= unit and not rest.startswith("0") else None
    if len(rest) == 1 and not has_zero:
        # 两万五 is 25 000; only 两 does not stand there.
        return value + addend * unit / 10 if rest not in "两兩十拾百千" else None
    return value + addend


def _section(text: str, *, is_multiplier: bool) -> Fraction | None:
    """A number below ten thousand, or digits read one by one."""
    if _ARABIC.fullmatch(text):
        return Fraction(text)
    if text and all(letter in _DIGITS for letter in text):
        return _digit_by_digit(text)
    if is_multiplier and text in ("百", "千", "佰", "仟"):
        return Fraction(_SMALL[text])
    tokens = _TOKEN.findall(text)
    total, last, zero = Fraction(0), 10**4, False
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in _ZEROS:
            if zero or not total:
                return None
            zero, at = True, at + 1
            continue
        unit = _SMALL.get(token)
        if unit is not None:  # 十五, 一百十五
            if unit != 10 or last <= 10:
                return None
            total, last, zero, at = total + 10, 10, False, at + 1
            continue
        number = _digit(token)
        following = _SMALL.get(tokens[at + 1]) if at + 1 < len(tokens) else None
        if number is None:
            return None
        if following is not None:
            is_alone = len(tokens) == 2
            if (
                following >= last
                or ((number >= 10 or number.denominator != 1) and not is_alone)
                or not number
            ):
                return None
            total, last, zero, at = total + number * following, following, False, at + 2
            continue
        if (
            at + 1 != len(tokens)
            or not total
            or number >= 10
            or number.denominator != 1
            or token in _TWOS
            or not number
        ):
            return None
        # 一百五 is 150, 一百零五 is 105.
        return total + number * (1 if zero or last == 10 else last // 10)
    return None if zero or not total else total


def _digit(token: str) -> Fraction | None:
    if token in _DIGITS:
        return Fraction(_DIGITS[token])
    return Fraction(token) if _ARABIC.fullmatch(token) else None


def _digit_by_digit(text: str) -> Fraction | None:
    """二〇二六; but 三四 and 三五 mean "three or four", "three to five", and 两 is no digit in a row."""
    if len(text) == 1:
        return Fraction(_DIGITS[text])
    if "两" in text or "兩" in text or (len(text) == 2 and not any(letter in _ZEROS for letter in text)):
        return None
    return Fraction(int("".join(str(_DIGITS[letter]) for letter in text)))
