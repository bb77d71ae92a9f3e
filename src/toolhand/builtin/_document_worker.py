"""The process that PDF, DOCX and HTML are read in. It is run as a script and imports nothing of ours but a file beside it.

Its own process, because a document can be made so that reading it takes any time and memory, or ends the process, in C code that
nothing stops. Here the operating system bounds memory, and the parent ends the process when the time is over.

One request a line on stdin, one answer a line on stdout, both JSON: {"kind": "pdf" | "docx" | "html", "content" (Base64, or a
page's text), "characters"} → {"parts": [{"text", "page", "heading"}], "is_cut"} or {"error": "encrypted" | "broken" | "large"}.
The arguments are the folders that the libraries are in.

Sources: ECMA-376, part 1, 17 (WordprocessingML); ISO 32000 by PDFium.
"""

from __future__ import annotations

import base64
import importlib
import io
import logging
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

MEMORY_BYTES: Final = 1536 * 2**20
_MOST_PAGES: Final = 5_000
_MOST_XML_BYTES: Final = 64 * 2**20
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a DOCX with a password begins: it is packed as an old Office file. So does a DOC that was renamed."""

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT: Final = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
_HEADING: Final = re.compile(r"(?:heading|标题|標題)\s*(\d)", re.IGNORECASE)


class UnreadableError(Exception):
    """A document cannot be read.

    Args:
        reason: "encrypted", "broken" or "large".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def answered(request: Mapping[str, Any]) -> dict[str, Any]:
    """A document's parts, as many as there is room for."""
    parts: list[dict[str, Any]] = []
    room = request["characters"]
    try:
        for text, page, heading in _READERS[request["kind"]](request["content"]):
            told = _without_odd_characters(text)
            if told.strip():
                parts.append({"text": told[:room], "page": page, "heading": heading[:200]})
                room -= len(told)
            if room <= 0:
                return {"parts": parts, "is_cut": True}
    except UnreadableError as error:
        return {"error": error.reason}
    return {"parts": parts, "is_cut": False}


def _without_odd_characters(text: str) -> str:
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]", "", text.replace("\r\n", "\n"))


def _pdf(content: str) -> Iterator[tuple[str, int, str]]:
    import pypdfium2 as pdfium  # noqa: PLC0415 - the path is set first

    try:
        document = pdfium.PdfDocument(base64.b64decode(content))
    except pdfium.PdfiumError as error:
        is_locked = "password" in str(error).lower() or "security" in str(error).lower()
        raise UnreadableError("encrypted" if is_locked else "broken") from None
    for number in range(min(len(document), _MOST_PAGES)):
        try:
            page = document[number]
            text = page.get_textpage().get_text_bounded()
        except pdfium.PdfiumError:  # the others can still be read
            continue
        # A word that is parted at a line's end is marked so by the library.
        yield text.replace("\ufffe\r\n", "").replace("\ufffe", ""), number + 1, ""
        page.close()


def _docx(content: str) -> Iterator[tuple[str, int, str]]:
    raw = base64.b64decode(content)
    if raw.startswith(_OLE):
        raise UnreadableError("encrypted")
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as package:
            styles = _heading_styles(_xml(package, "word/styles.xml"))
            body = _xml(package, "word/document.xml")
    except (zipfile.BadZipFile, KeyError, ET.ParseError, ValueError, EOFError, OSError, zlib.error):
        raise UnreadableError("broken") from None
    except RuntimeError as error:  # a member with a password, or packed in a way that is not known
        raise UnreadableError("encrypted" if "password" in str(error) else "broken") from None
    if body is None:
        raise UnreadableError("broken")
    headings: list[tuple[int, str]] = []
    for block in _blocks(body.find(f"{_W}body")):
        text = _table(block) if block.tag == f"{_W}tbl" else _paragraph(block)
        level = styles.get(_style(block), 0) or _outline_level(block)
        if level and text.strip():
            headings = [one for one in headings if one[0] < level] + [(level, text.strip())]
        yield text, 0, " › ".join(title for _, title in headings)


def _xml(package: zipfile.ZipFile, name: str) -> ET.Element | None:
    try:
        entry = package.getinfo(name)
    except KeyError:
        return None
    if entry.file_size > _MOST_XML_BYTES:
        raise UnreadableError("large")
    with package.open(entry) as file:
        raw = file.read(_MOST_XML_BYTES + 1)  # what an entry says of its size need not be true
    if len(raw) > _MOST_XML_BYTES:
        raise UnreadableError("large")
    if b"<!DOCTYPE" in raw[:2_000] or b"<!ENTITY" in raw[:10_000]:  # no program writes them
        raise UnreadableError("broken")
    return ET.fromstring(raw.replace(_STRICT, _W[1:-1].encode()))  # noqa: S314 - no entities, bounded memory and time


