"""What a tolerant reading gives: a value with its ledger, or the place where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolhand.core.messages import Fix

Key = str | int


class LooseError(ValueError):
    """There is no value here.

    Args:
        reason: what was expected, in words.
        position: where in the text, in characters.
        path: where in the value.
        reached: how far the text was looked at, in characters: what the attempt cost.
    """

    def __init__(self, reason: str, position: int, path: tuple[Key, ...] = (), reached: int = 0) -> None:
        super().__init__(reason)
        self.reached = max(reached, position)
        self.reason = reason
        self.position = position
        self.path = path

    @property
    def key(self) -> str:
        """The nearest member's name, or ""."""
        return next((part for part in reversed(self.path) if isinstance(part, str)), "")


@dataclass(frozen=True, slots=True)
class Loose:
    """A value and how it was read.

    Args:
        value: what was read.
        end: the position after it, in characters.
        fixes: the liberties taken.
        open_path: the path of the innermost container that was never closed, or None when all are closed.
        is_cut: whether the text ended inside a string, a number, a key, or before a value that was announced.
    """

    value: Any
    end: int
    fixes: tuple[Fix, ...] = ()
    open_path: tuple[Key, ...] | None = None
    is_cut: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the value was closed in the text."""
        return self.open_path is None and not self.is_cut


def json_path(path: tuple[Key, ...] | list[Key]) -> str:
    """A path in the usual writing: `$.items[0].name`."""
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
