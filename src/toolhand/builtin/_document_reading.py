"""A document's text in parts that know their place: text and Markdown here, PDF, DOCX and HTML in a process of their own."""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from toolhand.builtin._decoding import SAMPLE_BYTES, BinaryContentError, TextPieces, detect, lines
from toolhand.builtin._file_walk import opened
from toolhand.builtin._processes import GRACE_SECONDS, Processes, ProcessGoneError
from toolhand.builtin._rooted import Root
from toolhand.core.errors import ToolFailure

_WORKER: Final = str(Path(__file__).with_name("_document_worker.py"))
KINDS: Final = {
    **dict.fromkeys(
        ("txt", "text", "md", "markdown", "rst", "adoc", "org", "tex", "csv", "tsv", "log"), "text"
    ),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    "pdf": "pdf",
    "docx": "docx",
}
UNREAD_KINDS: Final = frozenset(("doc", "rtf", "odt", "wps", "ppt", "pptx", "xls", "xlsx", "epub", "pages"))
"""Documents that are named as not searched; anything else is no document."""

_TITLE: Final = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_WIDER: Final = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "ascii": "cp1252"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a document's text.

    Args:
        text: the text.
        page: of a PDF, from 1; else 0.
        heading: the headings that it stands under, outermost first.
        line: of a text file, from 1; else 0.
    """

    text: str
    page: int = 0
    heading: str = ""
    line: int = 0


class UnreadableError(Exception):
    """A document cannot be searched.

    Args:
        reason: "encrypted", "broken", "large", "binary", "no_text", "slow", "kind", "extra" or "gone".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def kind_of(name: str) -> str:
    """How a file is read, by its name: "text", "html", "pdf", "docx", "unread" for other documents, or ""."""
    ending = name.rpartition(".")[2].casefold()
    if name.startswith(("~$", ".")):  # what Office keeps beside an open file
        return ""
    return KINDS.get(ending) or ("unread" if ending in UNREAD_KINDS else "")


class DocumentReader:
    """Reads documents under a root.

    Args:
        place: the root.
        file_bytes: a larger file is not read.
        characters: text of one document that is taken.
        seconds: for one document.
    """

    def __init__(self, place: Root, *, file_bytes: int, characters: int, seconds: float) -> None:
        found = find_spec("pypdfium2")
        folder = "" if found is None or found.origin is None else str(Path(found.origin).parent.parent)
        self._unread = () if folder else ("pdf",)
        self._place = place
        self._file_bytes = file_bytes
        self._characters = characters
        self._seconds = seconds
        self._processes = Processes(
            lambda: [sys.executable, "-I", "-S", _WORKER, *filter(None, [folder])], most=2
        )

    def parts(self, names: tuple[str, ...]) -> list[Part]:
        """A document's parts in order.

        Raises:
            UnreadableError: when it cannot be searched; it says why.
        """
        kind = kind_of(names[-1])
        if kind in ("", "unread"):
            raise UnreadableError("kind")
        if kind in self._unread:
            raise UnreadableError("extra")
        try:
            with opened(self._place, names) as descriptor:
                if os.fstat(descriptor).st_size > self._file_bytes:
                    raise UnreadableError("large")
                found = list(self._text(descriptor)) if kind == "text" else self._other(descriptor, kind)
        except (ToolFailure, OSError):
            raise UnreadableError("gone") from None
        except BinaryContentError:
            raise UnreadableError("binary") from None
        if not any(part.text.strip() for part in found):
            raise UnreadableError("no_text")
        return found

    def close(self) -> None:
        """Ends the idle processes."""
        self._processes.close()

    def _blocks(self, descriptor: int) -> Iterator[bytes]:
        left = self._file_bytes
        while left > 0 and (block := os.read(descriptor, min(SAMPLE_BYTES, left))):
            left -= len(block)
            yield block

    def _text(self, descriptor: int) -> Iterator[Part]:
        """A text's lines. In Markdown a "#" begins a heading; in other texts it hardly ever begins a line followed by a blank."""
        headings: list[tuple[int, str]] = []
        in_code, room = False, self._characters
        for number, text, _ in lines(TextPieces(self._blocks(descriptor)), SAMPLE_BYTES):
            if _FENCE.match(text):
                in_code = not in_code
            title = None if in_code else _TITLE.match(text)
            if title:
                level = len(title[1])
                headings = [one for one in headings if one[0] < level] + [(level, title[2][:200])]
            yield Part(text=text, heading=" › ".join(title for _, title in headings), line=number)
            room -= len(text)
            if room <= 0:
                return

    def _other(self, descriptor: int, kind: str) -> list[Part]:
        raw = b"".join(self._blocks(descriptor))
        content = _decoded(raw) if kind == "html" else base64.b64encode(raw).decode("ascii")
        request = {"kind": kind, "content": content, "characters": self._characters}
        try:
            answer = self._processes.ask(
                request, self._seconds + GRACE_SECONDS, wait_seconds=self._seconds * 2
            )
        except ProcessGoneError as error:
            raise UnreadableError("broken" if error.reason == "gone" else "slow") from None
        if "error" in answer:
            raise UnreadableError(answer["error"])
        return [Part(text=one["text"], page=one["page"], heading=one["heading"]) for one in answer["parts"]]


def _decoded(raw: bytes) -> str:
    """A page's text, in the encoding that its bytes or its head say.

    Raises:
        BinaryContentError: when it is no text.
    """
    named = _CHARSET.search(raw[:4_096])
    sample = raw[:SAMPLE_BYTES]
    charset = named[1].decode("ascii").lower() if named else ""
    try:
        found = detect(sample, is_whole=len(sample) == len(raw))
    except BinaryContentError:
        if not charset:
            raise
        found = ""
    # What is UTF-8 by its bytes is UTF-8; else the page's own word counts for more than a guess.
    encoding = found if found.startswith("utf") or not charset else _WIDER.get(charset, charset)
    try:
        return raw.decode(encoding, "replace")
    except LookupError:
        return raw.decode(found or "utf-8", "replace")
