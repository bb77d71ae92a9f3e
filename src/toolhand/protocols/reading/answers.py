"""Reads a reply that is one JSON object: calls, or an answer whose text is shown while its string is still being written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolhand.core.messages import FinishReason, RawCall, Reply
from toolhand.protocols.reading.stream import TextReader

LONGEST_HEAD: Final = 200
"""So many characters may stand before the answer's text; what is longer is no such object."""

_VALUE = r'(?:true|false|null|-?\d+(?:\.\d+)?|"(?:[^"\\]|\\.){0,80}")'
_HEAD = re.compile(
    r"\s*(?:```\w*\s*)?\{\s*(?:\"reply\"\s*:\s*\{\s*)?(?:\"\w{1,40}\"\s*:\s*"
    + _VALUE
    + r"\s*,\s*)*\"answer\"\s*:\s*\"",
)
_BEGINS = re.compile(r"\s*(?:$|`{1,3}|\{)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class StringDecoder:
    """Decodes the inside of a JSON string piece by piece, up to its closing quote. Any cut gives the same text."""

    def __init__(self) -> None:
        self.is_closed = False
        self._held = ""

    def feed(self, chunk: str) -> str:
        """Takes more of the string; gives the characters that are whole."""
        if self.is_closed:
            return ""
        text, self._held = self._held + chunk, ""
        out: list[str] = []
        at = 0
        while at < len(text):
            stop = _next_mark(text, at)
            out.append(text[at:stop])
            if stop == len(text):
                break
            if text[stop] == '"':
                self.is_closed = True
                break
            length = self._escape(text, stop, out)
            if length == 0:
                self._held = text[stop:]
                break
            at = stop + length
        return "".join(out)

    def _escape(self, text: str, at: int, out: list[str]) -> int:
        """Decodes the escape at a position; gives its length, or 0 when more of it has to come."""
        kind = text[at + 1 : at + 2]
        if not kind:
            return 0
        if kind != "u":
            out.append(_ESCAPES.get(kind, kind))
            return 2
        unit = _unit(text, at)
        if unit is None:
            return 0 if len(text) < at + 6 else _skip(out)
        if not 0xD800 <= unit < 0xE000:
            out.append(chr(unit))
            return 6
        if unit >= 0xDC00:
            return _skip(out, 6)
        if len(text) < at + 12 and "\\u".startswith(text[at + 6 : at + 8]):
            return 0
        low = _unit(text, at + 6) if text[at + 6 : at + 8] == "\\u" else None
        if low is None or not 0xDC00 <= low < 0xE000:
            return _skip(out, 6)
        out.append(chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)))
        return 12


def _next_mark(text: str, at: int) -> int:
    found = _MARK.search(text, at)
    return found.start() if found else len(text)


_MARK = re.compile(r'["\\]')


def _unit(text: str, at: int) -> int | None:
    digits = text[at + 2 : at + 6]
    return int(digits, 16) if re.fullmatch(r"[0-9a-fA-F]{4}", digits) else None


def _skip(out: list[str], length: int = 2) -> int:
    out.append("\ufffd")
    return length


class AnswerReader:
    """Reads one reply of the constrained protocol, and whatever a server that forces nothing lets through.

    Args:
        inner: reads the answer's text, and every reply that is no such object.
        is_held: whether the answer of such an object is shown only when it has ended.
    """

    def __init__(self, inner: TextReader, *, is_held: bool = False) -> None:
        self._inner = inner
        self._is_held = is_held
        self._chunks: list[str] = []
        self._head = ""
        self._is_head = True
        self._string: StringDecoder | None = None

    def feed(self, chunk: str) -> str:
        """Takes more of the text; gives what may be shown now."""
        self._chunks.append(chunk)
        if self._is_head:
            self._head += chunk
            found = _HEAD.match(self._head[:LONGEST_HEAD])
            if found is not None:
                self._string, chunk = StringDecoder(), self._head[found.end() :]
            elif len(self._head) > LONGEST_HEAD or not _BEGINS.match(self._head):
                chunk = self._head
            else:
                return ""
            self._is_head = False
        if self._string is None:
            return self._inner.feed(chunk)
        return "" if self._is_held else self._inner.feed(self._string.feed(chunk))

    def finish(self, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """Ends the reading."""
        return self.read("".join(self._chunks), calls, finish_reason)

    def read(self, text: str, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """The whole text at once."""
        answer = answer_of(text)
        return self._inner.read(text if answer is None else answer, calls, finish_reason)


def answer_of(text: str) -> str | None:
    """The text of the answer in a reply that is an object with one; None for any other reply."""
    found = _HEAD.match(text[:LONGEST_HEAD])
    return None if found is None else StringDecoder().feed(text[found.end() :])
