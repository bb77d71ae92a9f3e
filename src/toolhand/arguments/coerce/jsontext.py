"""JSON, or nearly JSON, inside a string."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from toolhand.parsing.loose import LooseError, read_value


class NotJson(Enum):
    """The type of `NOT_JSON`."""

    NOT_JSON = "not JSON"


NOT_JSON: Final = NotJson.NOT_JSON


def read_json(text: str) -> Any:
    """The value that a string holds as JSON or as a Python literal, or `NOT_JSON`.

    A value that was cut, or that something follows, is none: what is missing there cannot be known.
    """
    try:
        read = read_value(text)
    except (LooseError, RecursionError):
        return NOT_JSON
    return read.value if read.is_complete and not text[read.end :].strip() else NOT_JSON
