"""Which encoding a text file has, and its text piece by piece. UTF-8, UTF-16 and UTF-32, GB18030 (GBK), Big5, Windows-1252.

A mark at the beginning decides; then strict UTF-8; then what the bytes look like. What looks like none of them is binary.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Final

SAMPLE_BYTES: Final = 64 * 1024
_MARKS: Final = (  # UTF-32's little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL_BYTES: Final = re.compile(rb"[\x01-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_CONTROL: Final = re.compile(r"[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_WESTERN: Final = re.compile(rb"[\x80-\xff]")
_WESTERN_LETTERS: Final = re.compile(rb"[\x80\x82-\x8c\x8e\x91-\x9c\x9e-\xff]")
_PAIRS: Final = re.compile(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]|[\x81-\xfe][\x30-\x39][\x81-\xfe][\x30-\x39]")
# Punctuation, full-width forms and the characters of daily use, which stand first in both standards.
_USUAL_GB: Final = re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")
_USUAL_BIG5: Final = re.compile(rb"[\xa1-\xa3\xa4-\xc6][\x40-\x7e\xa1-\xfe]")
_USUAL_WIDE: Final = re.compile(
    "[\t\n\r\x20-\x7e\u00a0-\u024f\u2010-\u2026\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]"
)


class BinaryContentError(Exception):
    """The bytes are not text."""


def detect(sample: bytes, *, is_whole: bool) -> str:
    """The encoding of a text, as Python names it.

    Args:
        sample: its beginning, or a part of it that begins at a character.
        is_whole: whether nothing comes after it; else its last character may be cut.

    Raises:
        BinaryContentError: when it looks like no text.
    """
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return encoding
    if b"\0" in sample:
        return _wide(sample)
    if len(_CONTROL_BYTES.findall(sample)) > len(sample) // 100:
        raise BinaryContentError
    if _fits(sample, "utf-8", is_whole=is_whole):
        return "utf-8"
    for encoding, score in sorted(
        _chinese_scores(sample, is_whole=is_whole).items(), key=lambda item: -item[1]
    ):
        if score >= 0.7:
            return encoding
    text = sample.decode("utf-8", errors="replace")
    letters = sum(not character.isascii() for character in text)
    if text.count("\ufffd") * 50 <= letters:  # a damaged place or two
        return "utf-8"
    high = len(_WESTERN.findall(sample))
    if high * 4 <= len(sample) and high == len(_WESTERN_LETTERS.findall(sample)):
        return "cp1252"
    raise BinaryContentError


def _fits(sample: bytes, encoding: str, *, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample, final=is_whole)
    except UnicodeDecodeError:
        return False
    return True


def _chinese_scores(sample: bytes, *, is_whole: bool) -> dict[str, float]:
    """How usual the characters are that the bytes would be: Latin letters with accents make rare ones."""
    scores = {}
    for encoding, usual in (("gb18030", _USUAL_GB), ("big5", _USUAL_BIG5)):
        if _fits(sample, encoding, is_whole=is_whole):
            pairs = _PAIRS.findall(sample)
            scores[encoding] = sum(usual.fullmatch(pair) is not None for pair in pairs) / max(len(pairs), 1)
    # Most bytes of a simplified text also read as Big5, but not the other way round.
    if scores.get("gb18030", 0) >= 0.9:
        scores.pop("big5", None)
    return scores


def _wide(sample: bytes) -> str:
    """UTF-16 without a mark, by which byte order gives usual characters."""
    even = sample[: len(sample) // 2 * 2]
    best, best_share = "", 0.9
    for encoding in ("utf-16-le", "utf-16-be"):
        text = even.decode(encoding, errors="replace")
        share = len(_USUAL_WIDE.findall(text)) / max(len(text), 1)
        if share > best_share and "\0" not in text:
            best, best_share = encoding, share
    if not best:
        raise BinaryContentError
    return best


class TextPieces:
    """The text of a file in pieces, with every kind of line end as a line feed. Iterate once.

    Args:
        blocks: the file's bytes.

    Raises:
        BinaryContentError: while iterating, when the bytes are not text.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = blocks
        self.encoding = "utf-8"
        """Known once something beyond ASCII was read."""
        self.has_unreadable_bytes = False
        """Whether something had to be replaced so far."""

    def __iter__(self) -> Iterator[str]:
        ends_with_return = False
        for text in self._decoded():
            if not text:
                continue
            # A "\r\n" may be cut between two pieces.
            piece = text[1:] if ends_with_return and text.startswith("\n") else text
            ends_with_return = text.endswith("\r")
            if "\r" in piece:
                piece = piece.replace("\r\n", "\n").replace("\r", "\n")
            yield piece

    def _decoded(self) -> Iterator[str]:
        decoder: codecs.IncrementalDecoder | None = None
        pending = b""
        is_first = True
        for block in self._blocks:
            if decoder is not None:
                yield self._checked(decoder.decode(block))
                continue
            pending += block
            if is_first and len(pending) < 4:
                continue
            if pending.isascii() and b"\0" not in pending:  # what it is shows only later
                is_first = False
                yield self._checked(pending.decode("ascii"))
                pending = b""
            elif len(pending) >= SAMPLE_BYTES:
                decoder = self._decoder(pending, is_whole=False)
                yield self._checked(decoder.decode(pending))
                pending = b""
        if decoder is None:
            decoder = (
                self._decoder(pending, is_whole=True) if pending else codecs.getincrementaldecoder("utf-8")()
            )
        yield self._checked(decoder.decode(pending, final=True))

    def _decoder(self, sample: bytes, *, is_whole: bool) -> codecs.IncrementalDecoder:
        self.encoding = detect(sample, is_whole=is_whole)
        return codecs.getincrementaldecoder(self.encoding)(errors="replace")

    def _checked(self, text: str) -> str:
        if "\0" in text or len(_CONTROL.findall(text)) > max(len(text) // 100, 3):
            raise BinaryContentError
        self.has_unreadable_bytes = self.has_unreadable_bytes or "\ufffd" in text
        return text


def lines(pieces: Iterable[str], longest: int) -> Iterator[tuple[int, str, bool]]:
    """Lines by number from 1. One longer than `longest` comes in parts under the same number.

    Yields:
        the line's number, the part, and whether the line ends with it.
    """
    number = 1
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            yield number, line, True
            number += 1
        if len(rest) > longest:
            yield number, rest, False
            rest = ""
    if rest:
        yield number, rest, True
