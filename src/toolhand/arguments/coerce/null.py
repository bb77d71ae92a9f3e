"""Null, and the words for it."""

from __future__ import annotations

from typing import Any, Final

from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import Trouble
from toolhand.arguments.shape import Shape

WORDS: Final = frozenset(("null", "none", "nil", "undefined", "", "无", "空"))


def coerce_null(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """None for a word that means it."""
    if sent is None:
        return None
    if isinstance(sent, str) and sent.strip().casefold() in WORDS:
        walk.note("null_word", path, sent, None)
        return None
    return refuse(Trouble.TYPE, shape, path, sent)
