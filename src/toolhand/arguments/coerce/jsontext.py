"""JSON, or nearly JSON, inside a string."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from toolhand.parsing.loose import LooseError, read_value


class NotJson(Enum):
    """The type of `NOT_JSON`."""

    NOT_JSON = "not JSON"


NOT_JSON: Final = NotJson.NOT_JSON


def read_json(text: str, *, is_nested: bool = True) -> Any:
    """The value that a string holds as JSON or as a Python literal, or `NOT_JSON`.

    A value that was cut, or that something follows, is none: what is missing there cannot be known.

    Args:
        text: the string.
        is_nested: whether a JSON string that itself holds JSON is read once more.
    """
    try:
        read = read_value(text)
    except (LooseError, RecursionError):
        return NOT_JSON
    if not read.is_complete or text[read.end :].strip():
        return NOT_JSON
    value = read.value
    if is_nested and isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        return read_json(value, is_nested=False)  # JSON that was written out twice
    return value
