"""What expressions come to: parts of results, texts put together, conditions."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.core.jsonable import jsonable
from toolhand.parsing.plans.nodes import Expression, ListOf, Literal, ObjectOf, Reference, Template, Test


class NoValue(Exception):  # noqa: N818 - an outcome of a step, which becomes a `ToolError`
    """A part that a result does not have, or two values that cannot be compared.

    Args:
        key: which sentence says so.
        words: what is put into it.
    """

    def __init__(self, key: str, /, **words: Any) -> None:
        super().__init__(key)
        self.key, self.words = key, words


class Unseen(str):
    """A value that a dry run does not have, as it is written in the plan."""

    __slots__ = ()


def value_of(expression: Expression, variables: Mapping[str, Any]) -> Any:
    """An expression's value, in JSON's types.

    Raises:
        NoValue: when a result has no such part.
    """
    match expression:
        case Literal(value=value):
            return value
        case Reference():
            return _referred(expression, variables)
        case Template(parts=parts):
            return "".join(
                part if isinstance(part, str) else _shaped(_referred(part, variables), part.shape)
                for part in parts
            )
        case ListOf(items=items):
            return [value_of(item, variables) for item in items]
        case ObjectOf(fields=fields):
            return {key: value_of(value, variables) for key, value in fields}
    return holds(expression, variables)


def text_of(value: Any) -> str:
    """A value as it stands in a text."""
    return value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False)


def _shaped(value: Any, shape: str) -> str:
    """A value as it stands in a text, a number in the shape that is asked for."""
    if shape and isinstance(value, int | float):
        with contextlib.suppress(ValueError):
            return format(value, shape)
    return text_of(value)


def holds(expression: Expression, variables: Mapping[str, Any]) -> bool:
    """Whether a condition holds.

    Raises:
        NoValue: when it cannot be told.
    """
    if not isinstance(expression, Test):
        return _is_true(value_of(expression, variables))
    left, *rest = expression.operands
    match expression.operator:
        case "not":
            return not holds(left, variables)
        case "and":
            return holds(left, variables) and all(holds(part, variables) for part in rest)
        case "or":
            return holds(left, variables) or any(holds(part, variables) for part in rest)
    return _compared(expression.operator, value_of(left, variables), value_of(rest[0], variables))


def _referred(reference: Reference, variables: Mapping[str, Any]) -> Any:
    if reference.name not in variables:
        raise NoValue("unknown", name=reference.name)
    value, seen = variables[reference.name], f"${reference.name}"
    for key in reference.path:
        value = (
            Unseen(Reference(reference.name, reference.path))
            if isinstance(value, Unseen)
            else _part(value, key, seen)
        )
        seen = f"{seen}.{key}" if isinstance(key, str) else f"{seen}[{key}]"
    return value


def _part(value: Any, key: str | int, seen: str) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):  # a tool that gives JSON as text
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise NoValue("no_parts", name=seen, key=key) from None
    if isinstance(value, Mapping):
        if key in value or str(key) in value:
            return value[key] if key in value else value[str(key)]
        alike = [name for name in value if folded(name) == folded(key)]
        if len(alike) == 1:
            return value[alike[0]]
        raise NoValue("no_key", name=seen, key=key, keys=", ".join(map(str, list(value)[:20])))
    if isinstance(value, Sequence) and not isinstance(value, str):
        if isinstance(key, int):
            if -len(value) <= key < len(value):
                return value[key]
            raise NoValue("no_item", name=seen, key=key, count=len(value))
        if key in {"length", "size", "count"}:
            return len(value)
        raise NoValue("is_list", name=seen, key=key)
    raise NoValue("no_parts", name=seen, key=key)


def folded(key: object) -> str:
    """A key without case, blanks, underscores and hyphens."""
    return re.sub(r"[\s_\-]+", "", str(key)).casefold()


def _is_true(value: Any) -> bool:
    if isinstance(value, Unseen):
        raise NoValue("unseen", name=value)
    if isinstance(value, str):
        return value.strip().casefold() not in {"", "false", "no", "none", "null", "0", "否"}
    return bool(value)


def _plain(value: Any) -> Any:
    """A value as it is compared: numbers by their size, texts without case and the blanks around them."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        said = value.strip().casefold()
        try:
            return float(said) if said[:1].isdigit() or said[:1] in "+-." else said
        except ValueError:
            return said
    return float(value) if isinstance(value, int) else value


def _compared(operator: str, left: Any, right: Any) -> bool:
    for value in (left, right):
        if isinstance(value, Unseen):
            raise NoValue("unseen", name=value)
    if operator not in {"contains", "in"}:
        left, right = _sole(left, right), _sole(right, left)
    match operator:
        case "==":
            return bool(_plain(left) == _plain(right))
        case "!=":
            return bool(_plain(left) != _plain(right))
        case "contains":
            return _contains(left, right)
        case "in":
            return _contains(right, left)
    one, other = _plain(left), _plain(right)
    if type(one) is not type(other) or not isinstance(one, float | str):
        raise NoValue("unequal", left=text_of(left)[:60], right=text_of(right)[:60])
    by_operator: dict[str, bool] = {
        "<": one < other,
        "<=": one <= other,
        ">": one > other,
        ">=": one >= other,
    }
    return by_operator[operator]


def _sole(value: Any, other: Any) -> Any:
    """The only value of an object that is compared with something that is none."""
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(other, str | int | float):
        return next(iter(value.values()))
    return value


def _contains(whole: Any, part: Any) -> bool:
    """Whether a text has another in it, a list an item, an object a key; also in the parts of a list or an object."""
    if isinstance(whole, str):
        return str(text_of(part)).strip().casefold() in whole.casefold()
    if isinstance(whole, Mapping):
        return part in whole or any(_contains(inner, part) for inner in whole.values())
    if isinstance(whole, Sequence):
        return any(
            _plain(item) == _plain(part) or (isinstance(item, Mapping) and _contains(item, part))
            for item in whole
        )
    return bool(_plain(whole) == _plain(part))


def is_open(value: Any) -> bool:
    """Whether a value hangs on something that a dry run does not have."""
    if isinstance(value, Mapping):
        return any(is_open(inner) for inner in value.values())
    return isinstance(value, Unseen) or (isinstance(value, list) and any(is_open(inner) for inner in value))
