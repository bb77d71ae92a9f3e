"""Walks the files under a root within a budget of time, bytes and files."""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from toolhand.builtin._decoding import SAMPLE_BYTES
from toolhand.builtin._rooted import MAX_PATH_DEPTH, Entry, Root
from toolhand.core.errors import ToolFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """What one call may take.

    Args:
        characters: characters of text in a result.
        entries: files and folders in a listing.
        hits: lines that a search gives.
        visited: files and folders that a search or a listing by pattern looks at.
        bytes_read: bytes that are read.
        seconds: time until it stops with what it has.
    """

    characters: int = 20_000
    entries: int = 200
    hits: int = 50
    visited: int = 20_000
    bytes_read: int = 256 * 2**20
    seconds: float = 10.0


class Budget:
    """What is left of a call's time, bytes and files."""

    def __init__(self, limits: FileLimits) -> None:
        self.has_left_out = False
        """Whether something was not looked at, as a folder holds too much or lies too deep."""
        self._ends = time.monotonic() + limits.seconds
        self._bytes = limits.bytes_read
        self._visits = limits.visited

    @property
    def is_spent(self) -> bool:
        """Whether the call must stop with what it has."""
        return self._bytes <= 0 or self._visits <= 0 or time.monotonic() > self._ends

    def visit(self) -> None:
        """Counts a file or folder that was looked at."""
        self._visits -= 1

    def blocks(self, descriptor: int) -> Iterator[bytes]:
        """The file's bytes, until its end or the budget's."""
        while not self.is_spent:
            block = os.read(descriptor, min(SAMPLE_BYTES, self._bytes))
            if not block:
                return
            self._bytes -= len(block)
            yield block


def below(place: Root, top: tuple[str, ...], budget: Budget) -> Iterator[tuple[tuple[str, ...], Entry]]:
    """All files in a folder and the folders below, breadth first. Folders that begin with a dot are left out."""
    folders = [top]
    for folder in folders:  # grows while it is walked
        try:
            entries, is_cut = place.entries(folder)
        except ToolFailure:
            if folder == top:
                raise
            continue  # gone, or not to be read
        budget.has_left_out |= is_cut
        for entry in entries:
            budget.visit()
            if budget.is_spent:
                return
            names = (*folder, entry.name)
            if entry.kind == "file":
                yield names, entry
            elif entry.kind == "folder" and not entry.name.startswith("."):
                if len(names) < MAX_PATH_DEPTH:
                    folders.append(names)
                else:
                    budget.has_left_out = True


def matches(names: tuple[str, ...], pattern: str) -> bool:
    """Whether a path matches, without regard to case: by its name, or by all of it where the pattern has a "/"."""
    pattern = pattern.casefold().removeprefix("./").removeprefix("**/")
    return fnmatch.fnmatchcase(("/".join(names) if "/" in pattern else names[-1]).casefold(), pattern)


@contextmanager
def opened(place: Root, names: tuple[str, ...]) -> Iterator[int]:
    """A file's descriptor, closed afterwards."""
    descriptor = place.open_file(names)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
