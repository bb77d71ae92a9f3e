"""The table of coercers, one a JSON type, and the way through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolhand.arguments.checks import limits, type_name
from toolhand.arguments.coerce.anything import mended
from toolhand.arguments.coerce.array import coerce_array
from toolhand.arguments.coerce.boolean import coerce_boolean
from toolhand.arguments.coerce.enum import coerce_enum
from toolhand.arguments.coerce.null import coerce_null
from toolhand.arguments.coerce.number import coerce_integer, coerce_number
from toolhand.arguments.coerce.object import coerce_object
from toolhand.arguments.coerce.string import coerce_string
from toolhand.arguments.coerce.union import cheapest, coerce_union
from toolhand.arguments.coerce.walk import Coercer, Walk, refuse
from toolhand.arguments.faults import ABSENT, Refused, Trouble
from toolhand.arguments.shape import Shape

BY_TYPE: Final[Mapping[str, Coercer]] = {
    "string": coerce_string,
    "integer": coerce_integer,
    "number": coerce_number,
    "boolean": coerce_boolean,
    "array": coerce_array,
    "object": coerce_object,
    "null": coerce_null,
}


def coerce(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """What was sent as the shape declares it, or `Refused`.

    A value that fits is given back as it is. Whatever comes back otherwise fits: a liberty never ends in a value that
    the schema does not allow.
    """
    if shape.fits(sent):
        return sent
    value = _read(sent, shape, path, walk)
    if type(value) is Refused or shape.fits(value):
        return value
    kind = type_name(value)
    for keyword, test in limits(shape, kind):
        if not test(value):
            return refuse(Trouble.VALUE, shape, path, sent, note=keyword)
    return refuse(Trouble.VALUE, shape, path, sent)


def _read(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    if shape.never:
        return refuse(Trouble.TYPE, shape, path, sent)
    inner = _inside(sent, shape, path)
    if inner is not ABSENT:
        walk.note("unwrapped_value", path, sent, inner)
        return walk.read(inner, shape, path)
    if shape.options is not None:
        return coerce_enum(sent, shape, path, walk)
    if shape.branches:
        return coerce_union(sent, shape, path, walk)
    if not shape.types:
        return mended(sent, shape, path, walk)
    readers = [BY_TYPE[kind] for kind in shape.types if kind in BY_TYPE]
    if len(readers) == 1:
        return readers[0](sent, shape, path, walk)
    return cheapest(sent, shape, path, walk, readers)


def _inside(sent: Any, shape: Shape, path: str) -> Any:
    """The value in an object where none is declared: `{"value": 3}` or `{"type": "integer", "value": 3}`.

    Also a result that holds it under the parameter's own name, `{"order_id": "A-1", "total": 3}`, as a program hands it on.
    """
    if not isinstance(sent, dict):
        return ABSENT
    takes_objects = any(not part.types or "object" in part.types for part in shape.alternatives())
    if takes_objects and shape.options is None:
        return ABSENT
    if "value" in sent and sent.keys() <= {"value", "type"}:
        return sent["value"]
    inner = sent.get(path.rpartition(".")[2], ABSENT)
    return inner if isinstance(inner, str | int | float) else ABSENT
