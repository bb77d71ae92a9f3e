"""`fetch_page`: what a page on the public internet says, and nothing that is not on it."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin._reach import BY_HAND, PUBLIC, USUAL, Guard, HttpLimits
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode
from toolhand.core.language import Language
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

if TYPE_CHECKING:
    from toolhand.builtin._pages import Pages, ReadPage

_PART: Final = 12_000
"""Characters of a page that come at once."""

_KEPT_PAGES: Final = 16
_KEPT_SECONDS: Final = 300.0
_READ_SECONDS: Final = 8.0

_BEYOND: Final[dict[Language, tuple[str, str]]] = {
    "en": ("start={start} is beyond the page's end: it has {total} characters.", "Use a smaller start."),
    "zh": ("start={start} 超出了页面的结尾：全文共 {total} 个字符。", "请使用更小的 start。"),
}
_CUT: Final[dict[Language, str]] = {
    "en": "The page is longer than what was read; its end is missing.",
    "zh": "页面过长，只读取了前一部分。",
}


class Page(TypedDict):
    """A page's text from a place on. `next_start` is there where more follows."""

    url: str
    title: NotRequired[str]
    date: NotRequired[str]
    text: str
    start: NotRequired[int]
    next_start: NotRequired[int]
    total_characters: NotRequired[int]
    note: NotRequired[str]


def offer(settings: BuiltinSettings) -> list[Tool]:
    """`fetch_page`, where the internet is open."""
    web = settings.web
    return [] if web is None else [fetch_page_tool(guard=web.guard, limits=web.limits, robots=web.robots)]


def fetch_page_tool(
    *,
    guard: Guard = PUBLIC,
    limits: HttpLimits = USUAL,
    robots: bool = True,
) -> Tool:
    """The tool `fetch_page`.

    Args:
        guard: where pages may be fetched from: the public internet by default.
        limits: what one page may take.
        robots: whether a site's robots.txt is obeyed.

    Raises:
        MissingExtraError: when the extra "web" is not installed.
    """
    from toolhand.builtin._pages import Pages  # noqa: PLC0415 - loads a network library

    return _tool(Pages(guard, limits, obeys_robots=robots), 2 * limits.seconds + _READ_SECONDS + 10)


def _tool(pages: Pages, seconds: float) -> Tool:
    kept = _Kept()

    @tool(
        effect="reads",
        idempotent=True,
        category="web",
        untrusted=True,
        reveals=["email", "phone"],  # what a public page tells the public
        timeout=seconds,
        aliases={"url": ["link", "address", "网址"]},
    )
    async def fetch_page(  # noqa: D417 - the context is not the model's
        url: Annotated[str, Field(min_length=1, max_length=4_000, examples=["https://example.org/news"])],
        start: Annotated[int, Field(ge=0)] = 0,
        links: bool = False,
        context: RunContext = BY_HAND,
    ) -> Page:
        """Reads a web page and returns its text.

        读取网页的文字内容。

        Args:
            url: the whole address, such as "https://example.org/news". 网址。
            start: the character to go on from, for a long page: next_start of the part before. 从第几个字符开始。
            links: whether to keep the page's links. 是否保留链接。

        Returns:
            The text as Markdown, the title, the date where the page names one, and next_start where more follows.
        """
        language = context.language
        page = kept.get((url, links))
        if page is None:
            page = await pages.read(url, links=links, language=language)
            kept.keep((url, links), page)
        return _part(page, start, language)

    return fetch_page


def _part(read: ReadPage, start: int, language: Language) -> Page:
    page, total = read.page, len(read.page.text)
    if start >= total:
        from toolhand.builtin._web_words import failed  # noqa: PLC0415 - loads a network library

        raise failed(_BEYOND[language], ErrorCode.INVALID_ARGUMENT, start=start, total=total)
    end = min(start + _PART, total)
    if end < total:  # at the end of a line where one is near
        end = max(page.text.rfind("\n", start + _PART // 2, end) + 1, 0) or end
    found = Page(url=read.url, text=page.text[start:end])
    if page.title:
        found["title"] = page.title[:300]
    if page.date:
        found["date"] = page.date[:40]
    if start or end < total:
        found |= Page(url=read.url, text=found["text"], start=start, total_characters=total)
    if end < total:
        found["next_start"] = end
    elif read.is_cut:
        found["note"] = _CUT[language]
    return found


class _Kept:
    """The pages that were read last: the parts of one come from one reading."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pages: OrderedDict[tuple[str, bool], tuple[float, ReadPage]] = OrderedDict()

    def get(self, key: tuple[str, bool]) -> ReadPage | None:
        until, page = self._pages.get(key, (0.0, None))
        return page if self._clock() < until else None

    def keep(self, key: tuple[str, bool], page: ReadPage) -> None:
        self._pages[key] = (self._clock() + _KEPT_SECONDS, page)
        self._pages.move_to_end(key)
        while len(self._pages) > _KEPT_PAGES:
            self._pages.popitem(last=False)
