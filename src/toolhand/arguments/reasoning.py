"""Takes a model's reasoning out of texts that go to a user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolhand.arguments.costs import fix
from toolhand.arguments.paths import item, member
from toolhand.core.messages import Fix

_MARK: Final = re.compile(
    r"<\s*(/?)\s*(?:think|thinking|thought|reasoning|reflection|思考)\s*>", re.IGNORECASE
)
_MOST_DEPTH: Final = 40


def without_reasoning(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Fix, ...]]:
    """The arguments with marked reasoning taken out of every text, and what was taken.

    Args:
        arguments: bound arguments; they are not changed.
    """
    fixes: list[Fix] = []
    found: dict[str, Any] = _without(dict(arguments), "$", fixes, 0)
    return found, tuple(fixes)


def spoken(text: str) -> str:
    """A text without its blocks of reasoning.

    What stands before a closing mark without an opening one is reasoning, too: many templates write the opening one
    themselves. So is all behind an opening mark at the beginning that is never closed; further on it is a word like any other.
    """
    pieces: list[str] = []
    kept, opened = 0, -1
    for mark in _MARK.finditer(text):
        if not mark[1]:
            opened = mark.start() if opened < 0 else opened
        elif opened >= 0:
            pieces.append(text[kept:opened])
            kept, opened = mark.end(), -1
        elif not pieces:
            kept = mark.end()
    if opened >= 0 and not text[kept:opened].strip() and not "".join(pieces).strip():
        kept = len(text)
    return text if kept == 0 else "".join((*pieces, text[kept:])).strip()


def _without(value: Any, path: str, fixes: list[Fix], depth: int) -> Any:
    if isinstance(value, str):
        if "<" not in value or (said := spoken(value)) == value:
            return value
        fixes.append(fix("reasoning_dropped", path, value, said))
        return said
    if depth > _MOST_DEPTH:
        return value
    if isinstance(value, dict):
        return {
            key: _without(inner, member(path, str(key)), fixes, depth + 1) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_without(inner, item(path, index), fixes, depth + 1) for index, inner in enumerate(value)]
    return value
