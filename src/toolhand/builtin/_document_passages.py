"""Cuts a document into passages: pieces that fit into an answer and know where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolhand.builtin._document_reading import Part

_MOST: Final = 320.0
"""The weight of a passage: about 320 Chinese characters or 800 others, a paragraph or two."""

_WIDE: Final = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_NARROW_WEIGHT: Final = 0.4
_END: Final = re.compile(r"[。！？；.!?;]\s*|\n")
_LONGEST_PIECE: Final = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a document.

    Args:
        text: the text.
        page: of a PDF, from 1; else 0.
        heading: the headings that it stands under.
        line: where it begins in a text file, from 1; else 0.
    """

    text: str
    page: int
    heading: str
    line: int


def passages(parts: Sequence[Part]) -> Iterator[Passage]:
    """A document's passages in order. None goes over a page or a heading; blank lines are where one is cut first."""
    held: list[Part] = []
    weight = 0.0
    for part in parts:
        for piece in _pieces(part):
            its = _weight(piece.text)
            is_elsewhere = held and (held[0].page, held[0].heading) != (piece.page, piece.heading)
            is_full = weight + its > _MOST
            is_break = not piece.text.strip() and weight > _MOST / 2
            if held and (is_elsewhere or is_full or is_break):
                yield from _made(held)
                held, weight = [], 0.0
            held.append(piece)
            weight += its
    yield from _made(held)


def _made(held: Sequence[Part]) -> Iterator[Passage]:
    kept = [part for part in held if part.text.strip()]
    if kept:
        first = kept[0]
        text = "\n".join(part.text.rstrip() for part in kept)
        yield Passage(text=text.strip(), page=first.page, heading=first.heading, line=first.line)


def _weight(text: str) -> float:
    wide = len(_WIDE.findall(text))
    return wide + (len(text) - wide) * _NARROW_WEIGHT


def _pieces(part: Part) -> Iterator[Part]:
    """A part, or its sentences where it is longer than a passage."""
    if _weight(part.text) <= _MOST:
        yield part
        return
    start = 0
    text, line = part.text, part.line
    while start < len(text):
        end = _cut(text, start)
        yield Part(text=text[start:end], page=part.page, heading=part.heading, line=line)
        start = end


def _cut(text: str, start: int) -> int:
    """Where a piece that begins at `start` ends: behind the last sentence that fits."""
    weight, best = 0.0, 0
    for at in range(start, min(len(text), start + _LONGEST_PIECE)):
        weight += 1.0 if _WIDE.match(text[at]) else _NARROW_WEIGHT
        if weight > _MOST:
            return best or at
        if (match := _END.match(text, at)) and weight > _MOST / 3:
            best = match.end()
    return min(len(text), start + _LONGEST_PIECE)
