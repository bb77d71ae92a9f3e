"""From a page's bytes to its text: which encoding, and what of it a reader would read."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from toolhand.builtin import _page_worker
from toolhand.builtin._decoding import SAMPLE_BYTES, BinaryContentError, detect
from toolhand.builtin._processes import GRACE_SECONDS, Processes, ProcessGoneError
from toolhand.core.errors import MissingExtraError
from toolhand.core.language import say

_META: Final = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_WIDER: Final = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "iso-8859-1": "cp1252",
    "ascii": "cp1252",
}
"""What pages are in that say they are in the smaller one, as browsers take it. Source: https://encoding.spec.whatwg.org."""

_UNREAD: Final = ("script", "style", "noscript", "template", "svg", "head", "iframe")
_BREAKS: Final = frozenset({
    "p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "article", "section", "header", "footer", "main", "nav",
    "table", "ul", "ol", "dl", "dt", "dd", "pre", "blockquote", "hr",
})  # fmt: skip
_TAG: Final = re.compile(r"/?\s*([a-zA-Z][a-zA-Z0-9]*)")


_START_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """What a page says.

    Args:
        text: its text, Markdown where it was a page.
        title: its title, or "".
        date: when it was published, or "".
    """

    text: str
    title: str = ""
    date: str = ""


def decoded(content: bytes, charset: str) -> str:
    """The text of a body.

    Args:
        content: the body.
        charset: what the server said, or "".

    Raises:
        BinaryContentError: when it is no text.
    """
    if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        charset = ""
    elif not charset:
        named = _META.search(content[:4_096])
        charset = named[1].decode("ascii") if named else ""
    name = _WIDER.get(charset.lower(), charset)
    try:
        if name and codecs.lookup(name)._is_text_encoding:  # noqa: SLF001 - rot13 and the like
            return content.decode(name, "strict" if name.lower() == "utf-8" else "replace")
    except (LookupError, UnicodeDecodeError):
        pass  # it is not what was said
    sample = content[:SAMPLE_BYTES]
    return content.decode(detect(sample, is_whole=len(sample) == len(content)), "replace")


class PageReader:
    """Reads pages in processes that are ended when one takes too long.

    Args:
        seconds: for one page.

    Raises:
        MissingExtraError: when trafilatura is not installed.
    """

    def __init__(self, *, seconds: float = 8.0) -> None:
        found = find_spec("trafilatura")
        if found is None or found.origin is None or find_spec("protego") is None:
            raise MissingExtraError("web", say("reading web pages", "读取网页"))
        folder = str(Path(found.origin).parent.parent)
        self._seconds = seconds
        self._processes = Processes(
            lambda: [sys.executable, "-I", _page_worker.__file__, folder],
            most=2,
            start_seconds=_START_SECONDS,
        )

    async def read(self, html: str, url: str, *, links: bool) -> PageText:
        """What a page says; where it cannot be read in the time there is, its text with the tags taken out.

        Args:
            html: the page.
            url: where it is, for the addresses of links.
            links: whether links are kept.
        """
        request = {"html": html, "url": url, "links": links}
        try:
            found: dict[str, Any] = await asyncio.to_thread(
                self._processes.ask, request, self._seconds + GRACE_SECONDS, wait_seconds=self._seconds
            )
        except ProcessGoneError:
            found = {}
        text = str(found.get("text", "")).strip() or bare_text(html)
        return PageText(text=text, title=str(found.get("title", "")), date=str(found.get("date", "")))


def bare_text(html: str) -> str:
    """A page's text with everything in angle brackets taken out, in linear time."""
    lines = (" ".join(line.split()) for line in unescape("".join(_pieces(html))).split("\n"))
    return "\n".join(line for line in lines if line)


def _pieces(html: str) -> Iterator[str]:
    at, lower, gone = 0, html.lower(), set[str]()
    while True:
        start = html.find("<", at)
        if start < 0:
            yield html[at:]
            return
        yield html[at:start]
        if html.startswith("<!--", start):
            end = html.find("-->", start)
            at = len(html) if end < 0 else end + 3
            continue
        end = html.find(">", start)
        if end < 0:
            return
        named = _TAG.match(html, start + 1)
        name = named[1].lower() if named else ""
        if name in _BREAKS:
            yield "\n"
        at = end + 1
        if name in _UNREAD and html[start + 1] != "/" and name not in gone:
            close = lower.find(f"</{name}", at)
            if close < 0:
                gone.add(name)  # searched once: it is closed nowhere behind
            at = at if close < 0 else close


def told_json(text: str) -> str:
    """JSON with its characters as they are and no needless blanks, or the text where it is none."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text


__all__ = ["BinaryContentError", "PageReader", "PageText", "bare_text", "decoded", "told_json"]
