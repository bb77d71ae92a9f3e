"""How many characters a value takes in a model's context."""

from __future__ import annotations

import json
from typing import Any, Final

from toolhand.core.largeness import is_large

_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
"""As `core.jsonable.result_text` writes values, but made once."""

_STEP: Final = 65_536
_MOST_DEPTH: Final = 60


def size(value: Any) -> int:
    """Characters of a JSON value inside of another.

    A large one is encoded part by part: one call of the encoder holds the interpreter until it is through.
    """
    return _size_in_parts(value, 0) if is_large(value) else len(_ENCODE(value))


def _size_in_parts(value: Any, depth: int) -> int:
    if isinstance(value, str):
        starts = range(0, len(value), _STEP)
        return 2 + sum(len(_ENCODE(value[start : start + _STEP])) - 2 for start in starts)
    if isinstance(value, dict) and value and depth < _MOST_DEPTH:
        names = sum(len(_ENCODE({key: 0})) - 3 for key in value)
        return names + sum(_part(item, depth) for item in value.values()) + 2 * len(value)
    if isinstance(value, list) and value and depth < _MOST_DEPTH:
        return sum(_part(item, depth) for item in value) + 2 * len(value)
    return len(_ENCODE(value))


def _part(value: Any, depth: int) -> int:
    is_simple = not isinstance(value, str | list | dict) or len(value) < _MOST_SIMPLE
    return len(_ENCODE(value)) if is_simple and not _is_deep(value) else _size_in_parts(value, depth + 1)


_MOST_SIMPLE: Final = 256


def _is_deep(value: Any) -> bool:
    """Whether a part has parts of its own that may be long."""
    if not isinstance(value, list | dict):
        return False
    items = value.values() if isinstance(value, dict) else value
    return any(isinstance(item, str | list | dict) and len(item) >= _MOST_SIMPLE for item in items)


def size_alone(value: Any) -> int:
    """Characters of a whole result: a text stands there as it is."""
    return len(value) if isinstance(value, str) else size(value)
