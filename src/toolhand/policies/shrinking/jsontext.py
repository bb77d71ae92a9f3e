"""Reads a long JSON text part by part: one call of the decoder would hold the interpreter until it is through."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_DECODER: Final = json.JSONDecoder()
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_SHORT: Final = 200_000
_MOST_DEPTH: Final = 2
"""So deep may the long list be in its envelope."""


def loads_in_steps(text: str) -> Any:
    """What `json.loads` gives.

    Raises:
        ValueError: when it is no JSON.
    """
    if len(text) <= _SHORT:
        return json.loads(text)
    value, end = _value(text, _past_blanks(text, 0), 0)
    if _past_blanks(text, end) != len(text):
        raise ValueError("something follows the value")
    return value


def _past_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return at if match is None else match.end()


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth <= _MOST_DEPTH and text.startswith("[", at):
        return _items(text, at, depth)
    if depth <= _MOST_DEPTH and text.startswith("{", at):
        return _fields(text, at, depth)
    return _DECODER.raw_decode(text, at)


def _items(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _past_blanks(text, at + 1)
    if text.startswith("]", at):
        return found, at + 1
    # Only the first item may be an envelope around a long list; items are otherwise read whole.
    value, at = _value(text, at, depth + 1)
    while True:
        found.append(value)
        at, is_over = _joint(text, at, "]")
        if is_over:
            return found, at
        value, at = _DECODER.raw_decode(text, at)


def _fields(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _past_blanks(text, at + 1)
    if text.startswith("}", at):
        return found, at + 1
    while True:
        key, at = _DECODER.raw_decode(text, at)
        at = _past_blanks(text, at)
        if not isinstance(key, str) or not text.startswith(":", at):
            raise ValueError("a name and a colon are missing")
        found[key], at = _value(text, _past_blanks(text, at + 1), depth + 1)
        at, is_over = _joint(text, at, "}")
        if is_over:
            return found, at


def _joint(text: str, at: int, closing: str) -> tuple[int, bool]:
    """Behind the comma or the closing bracket, and which of them it was."""
    at = _past_blanks(text, at)
    if text.startswith(closing, at):
        return at + 1, True
    if not text.startswith(",", at):
        raise ValueError("a comma is missing")
    return _past_blanks(text, at + 1), False
