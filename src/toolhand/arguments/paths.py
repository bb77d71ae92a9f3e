"""JSON paths in errors and fixes: `$.user.tags[0]`."""

from __future__ import annotations

import json


def member(path: str, key: str) -> str:
    """The path of a key below `path`."""
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def item(path: str, index: int) -> str:
    """The path of an item below `path`."""
    return f"{path}[{index}]"


def shown(path: str) -> str:
    """A path as a model is told it: without the root."""
    return path.removeprefix("$.").removeprefix("$") or "$"
