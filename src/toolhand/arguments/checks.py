"""Whether a value can be passed on exactly as it is: one predicate a shape, and the limits that a schema can set.

The same limits serve twice: joined into the predicate of the fast path, and one by one to say which of them was broken.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from toolhand.arguments.iso import is_iso
from toolhand.arguments.patterns import matcher
from toolhand.arguments.shape import Predicate, Shape

SURROGATES: Final = re.compile("[\ud800-\udfff]")
MAX_DEPTH: Final = 40
"""Arguments nested deeper than this are refused: no tool asks for them, and a model that writes them has lost its way."""

SENTINELS: Final = frozenset([
    "unknown", "null", "undefined", "n/a", "none", "nil", "nan", "not provided", "not specified",
    "unspecified", "<unknown>", "<null>", "<none>", "无", "未知", "未提供", "未指定", "没有", "不详", "暂无",
])  # fmt: skip
"""What models write into a parameter that they have nothing for."""

_LONGEST_SENTINEL: Final = max(map(len, SENTINELS)) + 4

_JSON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_ANY: Final[tuple[type, ...]] = (str, int, float, bool, type(None), list, dict)
_NAMES: Final[Mapping[type, str]] = dict(
    zip(_ANY, ("string", "number", "number", "boolean", "null", "array", "object"), strict=True)
)


def is_sentinel(text: str) -> bool:
    """Whether a string says that there is nothing, or is empty."""
    if len(text) > _LONGEST_SENTINEL:
        return False
    bare = text.strip()
    return not bare or bare.casefold() in SENTINELS


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, where true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)


def size(value: Any) -> int:
    """How many values there are in a value; -1 where it is nested deeper than `MAX_DEPTH`. Needs no stack of its own."""
    level = [value]
    count = 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        below: list[Any] = []
        for entry in level:
            if type(entry) is dict:
                below.extend(entry.values())
            elif type(entry) is list:
                below.extend(entry)
        if not below:
            return count
        level = below
    return -1


def is_clean(value: Any) -> bool:
    """Whether a value of no declared type is plain JSON that can be encoded: no lone surrogates, no NaN."""
    pending = [value]
    while pending:
        entry = pending.pop()
        kind = type(entry)
        if kind is str:
            if not entry.isascii() and SURROGATES.search(entry):
                return False
        elif kind is float:
            if not math.isfinite(entry):
                return False
        elif kind is dict:
            pending.extend(entry)
            pending.extend(entry.values())
        elif kind is list:
            pending.extend(entry)
        elif kind not in _ANY:
            return False
    return True


def limits(shape: Shape, kind: str) -> Iterator[tuple[str, Predicate]]:
    """The limits that a schema sets on values of a JSON type, keyword and test."""
    for keyword, make in _LIMITS.get(kind, {}).items():
        bound = shape.raw.get(keyword)
        if bound is not None and not isinstance(bound, bool):
            test = make(bound)
            if test is not None:
                yield keyword, test
    if kind == "array" and shape.raw.get("uniqueItems") is True:
        yield "uniqueItems", _are_unique
    if kind == "string" and shape.raw.get("format") in ("date", "date-time", "time"):
        form = str(shape.raw["format"])
        yield "format", lambda value: is_iso(value, form)


def _number(make: Callable[[Any, Any], bool]) -> Callable[[Any], Predicate | None]:
    def bounded(bound: Any) -> Predicate | None:
        return (lambda value: make(value, bound)) if isinstance(bound, int | float) else None

    return bounded


def _is_multiple(value: Any, step: Any) -> bool:
    try:
        quotient = Fraction(Decimal(repr(value))) / Fraction(Decimal(repr(step)))
    except (ArithmeticError, ValueError):
        return True
    return quotient.denominator == 1


def _matches(pattern: Any) -> Predicate | None:
    return matcher(str(pattern))  # a pattern of another dialect: better unchecked than every call refused


def _are_unique(values: list[Any]) -> bool:
    seen = {json.dumps(value, sort_keys=True, default=str) for value in values}
    return len(seen) == len(values)


_LIMITS: Final[Mapping[str, Mapping[str, Callable[[Any], Predicate | None]]]] = {
    "number": {
        "minimum": _number(lambda value, bound: value >= bound),
        "maximum": _number(lambda value, bound: value <= bound),
        "exclusiveMinimum": _number(lambda value, bound: value > bound),
        "exclusiveMaximum": _number(lambda value, bound: value < bound),
        "multipleOf": _number(lambda value, bound: bound == 0 or _is_multiple(value, bound)),
    },
    "string": {
        "minLength": _number(lambda value, bound: len(value) >= bound),
        "maxLength": _number(lambda value, bound: len(value) <= bound),
        "pattern": _matches,
    },
    "array": {
        "minItems": _number(lambda value, bound: len(value) >= bound),
        "maxItems": _number(lambda value, bound: len(value) <= bound),
    },
    "object": {
        "minProperties": _number(lambda value, bound: len(value) >= bound),
        "maxProperties": _number(lambda value, bound: len(value) <= bound),
    },
}


def type_name(value: Any) -> str:
    """The JSON type of a value, with "number" for every number; "" for what JSON does not have."""
    if isinstance(value, bool):
        return "boolean"
    for name, types in _JSON_TYPES.items():
        if name != "integer" and isinstance(value, types):
            return name
    return ""


def finish(shape: Shape) -> None:
    """Sets the predicate of a shape."""
    if shape.never:
        shape.fits = lambda _: False
        return
    by_type = _tests_by_type(shape)
    whole = _whole_tests(shape)
    if not whole and all(not tests for tests in by_type.values()):
        shape.fits = lambda value: type(value) in by_type
    elif not whole and len(by_type) == 1:
        shape.fits = _of_one_type(*next(iter(by_type.items())))
    else:
        shape.fits = _joined(by_type, whole)


def _of_one_type(only: type, tests: tuple[Predicate, ...]) -> Predicate:
    if len(tests) == 1:
        (test,) = tests
        return lambda value: type(value) is only and test(value)
    return lambda value: type(value) is only and all(test(value) for test in tests)


def _joined(by_type: Mapping[type, tuple[Predicate, ...]], whole: tuple[Predicate, ...]) -> Predicate:
    def fits(value: Any) -> bool:
        tests = by_type.get(type(value))
        if tests is None:
            return False
        for test in tests:
            if not test(value):
                return False
        for test in whole:  # noqa: SIM110 - a generator would cost more than the tests themselves
            if not test(value):
                return False
        return True

    return fits


def _tests_by_type(shape: Shape) -> dict[type, tuple[Predicate, ...]]:
    types: list[type] = list(_ANY)
    if shape.types:
        types = [kind for name in shape.types for kind in _JSON_TYPES.get(name, ())]
    found: dict[type, tuple[Predicate, ...]] = {}
    is_union = bool(shape.branches) or shape.options is not None
    for kind in types:
        tests: list[Predicate] = []
        name = _NAMES[kind]
        if kind is str and not is_union:
            tests.append(_is_encodable)
        elif kind is float:
            tests.append(math.isfinite)
        elif kind is list and not is_union:
            tests.append(_array_test(shape))
        elif kind is dict and not is_union:
            tests.append(_object_test(shape))
        tests += [test for _, test in limits(shape, name)]
        found[kind] = tuple(tests)
    return found


def _whole_tests(shape: Shape) -> tuple[Predicate, ...]:
    tests: list[Predicate] = []
    if shape.options is not None:
        tests.append(_option_test(shape.options))
    if shape.branches:
        tests.append(_union_test(shape))
    tests += [_fits_later(part) for part in shape.also]
    return tuple(tests)


def _union_test(shape: Shape) -> Predicate:
    """Whether some branch fits. Where several branches take the same kind of container, outcomes are remembered.

    Without that, a recursive union such as an expression's takes a time that doubles with each level.
    """
    branches = shape.branches

    def fits(value: Any) -> bool:
        return any(branch.fits(value) for branch in branches)

    if all(
        sum(not part.types or kind in part.types for part in branches) < 2 for kind in ("object", "array")
    ):
        return fits

    def remembered(value: Any) -> bool:
        if type(value) is not dict and type(value) is not list:
            return fits(value)
        is_outermost = _memory.outcomes is None
        outcomes = _memory.outcomes = {} if _memory.outcomes is None else _memory.outcomes
        key = (id(shape), id(value))
        try:
            if key not in outcomes:
                outcomes[key] = fits(value)
            return outcomes[key]
        finally:
            if is_outermost:
                _memory.outcomes = None

    return remembered


class _Memory(threading.local):
    """What unions found in the check that is under way in a thread."""

    outcomes: dict[tuple[int, int], bool] | None = None


_memory = _Memory()


def _option_test(options: tuple[Any, ...]) -> Predicate:
    if all(type(option) is str for option in options):
        known = frozenset(options)
        return lambda value: type(value) is str and value in known
    return lambda value: any(same(value, option) for option in options)


def _fits_later(shape: Shape) -> Predicate:
    return lambda value: shape.fits(value)  # noqa: PLW0108 - its own predicate may not be there yet


def _is_encodable(value: Any) -> bool:
    return value.isascii() or SURROGATES.search(value) is None


def _array_test(shape: Shape) -> Predicate:
    prefix, items = shape.prefix, shape.items
    if not prefix and items is None:
        return is_clean

    def fits(values: Any) -> bool:
        for index, value in enumerate(values):
            part = prefix[index] if index < len(prefix) else items
            if not (is_clean(value) if part is None else part.fits(value)):
                return False
        return True

    return fits


def _object_test(shape: Shape) -> Predicate:
    properties, extra = shape.properties, shape.extra
    required = frozenset(shape.required)
    if not properties and not required and extra is not None and not extra.raw:
        return is_clean

    def fits(members: Any) -> bool:
        if not required <= members.keys():
            return False
        for key, value in members.items():
            part = properties.get(key, extra)
            if part is None or not part.fits(value):
                return False
            if (
                type(value) is str
                and key not in required
                and key in properties
                and is_sentinel(value)
                and not part.names_value(value)
            ):
                return False
        return True

    return fits
