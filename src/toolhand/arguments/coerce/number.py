"""Integers and numbers: from digits in a string, from spoken numerals, with a unit where the schema names it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

from toolhand.arguments.coerce.quantity import NoQuantity, read_quantity
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import Trouble
from toolhand.arguments.shape import Shape

_SHORT: Final = 16


def coerce_integer(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """An integer; never by cutting off a fraction."""
    return _coerce(sent, shape, path, walk, whole=True)


def coerce_number(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """An integer or a float."""
    return _coerce(sent, shape, path, walk, whole=False)


def _coerce(sent: Any, shape: Shape, path: str, walk: Walk, *, whole: bool) -> Any:
    if isinstance(sent, list) and len(sent) == 1:
        walk.note("array_to_item", path, sent, sent[0])
        return walk.read(sent[0], shape, path)
    if isinstance(sent, bool):
        return refuse(Trouble.TYPE, shape, path, sent)
    if isinstance(sent, float) and not math.isfinite(sent):
        return refuse(Trouble.VALUE, shape, path, sent, note="not_finite")
    if isinstance(sent, int) or (isinstance(sent, float) and not whole):
        return sent
    if isinstance(sent, float):
        if not sent.is_integer():
            return refuse(Trouble.TYPE, shape, path, sent, note="fraction")
        walk.note("float_to_integer", path, sent, int(sent))
        return int(sent)
    if not isinstance(sent, str):
        return refuse(Trouble.TYPE, shape, path, sent)
    if len(sent) < _SHORT and sent.isascii() and sent.isdecimal():
        walk.note("string_to_number", path, sent, int(sent))
        return int(sent)
    quantity = read_quantity(sent, shape, whole=whole)
    if isinstance(quantity, NoQuantity):
        return refuse(Trouble.TYPE, shape, path, sent, note=quantity.note)
    number = quantity.value
    if whole and number.denominator != 1:
        return refuse(Trouble.TYPE, shape, path, sent, note="fraction")
    value = _plain(number)
    for kind in quantity.kinds:
        walk.note(kind, path, sent, value)
    return value


def _plain(number: Fraction) -> int | float:
    return number.numerator if number.denominator == 1 else float(number)
