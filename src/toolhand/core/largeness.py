"""Whether a value is so large that work on it is done beside the event loop, in a thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

_MOST_CHARACTERS: Final = 200_000
_MOST_NODES: Final = 5_000
"""What takes a few milliseconds at most."""


def is_large(value: Any) -> bool:
    """Whether a value of built-in types is large. It looks at no more of it than it needs to know."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) > _MOST_CHARACTERS
    if kind is not list and kind is not dict and kind is not tuple:
        return False
    nodes, characters = _MOST_NODES, _MOST_CHARACTERS
    waiting: list[Iterable[Any]] = [_inside(value)]
    while waiting:
        for item in islice(waiting.pop(), nodes + 1):
            nodes -= 1
            kind = type(item)
            if kind is str or kind is bytes:
                characters -= len(item)
            elif kind is list or kind is dict or kind is tuple:
                waiting.append(_inside(item))
        if nodes < 0 or characters < 0:
            return True
    return False


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value
