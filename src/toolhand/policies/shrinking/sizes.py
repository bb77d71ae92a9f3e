"""How many characters a value takes in a model's context."""

from __future__ import annotations

import json
from typing import Any, Final

from toolhand.core.largeness import is_large

_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
"""As `core.jsonable.result_text` writes values, but made once."""

_STEP: Final = 65_536
_BATCH: Final = 64
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
    if not isinstance(value, list | dict) or not value or depth >= _MOST_DEPTH:
        return len(_ENCODE(value))
    joints = 2 * len(value)  # the brackets, and a comma and a blank between
    if isinstance(value, list):
        return joints + sum(
            _size_inside(value[at : at + _BATCH], depth) for at in range(0, len(value), _BATCH)
        )
    items = list(value.items())
    batches = (dict(items[at : at + _BATCH]) for at in range(0, len(items), _BATCH))
    return joints + sum(_size_inside(batch, depth) for batch in batches)


def _size_inside(batch: list[Any] | dict[str, Any], depth: int) -> int:
    """Characters of some items, without what stands around and between them."""
    if not is_large(batch):
        return len(_ENCODE(batch)) - 2 * len(batch)
    if isinstance(batch, list):
        return sum(_size_in_parts(item, depth + 1) for item in batch)
    return sum(len(_ENCODE({key: 0})) - 3 + _size_in_parts(item, depth + 1) for key, item in batch.items())


def size_alone(value: Any) -> int:
    """Characters of a whole result: a text stands there as it is."""
    return len(value) if isinstance(value, str) else size(value)
