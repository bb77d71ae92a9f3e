"""Masks a very long text piece by piece, so that no single step holds the interpreter for long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

MOST_AT_ONCE: Final = 65_536
"""Characters of one piece: a few milliseconds of work."""

_MARGINS: Final = (1024, 128)
_MOST_PLACES: Final = 4
_LONGEST_KEY: Final = 16_384


def in_pieces(text: str, masked: Callable[[str], str]) -> str:
    """What `masked` makes of a text, given to it in pieces. Time grows with the length.

    A piece ends where nothing is masked around, at the end of a line if there is one: what is looked for is not cut in two.

    Args:
        text: the text.
        masked: gives a piece with what nobody may see masked.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > 2 * MOST_AT_ONCE:
        end = _end(text, start, masked)
        pieces.append(masked(text[start:end]))
        start = end
    pieces.append(masked(text[start:]))
    return "".join(pieces)


def _end(text: str, start: int, masked: Callable[[str], str]) -> int:
    places = list(_places(text, start))
    for margin in _MARGINS:
        for place in places:
            around = text[place - margin : place + margin]
            if masked(around) == around:
                return place
    return places[0]


def _places(text: str, start: int) -> Iterator[int]:
    """Where a piece may end: behind lines, else behind blanks, else anywhere."""
    last = start + MOST_AT_ONCE * 3 // 2
    for mark in ("\n", " ", ","):
        found = 0
        at = text.find(mark, start + MOST_AT_ONCE, last)
        while at >= 0 and found < _MOST_PLACES:
            if not _is_in_key(text, at + 1):
                found += 1
                yield at + 1
            at = text.find(mark, at + 2048, last)
        if found:
            return
    yield start + MOST_AT_ONCE


def _is_in_key(text: str, place: int) -> bool:
    """Whether a place is inside a private key, which has many lines."""
    begun = text.rfind("-----BEGIN", max(0, place - _LONGEST_KEY), place)
    return begun >= 0 and text.find("-----END", begun, place) < 0
