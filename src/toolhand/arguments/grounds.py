"""What was said to a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from toolhand.core.jsonable import result_text
from toolhand.core.messages import Message, Note, Text

HAN: Final = re.compile(r"[\u3400-\u9fff]")

_NOT_WORD: Final = re.compile(r"[\W_]+")
_TOKEN: Final = re.compile(r"[^\W_]+")
_PIECE: Final = re.compile(r"[a-z]+|\d+|[\u3400-\u9fff]+|[^\W_]")
_SHORT: Final = 4
"""A value of fewer characters has to stand alone; a longer one may be a part of what was said."""

_MOST_KEYS: Final = 100
_MOST_ROWS: Final = 5

_NUMBER_WORDS: Final = re.compile(  # without 一 alone, which stands in words that count nothing: 一句, 一下
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|half|quarter|hundred|thousand|million"
    r"|first|second|third|once|twice|both|single|pair|couple|no|none|zero)\b|[零二两三四五六七八九十百千万亿半]"
)


class Grounds:
    """What was said to a model: by its user, its system message and its tools, but not by itself.

    Args:
        messages: what it was shown.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        self._messages = messages

    @cached_property
    def said(self) -> str:
        """All of it, folded: full width, case."""
        return folded("\n".join(_texts(self._messages)))

    @cached_property
    def _joined(self) -> str:
        return _NOT_WORD.sub("", self.said)

    @cached_property
    def _pieces(self) -> frozenset[str]:
        return frozenset(_pieces_of(self.said))

    def holds(self, value: object) -> bool:
        """Whether a value was said, whatever its case, blanks and punctuation."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        pieces = _TOKEN.findall(folded(str(value)))
        joined = "".join(pieces)
        if len(joined) >= _SHORT or HAN.search(joined):
            return joined in self._joined
        alone = r"(?<![^\W_])" + r"[\W_]*".join(map(re.escape, pieces)) + r"(?![^\W_])"
        return not pieces or re.search(alone, self.said) is not None

    def says_none_of(self, value: str) -> bool:
        """Whether not one word of a value was said."""
        return not any(piece in self._pieces for piece in _pieces_of(folded(value)))

    def may_translate(self, value: object) -> bool:
        """Whether a value in Latin letters may be the translation of what was said in another script."""
        return (
            isinstance(value, str)
            and value.isascii()
            and value.upper() != value.lower()
            and not self.said.isascii()
        )

    def under(self, key: object) -> str | int | None:
        """What a result since the user last spoke told under a key; None where none did, or several different things."""
        found = set(self._told.get(folded(str(key).strip()), ()))
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _told(self) -> Mapping[str, list[str | int]]:
        told: dict[str, list[str | int]] = {}
        for message in reversed(list(self._messages)):
            if message.role == "user" and message.text:
                break
            for result in message.results:
                for key, value in _scalars(result.data if result.ok else None):
                    told.setdefault(folded(key), []).append(value)
        return told

    def calls_it(self, value: str, noun: str) -> bool:
        """Whether a value stands right after a noun that says what it is: "the ship Aurelia"."""
        named = rf"(?<!\w){re.escape(noun)}\s+(?:named\s+|called\s+)?[\W_]?{re.escape(folded(value.strip()))}(?!\w)"
        return re.search(named, self.said) is not None

    def share(self, value: object) -> float:
        """How much of a value was said, 0 to 1: by words of Latin scripts, pairs of Chinese characters, and numbers.

        A number that was not said counts half where some number was spelled out: it may be that one, or worked out from it.
        """
        if self.holds(value):
            return 1.0
        if isinstance(value, int | float):
            if str(value) in self._pieces:
                return 1.0
            return 0.5 if _NUMBER_WORDS.search(self.said) else 0.0
        pieces = list(_pieces_of(folded(str(value))))
        return sum(piece in self._pieces for piece in pieces) / len(pieces) if pieces else 1.0


def _scalars(data: Any, depth: int = 3) -> Iterator[tuple[str, str | int]]:
    """The texts and whole numbers in a result, each with its key."""
    if isinstance(data, Mapping):
        for key, value in list(data.items())[:_MOST_KEYS]:
            if isinstance(value, str | int) and not isinstance(value, bool):
                yield str(key), value
            elif depth:
                yield from _scalars(value, depth - 1)
    elif isinstance(data, list | tuple) and depth:
        for item in data[:_MOST_ROWS]:
            yield from _scalars(item, depth - 1)


def folded(text: str) -> str:
    """A text with compatible characters made one (full width and the like), and without case."""
    return unicodedata.normalize("NFKC", text).casefold()


def _pieces_of(text: str) -> Iterator[str]:
    for piece in _PIECE.findall(text):
        if HAN.match(piece):
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
            if len(piece) == 1:
                yield piece
        else:
            yield piece.lstrip("0") or "0" if piece.isdigit() else piece


def _texts(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        if message.role == "assistant":
            continue
        yield from (part.text for part in message.parts if isinstance(part, Text | Note))
        yield from (result_text(result) for result in message.results if result.ok)
