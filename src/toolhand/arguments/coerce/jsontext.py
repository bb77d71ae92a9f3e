"""JSON, or nearly JSON, inside a string."""

from __future__ import annotations

import ast
import json
from enum import Enum
from typing import Any, Final


class NotJson(Enum):
    """The type of `NOT_JSON`."""

    NOT_JSON = "not JSON"


NOT_JSON: Final = NotJson.NOT_JSON

_LONGEST_LITERAL: Final = 100_000


def read_json(text: str) -> Any:
    """The value that a string holds as JSON or as a Python literal, or `NOT_JSON`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if len(text) > _LONGEST_LITERAL:
        return NOT_JSON
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return NOT_JSON
