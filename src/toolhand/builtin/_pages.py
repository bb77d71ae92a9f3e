"""Pages of the internet as text: robots.txt asked, fetched by the guard, decoded, read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from yarl import URL

from toolhand.builtin._guarded_http import Fetched, fetch, url_of
from toolhand.builtin._page_text import BinaryContentError, PageReader, PageText, decoded, told_json
from toolhand.builtin._reach import Guard, HttpLimits
from toolhand.builtin._robots import MOST_BYTES, Robots
from toolhand.builtin._web_words import check_status, failed, told
from toolhand.core.errors import ErrorCode
from toolhand.core.language import Language

_MOST_TEXT: Final = 1_000_000
_ACCEPTED: Final = "text/html,application/xhtml+xml,text/plain,text/markdown,application/json,application/xml;q=0.9,*/*;q=0.5"
_HTML: Final = ("text/html", "application/xhtml+xml")
_TEXTS: Final = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/yaml",
    "application/x-yaml",
)

_WORDS: Final[dict[str, dict[Language, tuple[str, str]]]] = {
    "robots": {
        "en": ("'{host}' does not want programs to read this page (robots.txt).", "Use another source."),
        "zh": ("“{host}”不希望程序读取这个页面（robots.txt）。", "请换一个来源。"),
    },
    "kind": {
        "en": ("This address holds {kind} and not a page of text.", "Use another source."),
        "zh": ("这个网址的内容是 {kind}，不是文字页面。", "请换一个来源。"),
    },
    "empty": {
        "en": ("The page has no text that can be read without running its programs.", "Use another source."),
        "zh": ("这个页面没有可以直接读取的文字（需要运行脚本）。", "请换一个来源。"),
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page.

    Args:
        url: the address that answered in the end.
        page: what it says.
        is_cut: whether its end is missing, as it is too long.
    """

    url: str
    page: PageText
    is_cut: bool


class Pages:
    """Reads pages.

    Args:
        guard: where they may be.
        limits: what one may take.
        obeys_robots: whether sites are asked.
    """

    def __init__(self, guard: Guard, limits: HttpLimits, *, obeys_robots: bool) -> None:
        self._guard = guard
        self._limits = limits
        self._reader = PageReader()
        self._robots = Robots(self._robots_txt) if obeys_robots else None

    async def read(self, address: str, *, links: bool, language: Language) -> ReadPage:
        """A page's text.

        Args:
            address: as a model wrote it.
            links: whether the page's links are kept.
            language: of what the model is told when it fails.

        Raises:
            ToolFailure: when it must not or cannot be read; it says why.
        """
        url = url_of(address, self._guard, language)
        host = url.host or ""
        with told(host, language):
            if self._robots is not None and not await self._robots.allows(url):
                raise failed(_WORDS["robots"][language], ErrorCode.NOT_PERMITTED, host=host)
            found = await fetch(
                url, guard=self._guard, limits=self._limits, headers={"Accept": _ACCEPTED}, language=language
            )
            if (
                self._robots is not None
                and found.url.origin() != url.origin()
                and not await self._robots.allows(found.url)
            ):
                raise failed(_WORDS["robots"][language], ErrorCode.NOT_PERMITTED, host=found.url.host)
        check_status(found.status, found.headers, found.url.host or host, language)
        page = await self._text(found, links=links, language=language)
        is_cut = found.is_cut or len(page.text) > _MOST_TEXT
        page = PageText(text=page.text[:_MOST_TEXT], title=page.title, date=page.date)
        return ReadPage(url=found.url.human_repr(), page=page, is_cut=is_cut)

    async def _text(self, found: Fetched, *, links: bool, language: Language) -> PageText:
        kind = found.media_type
        if kind and not (
            kind.startswith("text/") or kind in _HTML or kind.endswith(("+xml", "+json")) or kind in _TEXTS
        ):
            raise failed(_WORDS["kind"][language], ErrorCode.UPSTREAM, kind=kind[:60])
        try:
            text = decoded(found.content, found.charset)
        except BinaryContentError:
            raise failed(_WORDS["kind"][language], ErrorCode.UPSTREAM, kind=kind[:60] or "?") from None
        if kind in _HTML or (not kind and "<html" in text[:2_000].lower()):
            page = await self._reader.read(text, str(found.url), links=links)
        else:
            page = PageText(text=told_json(text) if "json" in kind else text)
        if not page.text.strip():
            raise failed(_WORDS["empty"][language], ErrorCode.UPSTREAM)
        return page

    async def _robots_txt(self, url: URL) -> Fetched:
        limits = HttpLimits(
            seconds=min(10.0, self._limits.seconds), size_bytes=MOST_BYTES, hops=self._limits.hops
        )
        return await fetch(url, guard=self._guard, limits=limits)
