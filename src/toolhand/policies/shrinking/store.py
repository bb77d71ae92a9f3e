"""Keeps the whole of results that were shrunk, for the length of a run, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final

from toolhand.core.context import RunContext
from toolhand.policies.shrinking.paths import Path

_KEY: Final = "results kept whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A whole result.

    Args:
        handle: how it is asked for.
        value: the result, masked as everyone sees it.
        source: the value that paths lead into: `value`, read as JSON where it is JSON in a text.
        path: the part that is read where none is named.
        characters: how long it is as a model would read it.
        untrusted: whether strangers wrote it, and so every page of it.
    """

    handle: str
    value: Any
    source: Any
    path: Path
    characters: int
    untrusted: bool = False


class ResultStore:
    """Whole results by handle; the one that was not asked for the longest time goes first.

    Args:
        most_results: how many are kept.
        most_characters: how many characters all of them may have together.
    """

    def __init__(self, *, most_results: int = 32, most_characters: int = 64_000_000) -> None:
        self._most_results = most_results
        self._most_characters = most_characters
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._characters = 0
        self._made = 0
        self.is_readable = True
        """Whether who is told of a handle has a tool to read on with."""

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def handles(self) -> tuple[str, ...]:
        """What can be asked for, the latest used last."""
        return tuple(self._kept)

    def new_handle(self, mark: str = "") -> str:
        """A handle that was not given before: short, because models copy it.

        Args:
            mark: what tells this run's handles from those of others in the same conversation.
        """
        self._made += 1
        return f"r{self._made}-{mark}" if mark else f"r{self._made}"

    def takes(self, characters: int) -> bool:
        """Whether a result of this length is small enough to be kept."""
        return characters <= self._most_characters and self._most_results > 0

    def keep(self, kept: Kept) -> None:
        """Keeps a result, and lets go of others where there is no room for all."""
        self._kept[kept.handle] = kept
        self._characters += kept.characters
        while len(self._kept) > self._most_results or self._characters > self._most_characters:
            _, gone = self._kept.popitem(last=False)
            self._characters -= gone.characters

    def get(self, handle: str) -> Kept | None:
        """The result of that handle, or None when it is not kept any more. Case and the run's mark may be missing."""
        handle = handle.strip().strip("\"'`").lower()
        if handle not in self._kept:
            handle = next((known for known in self._kept if known.partition("-")[0] == handle), handle)
        kept = self._kept.get(handle)
        if kept is not None:
            self._kept.move_to_end(handle)
        return kept


def results_of(context: RunContext) -> ResultStore:
    """The results that the run keeps. Contexts that share their `memory` share them."""
    store: ResultStore = context.memory.setdefault(_KEY, ResultStore())
    return store


def memory_with(store: ResultStore) -> dict[Hashable, Any]:
    """A run's memory that keeps its results in a store, so that a later run can read on in them.

    Args:
        store: one user's, in one conversation.
    """
    return {_KEY: store}


def has_results(context: RunContext) -> bool:
    """Whether the run keeps a result, so that `read_result` is worth offering to the model."""
    return bool(context.memory.get(_KEY))
