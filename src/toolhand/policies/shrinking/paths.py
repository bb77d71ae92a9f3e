"""Paths to a part of a result, as a model reads them in a shrunk one and sends them back: `$.orders[3].notes`."""

from __future__ import annotations

import json
import re
from typing import Any, Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_NAME: Final = re.compile(r"[^\W\d]\w*")
_STEP: Final = re.compile(
    r"""\.?(?P<name>[^\W\d]\w*)|\[\s*(?P<place>-?[0-9]+)\s*\]|\[\s*(?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')\s*\]"""
)


def written(path: Path) -> str:
    """The path as text, from `$`."""
    return "$" + "".join(map(_step, path))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _NAME.fullmatch(step) else f"[{json.dumps(step, ensure_ascii=False)}]"


def read(text: str) -> Path | None:
    """The path that a text writes down, or None where it is none. The `$` may be missing."""
    text = text.strip()
    place = 1 if text.startswith("$") else 0
    steps: list[str | int] = []
    while place < len(text):
        match = _STEP.match(text, place)
        if match is None:
            return None
        if match.group("place") is not None:
            steps.append(int(match.group("place")))
        else:
            steps.append(match.group("name") or _unquoted(match.group("quoted")))
        place = match.end()
    return tuple(steps)


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text)) if text.startswith('"') else text[1:-1]
    except ValueError:
        return text[1:-1]


def part(value: Any, path: Path) -> Any:
    """The part of a value at a path.

    Raises:
        LookupError: when there is none.
    """
    for step in path:
        if isinstance(value, list) and isinstance(step, int):
            value = value[step]
        elif isinstance(value, dict):
            value = value[str(step)]
        else:
            raise LookupError(step)  # noqa: TRY004 - the value may be anything, the path is wrong
    return value