def _heading_styles(styles: ET.Element | None) -> dict[str, int]:
    """The level of each style that is a heading's, by its id."""
    found: dict[str, int] = {}
    for style in styles.iterfind(f"{_W}style") if styles is not None else ():
        name = style.find(f"{_W}name")
        named = _HEADING.match(name.get(f"{_W}val", "") if name is not None else "")
        level = style.find(f"{_W}pPr/{_W}outlineLvl")
        if named:
            found[style.get(f"{_W}styleId", "")] = int(named[1])
        elif level is not None and level.get(f"{_W}val", "9").isdigit() and level.get(f"{_W}val") != "9":
            found[style.get(f"{_W}styleId", "")] = int(level.get(f"{_W}val", "0")) + 1
    return found


def _style(block: ET.Element) -> str:
    style = block.find(f"{_W}pPr/{_W}pStyle")
    return style.get(f"{_W}val", "") if style is not None else ""


def _outline_level(block: ET.Element) -> int:
    level = block.find(f"{_W}pPr/{_W}outlineLvl")
    value = level.get(f"{_W}val", "") if level is not None else ""
    return int(value) + 1 if value.isdigit() and int(value) < 9 else 0


def _paragraph(block: ET.Element) -> str:
    pieces = []
    for node in block.iter():
        if node.tag == f"{_W}t":
            pieces.append(node.text or "")
        elif node.tag == f"{_W}tab":
            pieces.append("\t")
        elif node.tag in (f"{_W}br", f"{_W}cr"):
            pieces.append("\n")
    return "".join(pieces)


def _table(block: ET.Element) -> str:
    """The rows of a table, each in a line; a table in a cell comes in its place, once."""
    rows = (
        " | ".join(
            " ".join(_table(one) if one.tag == f"{_W}tbl" else _paragraph(one) for one in _blocks(cell))
            for cell in row.iterfind(f"{_W}tc")
        )
        for row in block.iterfind(f"{_W}tr")
    )
    return "\n".join(rows)


def _blocks(outer: ET.Element | None) -> Iterator[ET.Element]:
    """The paragraphs and tables in something, those in fields of a form (`w:sdt`) too."""
    for block in outer if outer is not None else ():
        if block.tag == f"{_W}sdt":
            yield from _blocks(block.find(f"{_W}sdtContent"))
        elif block.tag in (f"{_W}p", f"{_W}tbl"):
            yield block


class _Page(HTMLParser):
    """The blocks of a page, each with the headings that it stands under."""

    SKIPPED: Final = frozenset({"script", "style", "noscript", "template", "svg", "nav", "iframe"})
    BLOCKS: Final = frozenset([
        "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "article", "section", "header", "footer", "main", "table",
        "ul", "ol", "dl", "dt", "dd", "pre", "blockquote", "hr", "br", "title",
    ])  # fmt: skip

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[tuple[str, int, str]] = []
        self._pieces: list[str] = []
        self._skipped: list[str] = []
        self._headings: list[tuple[int, str]] = []
        self._level = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Goes into an element."""
        del attrs
        if tag in self.SKIPPED:
            self._skipped.append(tag)
        elif tag in self.BLOCKS:
            self.end_block()
            self._level = int(tag[1]) if len(tag) == 2 and tag[1].isdigit() else 0
        elif tag in ("td", "th"):
            self._pieces.append(" | " if any(piece.strip() for piece in self._pieces) else "")

    def handle_endtag(self, tag: str) -> None:
        """Goes out of an element."""
        if tag in self._skipped:
            while self._skipped.pop() != tag:
                pass
        elif tag in self.BLOCKS:
            self.end_block()

    def handle_data(self, data: str) -> None:
        """Takes a text."""
        if not self._skipped:
            self._pieces.append(data)

    def end_block(self) -> None:
        """Keeps what was read since the block before."""
        text = " ".join("".join(self._pieces).split())
        self._pieces = []
        if text and self._level:
            self._headings = [one for one in self._headings if one[0] < self._level] + [(self._level, text)]
        if text:
            self.blocks.append((text, 0, " › ".join(title for _, title in self._headings)))
        self._level = 0


def _html(content: str) -> Iterator[tuple[str, int, str]]:
    page = _Page()
    page.feed(content)
    page.close()
    page.end_block()
    yield from page.blocks


_READERS: Final = {"pdf": _pdf, "docx": _docx, "html": _html}


def _failed(error: Exception) -> dict[str, str]:
    return {"error": "large" if isinstance(error, MemoryError) else "broken"}  # a parser can raise anything


def main() -> None:
    """Answers requests until stdin ends."""
    sys.path += [*sys.argv[1:], str(Path(__file__).parent)]
    lines: Any = importlib.import_module("_answering_lines")
    lines.bound_this_process(MEMORY_BYTES)
    logging.disable(logging.CRITICAL)
    lines.serve(answered, _failed)


if __name__ == "__main__":
    main()
