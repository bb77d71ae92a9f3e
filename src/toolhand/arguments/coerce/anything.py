"""Values of no declared type: only what could not be encoded is mended."""

from __future__ import annotations

import math
from typing import Any, Final

from toolhand.arguments.checks import SURROGATES
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import Refused, Trouble
from toolhand.arguments.paths import item, member
from toolhand.arguments.shape import Shape
from toolhand.core.lazily import lazy_pattern

_PAIR: Final = lazy_pattern("[\ud800-\udbff][\udc00-\udfff]")


def encodable(text: str) -> str:
    """A text with surrogate pairs joined and lone halves replaced, so that it can be written as UTF-8."""
    joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return SURROGATES.sub("\ufffd", joined)


def mended(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """The same value with its texts encodable; refused where a number is none or a type is not JSON's."""
    if isinstance(sent, str):
        text = encodable(sent)
        if text != sent:
            walk.note("surrogates_mended", path, sent, text)
        return text
    if isinstance(sent, float) and not math.isfinite(sent):
        return refuse(Trouble.VALUE, shape, path, sent, note="not_finite")
    if isinstance(sent, bool | int | float | None):
        return sent
    if isinstance(sent, list | tuple):
        values = [mended(value, shape, item(path, index), walk) for index, value in enumerate(sent)]
        return _first_refusal(values) or values
    if isinstance(sent, dict):
        members = {
            encodable(str(key)): mended(value, shape, member(path, str(key)), walk)
            for key, value in sent.items()
        }
        return _first_refusal(list(members.values())) or members
    return refuse(Trouble.TYPE, shape, path, sent)


def _first_refusal(values: list[Any]) -> Refused | None:
    return next((value for value in values if type(value) is Refused), None)
