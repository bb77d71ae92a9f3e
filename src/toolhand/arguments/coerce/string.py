"""Texts. A number keeps its digits; nothing else is written out as text, because the writing would be a guess."""

from __future__ import annotations

import math
from typing import Any, Final

from toolhand.arguments.coerce.anything import encodable
from toolhand.arguments.coerce.dates import read_moment
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import Trouble
from toolhand.arguments.shape import Shape

_MOMENTS: Final = ("date", "date-time", "time")


def coerce_string(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """A string from a number, a boolean or a list of one; a date or time in its written form where one is declared."""
    if isinstance(sent, list) and len(sent) == 1 and not isinstance(sent[0], list | dict):
        walk.note("array_to_item", path, sent, sent[0])
        return walk.read(sent[0], shape, path)
    if isinstance(sent, bool):
        text = "true" if sent else "false"
        walk.note("boolean_to_string", path, sent, text)
        return text
    if isinstance(sent, float) and not math.isfinite(sent):
        return refuse(Trouble.VALUE, shape, path, sent, note="not_finite")
    if isinstance(sent, int | float):
        text = _digits(sent)
        walk.note("number_to_string", path, sent, text)
    elif isinstance(sent, str):
        text = encodable(sent)
        if text != sent:
            walk.note("surrogates_mended", path, sent, text)
    else:
        return refuse(Trouble.TYPE, shape, path, sent)
    form = shape.raw.get("format")
    if form in _MOMENTS and not shape.fits(text):
        return read_moment(text, shape, path, walk)
    return text


def _digits(number: float) -> str:
    """A number's digits; one too long for Python's decimal writer keeps its value in an exponent."""
    try:
        return str(number)
    except ValueError:  # past sys.set_int_max_str_digits
        return hex(int(number))
