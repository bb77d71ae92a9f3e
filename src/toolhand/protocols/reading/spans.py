"""Spans of a text: ordered pairs of positions, and what is left of the text without them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

Span = tuple[int, int]


class Holes:
    """Stretches of a text that are cut out of it, each with what stands there instead.

    Args:
        spans: the stretches; they may overlap.
        mark: what stands for each.
        more: further stretches, of which nothing is left.
    """

    def __init__(self, spans: Sequence[Span], mark: str = "", more: Sequence[Span] = ()) -> None:
        cuts = [*((begin, end, mark) for begin, end in spans), *((begin, end, "") for begin, end in more)]
        self._cuts = sorted(cuts)
        self._begins = [begin for begin, _, _ in self._cuts]
        self._reach: list[int] = []
        reach = 0
        for _, end, _ in self._cuts:
            reach = max(reach, end)
            self._reach.append(reach)

    def without(self, text: str, start: int, end: int) -> str:
        """The text from `start` to `end` without the stretches."""
        if start >= end:
            return ""
        if not self._cuts:
            return text[start:end]
        pieces: list[str] = []
        for begin, stop, mark in self._cuts[bisect_left(self._reach, start + 1) :]:
            if begin >= end:
                break
            if stop <= start:
                continue
            if begin > start:
                pieces.append(text[start:begin])
            pieces.append(mark)
            start = max(start, stop)
        if start < end:
            pieces.append(text[start:end])
        return "".join(pieces)


def inside(spans: Sequence[Span], ordered: Sequence[Span]) -> list[Span]:
    """Those of `spans` that lie wholly inside one of `ordered`, which do not overlap."""
    begins = [begin for begin, _ in ordered]
    found: list[Span] = []
    for begin, end in spans:
        index = bisect_left(begins, begin + 1) - 1
        if index >= 0 and end <= ordered[index][1]:
            found.append((begin, end))
    return found
