"""How many characters a value takes in a model's context."""

from __future__ import annotations

import json
from typing import Any, Final

_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
"""As `core.jsonable.result_text` writes values, but made once."""


def size(value: Any) -> int:
    """Characters of a JSON value inside of another."""
    return len(_ENCODE(value))


def size_alone(value: Any) -> int:
    """Characters of a whole result: a text stands there as it is."""
    return len(value) if isinstance(value, str) else size(value)
