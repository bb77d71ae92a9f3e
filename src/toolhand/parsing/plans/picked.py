"""Which part of a result is meant where a parameter wants a text or a number, and a plan hands on the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from toolhand.parsing.plans.values import folded

_SCALARS: Final = frozenset(("string", "integer", "number", "boolean", "null"))
_NUMBERS: Final = frozenset(("integer", "number"))
_DEEPEST: Final = 3
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[\u3400-\u9fff]+")
_SAY_NOTHING: Final = frozenset(("the", "of", "a", "an", "to", "for", "in", "or", "and", "its"))

Field: TypeAlias = tuple[str, str | int | float]


def picked(value: Any, name: str, schema: Any, *, guesses: bool = True) -> Any:
    """What of an object is meant where a text or a number is wanted.

    The field of the parameter's name, or the only one. Else the one whose name shares most words with the parameter's name and
    description, or the only one of the wanted kind; first among the object's own fields, then deeper. A list of one object counts
    as that object. Where it is not clear, the value stays as it is.

    Args:
        value: what a reference came to.
        name: the parameter's name.
        schema: the parameter's JSON Schema.
        guesses: whether words and kinds may decide: not for a tool that changes something.
    """
    if not isinstance(value, Mapping | list) or not _wants_scalar(schema):
        return value
    whole = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(whole, Mapping):
        return whole if isinstance(whole, str | int | float) else value
    every = list(_fields(whole))
    named = [inner for key, inner in every if folded(key) == folded(name)]
    own = [(key, inner) for key, inner in whole.items() if isinstance(inner, str | int | float)]
    if len(named) == 1 or len(every) == 1:
        return named[0] if len(named) == 1 else every[0][1]
    for fields in (own, every) if guesses else ():
        if (found := _likeliest(fields, name, schema)) is not None:
            return found
    return value


def _likeliest(fields: list[Field], name: str, schema: Mapping[str, Any]) -> str | int | float | None:
    about = _words(f"{name} {schema.get('description') or ''}")
    ranked = sorted(((len(_words(key) & about), inner) for key, inner in fields), key=lambda pair: -pair[0])
    if ranked and ranked[0][0] and (len(ranked) == 1 or ranked[0][0] > ranked[1][0]):
        return ranked[0][1]
    wants_number = schema.get("type") in _NUMBERS
    fitting = [inner for _, inner in fields if isinstance(inner, int | float) == wants_number]
    return fitting[0] if len(fitting) == 1 else None


def _fields(value: Mapping[Any, Any]) -> Iterator[Field]:
    """The texts and numbers in an object, its own first; of lists only those of one item are gone into."""
    todo: list[tuple[Mapping[Any, Any], int]] = [(value, 0)]
    for found, depth in todo:
        for key, inner in found.items():
            held = inner[0] if isinstance(inner, list) and len(inner) == 1 else inner
            if isinstance(held, str | int | float) and not isinstance(held, bool):
                yield str(key), held
            elif isinstance(held, Mapping) and depth < _DEEPEST:
                todo.append((held, depth + 1))


def _words(text: str) -> frozenset[str]:
    """The words of a name or a sentence: English ones, pairs of Chinese characters."""
    found: set[str] = set()
    for part in _PART.findall(text):
        if part[0] >= "\u3400":
            found |= {part[at : at + 2] for at in range(len(part) - 1)} or {part}
        else:
            found.add(part.casefold())
    return frozenset(found) - _SAY_NOTHING


def _wants_scalar(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return all(_wants_scalar(option) for option in options)
    kinds = schema.get("type")
    named = {kinds} if isinstance(kinds, str) else set(kinds or ())
    return bool(named) and named <= _SCALARS
