"""A number in a string, with its percent sign, currency or unit where the schema says what that means."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from toolhand.arguments.coerce.numerals import is_digits, is_grouped, read_number
from toolhand.arguments.coerce.units import (
    PLACELESS,
    Unit,
    declared_unit,
    is_about_money,
    take_parts,
    take_prefix,
    take_suffix,
)
from toolhand.arguments.shape import Shape
from toolhand.core.lazily import lazy_pattern

_LONGEST: Final = 100
_RATIO: Final = lazy_pattern(
    r"ratio|fraction|probability|share|proportion|比例|概率|占比|"
    r"between 0 and 1\b|\b0\s*[-–~到至]\s*1(?![\d.])|0\.0\s*[-–~到至]\s*1",
    re.IGNORECASE,
)
_PERCENT: Final = lazy_pattern(r"percent|pct|%|百分|％", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that a text is.

    Args:
        value: the number in the unit that the schema declares.
        kinds: the liberties taken.
    """

    value: Fraction
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoQuantity:
    """Why a text is not a number for a parameter.

    Args:
        note: a key of `words.NOTES`, or "".
    """

    note: str = ""


def read_quantity(text: str, shape: Shape, *, whole: bool) -> Quantity | NoQuantity:
    """The number that a text is, for the parameter that it was sent to.

    Args:
        text: what was sent.
        shape: what is declared.
        whole: whether only an integer will do.
    """
    number = read_number(text)
    if number is not None:
        return Quantity(number, (_kind(text),))
    if len(text) > _LONGEST:
        return NoQuantity()
    bare = unicodedata.normalize("NFKC", text).strip()
    if "²" in text or "³" in text:
        bare = text.strip()
    if bare.endswith(("元整", "圆整", "块整")):
        bare = bare[:-1]
    if bare.startswith("零下"):
        below = read_quantity(bare[2:], shape, whole=whole)
        return (
            below
            if isinstance(below, NoQuantity)
            else Quantity(-below.value, ("spoken_number", *below.kinds))
        )
    percent = _percent(bare)
    if percent is not None:
        return _as_declared(percent, shape, whole=whole)
    declared = declared_unit(shape)
    prefixed = take_prefix(bare)
    if prefixed is not None:
        rest = take_suffix(prefixed[0])
        amount = rest[0] if rest is not None and rest[1] == prefixed[1] else prefixed[0]
        return _with_unit(read_number(amount), prefixed[1], declared, shape)
    return _measured(bare, declared, shape)


def _kind(text: str) -> str:
    if is_digits(text):
        return "string_to_number"
    return "grouped_digits" if is_grouped(text) else "spoken_number"


def _percent(text: str) -> Fraction | None:
    """The number before a percent sign."""
    if text.startswith("百分之"):
        return read_number(text[3:])
    for sign in ("%", "percent", "per cent", "pct"):
        if text.lower().endswith(sign):
            return read_number(text[: -len(sign)].strip())
    tenths = read_number(text[:-1]) if text.endswith("成") else None
    return None if tenths is None else tenths * 10


def _as_declared(percent: Fraction, shape: Shape, *, whole: bool) -> Quantity | NoQuantity:
    """20 % as 20 or as 0.2: only where the schema leaves one of them."""
    declared = declared_unit(shape)
    smallest, largest = shape.raw.get("minimum"), shape.raw.get("maximum")
    said = f"{shape.name} {shape.raw.get('description') or ''}"
    says_percent, says_ratio = _PERCENT.search(said) is not None, _RATIO.search(said) is not None
    if declared is not None and declared.dimension != "percent":
        return NoQuantity("unit")
    if largest == 1 or (says_ratio and not says_percent and largest is None):
        return Quantity(percent / 100, ("percent",))
    if (says_percent and not says_ratio) or (smallest == 0 and largest == 100) or whole:
        return Quantity(percent, ("percent",))
    return NoQuantity("percent")


def _measured(text: str, declared: Unit | None, shape: Shape) -> Quantity | NoQuantity:
    half = Fraction(0)
    rest = text
    for ending in ("半", " and a half"):
        if (
            text.endswith(ending)
            and take_suffix(text[: -len(ending)]) is not None
            and not text.endswith("个半")
        ):
            rest, half = text[: -len(ending)], Fraction(1, 2)
    suffixed = take_suffix(rest)
    if suffixed is not None:
        amount = _amount(suffixed[0])
        if amount is not None:
            if half and suffixed[1].dimension == PLACELESS:
                return NoQuantity()
            return _with_unit(amount + half, suffixed[1], declared, shape)
    parts = take_parts(text)
    if parts is None or declared is None:
        return (
            NoQuantity("unit") if parts or (suffixed and _amount(suffixed[0]) is not None) else NoQuantity()
        )
    total = Fraction(0)
    last: Fraction | None = None
    for number, unit in parts:
        amount = _amount(number)
        falls = last is None or unit.factor < last
        if amount is None or unit.dimension != declared.dimension or not falls:
            return NoQuantity("unit") if amount is not None else NoQuantity()
        total, last = total + amount * unit.factor, unit.factor
    return Quantity(total / declared.factor, ("spoken_number", "unit_converted"))


def _amount(text: str) -> Fraction | None:
    """The number before a unit: 两个, 一个半, half an, a."""
    text = text.strip()
    lowered = text.lower()
    if lowered in ("a", "an"):
        return Fraction(1)
    if lowered in ("half a", "half an", "半个"):
        return Fraction(1, 2)
    if text.endswith("个半"):
        whole = read_number(text[:-2])
        return None if whole is None else whole + Fraction(1, 2)
    return read_number(text.removesuffix("个"))


def _with_unit(
    amount: Fraction | None, unit: Unit, declared: Unit | None, shape: Shape
) -> Quantity | NoQuantity:
    if amount is None:
        return NoQuantity()
    if unit == declared:
        return Quantity(amount, ("unit_dropped",))
    if declared is None:
        is_plain = unit.dimension == PLACELESS or (
            unit.dimension.startswith("money") and is_about_money(shape)
        )
        return Quantity(amount, ("unit_dropped",)) if is_plain else NoQuantity("unit")
    if unit.dimension == declared.dimension:
        return Quantity(amount * unit.factor / declared.factor, ("unit_converted",))
    if unit.dimension == "degrees" and declared.dimension in ("celsius", "fahrenheit"):
        return Quantity(amount, ("unit_dropped",))
    return NoQuantity("unit")
