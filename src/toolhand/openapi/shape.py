"""Whether a document can be walked at all: YAML can be written so that a page of it stands for billions of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

MOST_VALUES: Final = 5_000_000
"""With everything written out that it repeats; 50 MB of an ordinary document are fewer."""

DEEPEST: Final = 200
"""Levels inside one another."""


def check_shape(root: Any, name: str) -> None:
    """Looks at a document before anybody walks it, in time linear in what is written.

    Args:
        root: what was read.
        name: of the document, for the sentence.

    Raises:
        SettingsError: when it holds itself, is nested too deep, or repeats itself beyond all bounds.
    """
    sizes: dict[int, int] = {}
    above: set[int] = set()
    waiting: list[tuple[Any, bool]] = [(root, False)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            above.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes.get(id(part), 1) for part in _parts(node))
            if sizes[id(node)] > MOST_VALUES:
                raise _refused(name)
        elif id(node) in above or len(above) >= DEEPEST:
            raise _refused(name)
        elif id(node) not in sizes:
            above.add(id(node))
            waiting.append((node, True))
            waiting += [(part, False) for part in _parts(node) if isinstance(part, Mapping | list)]


def _parts(node: Any) -> Iterable[Any]:
    return node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()


def _refused(name: str) -> SettingsError:
    return SettingsError(
        say(
            f"{name} holds itself, or more levels or values than an OpenAPI document can have: check where it comes from",
            f"{name} 包含了自身，或层级、数据超出了 OpenAPI 文档可能的范围：请检查其来源",
        )
    )
