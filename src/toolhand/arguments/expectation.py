"""What a schema asks for, in few words that hold in every language, and one right example of it."""

from __future__ import annotations

import json
from typing import Any, Final

from toolhand.arguments.shape import Shape

_MOST_OPTIONS: Final = 30
_DEEPEST: Final = 6
_FORMS: Final = {
    "date": "YYYY-MM-DD",
    "date-time": "YYYY-MM-DDThh:mm:ss+hh:mm",
    "time": "hh:mm:ss",
}
_EXAMPLES: Final = {
    "date": "2026-03-05",
    "date-time": "2026-03-05T15:30:00+08:00",
    "time": "15:30:00",
    "email": "name@example.com",
    "uri": "https://example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
_LIMITS: Final = {
    "minimum": ">= {}",
    "exclusiveMinimum": "> {}",
    "maximum": "<= {}",
    "exclusiveMaximum": "< {}",
    "multipleOf": "multiple of {}",
    "minLength": "length >= {}",
    "maxLength": "length <= {}",
    "minItems": "items >= {}",
    "maxItems": "items <= {}",
    "minProperties": "members >= {}",
    "maxProperties": "members <= {}",
    "pattern": "pattern {}",
}


def written(value: Any) -> str:
    """A value as JSON, never escaped."""
    return json.dumps(value, ensure_ascii=False, default=str)


def options_of(shape: Shape) -> list[Any]:
    """The allowed values, of a union's branches too, or nothing."""
    if shape.options is not None:
        return list(shape.options)
    parts = [branch for branch in shape.alternatives() if branch.types != ("null",)]
    if shape.branches and all(part.options is not None for part in parts):
        return [option for part in parts for option in part.options or ()]
    return []


def expectation(shape: Shape, depth: int = 0) -> str:
    """Such as `integer (>= 1, <= 10)`, `array of string`, `one of "low", "high"`, `integer or null`."""
    if shape.options is not None:
        options = [written(option) for option in shape.options[:_MOST_OPTIONS]]
        return options[0] if len(options) == 1 else f"one of {', '.join(options)}"
    if shape.branches:
        parts = dict.fromkeys(expectation(branch, depth) for branch in shape.branches)
        return " or ".join(parts)
    if not shape.types:
        return "any value"
    return " or ".join(_of_type(kind, shape, depth) for kind in shape.types)


def _of_type(kind: str, shape: Shape, depth: int) -> str:
    text = kind
    if kind == "array" and shape.items is not None and depth < _DEEPEST:
        inner = expectation(shape.items, depth + 1)
        text = f"array of ({inner})" if " or " in inner else f"array of {inner}"
    elif kind == "object" and shape.properties and depth < 1:
        text = f"object with {', '.join(shape.properties)}"
    limits = [
        form.format(shape.raw[key])
        for key, form in _LIMITS.items()
        if key in shape.raw and _concerns(key, kind)
    ]
    if kind == "string" and shape.raw.get("format") in _FORMS:
        limits.insert(0, _FORMS[shape.raw["format"]])
    elif kind == "string" and shape.raw.get("format"):
        limits.insert(0, str(shape.raw["format"]))
    return f"{text} ({', '.join(limits)})" if limits else text


def _concerns(keyword: str, kind: str) -> bool:
    if keyword.endswith("Length") or keyword == "pattern":
        return kind == "string"
    if keyword.endswith("Items"):
        return kind == "array"
    if keyword.endswith("Properties"):
        return kind == "object"
    return kind in ("integer", "number")


def stand_in(shape: Shape | None, *, text: str = "x") -> Any:
    """An example, or a text where none is found: for a place that must hold something.

    Args:
        shape: what the value must be; None where nobody says.
        text: what stands for any text.
    """
    found = None if shape is None else example(shape, text=text)
    return text if found is None else found


def example(shape: Shape, depth: int = 0, *, text: str = "text") -> Any:
    """A value that fits, made from the schema alone; None where none is found easily.

    Args:
        shape: what it must be.
        depth: how deep in a larger one it stands.
        text: what stands for any text.
    """
    for candidate in _candidates(shape, depth, text):
        if candidate is not None and shape.fits(candidate):
            return candidate
    return None


def _candidates(shape: Shape, depth: int, text: str) -> list[Any]:
    found: list[Any] = []
    examples = shape.raw.get("examples")
    if isinstance(examples, list):
        found += examples
    found.append(shape.raw.get("example"))
    found += list(shape.options or ())
    found.append(shape.raw.get("default"))
    if depth >= _DEEPEST:
        return found
    found += [example(branch, depth + 1, text=text) for branch in shape.branches]
    for kind in shape.types or ("string",):
        found += _of_kind(kind, shape, depth, text)
    return found


def _of_kind(kind: str, shape: Shape, depth: int, text: str) -> list[Any]:
    if kind in ("integer", "number"):
        bounds = [
            shape.raw.get(key)
            for key in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
        ]
        numbers = [
            bound for bound in bounds if isinstance(bound, int | float) and not isinstance(bound, bool)
        ]
        return [3, 1, *numbers, *(number + 1 for number in numbers), *(number - 1 for number in numbers), 0.5]
    if kind == "string":
        short = shape.raw.get("minLength")
        long = "x" * short if isinstance(short, int) and 0 < short < 200 else "x"
        return [_EXAMPLES.get(str(shape.raw.get("format")), text), text, long, "1", "A1", "abc"]
    if kind == "boolean":
        return [True, False]
    if kind == "array":
        part = shape.items
        inner = text if part is None else example(part, depth + 1, text=text)
        count = shape.raw.get("minItems")
        times = count if isinstance(count, int) and 0 < count < 10 else 1
        prefix = [example(first, depth + 1, text=text) for first in shape.prefix]
        return [[*prefix, *[inner] * times], prefix, []]
    if kind == "object":
        required = {
            name: example(part, depth + 1, text=text)
            for name, part in shape.properties.items()
            if name in shape.required
        }
        every = (
            {name: example(part, depth + 1, text=text) for name, part in shape.properties.items()}
            if depth < 2
            else {}
        )
        return [required or every, {}]
    return []


def example_arguments(shape: Shape, names: frozenset[str]) -> dict[str, Any] | None:
    """Right arguments for a tool: all that is required, and the named ones; None where some value is not found."""
    wanted = [name for name in shape.properties if name in shape.required or name in names]
    found = {name: example(shape.properties[name]) for name in wanted}
    return found if found and all(value is not None for value in found.values()) else None
