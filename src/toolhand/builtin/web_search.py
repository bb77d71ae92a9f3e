"""`search_web`: pages of the internet that answer a question. Who searches can be chosen: see `toolhand.builtin.searching`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Final, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin._reach import BY_HAND
from toolhand.builtin.searching import Hit, Recency, SearchEngine, search_engine
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.language import Language
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

_MOST_SNIPPET: Final = 500
_NONE: Final[dict[Language, str]] = {
    "en": "Nothing was found. Use fewer or other words, or leave recency out.",
    "zh": "没有找到结果。请减少或更换关键词，或不限时间。",
}


class Found(TypedDict):
    """A page that was found."""

    title: str
    url: str
    snippet: str
    date: NotRequired[str]


class Results(TypedDict):
    """What a search found."""

    results: list[Found]
    note: NotRequired[str]


def offer(settings: BuiltinSettings) -> list[Tool]:
    """`search_web`, where the internet is open."""
    web = settings.web
    return [] if web is None else [search_web_tool(web.searcher, variables=web.variables)]


def search_web_tool(
    engine: str | SearchEngine = "ddgs", *, variables: Mapping[str, str] | None = None
) -> Tool:
    """The tool `search_web`.

    Args:
        engine: who searches: "ddgs" (no key), "tavily", "searxng:http://…", "bocha", another package's name, or an object
            with its `search` method.
        variables: where keys and addresses are; the environment by default.

    Raises:
        SettingsError: when there is no such engine, or it lacks a key or an address.
        MissingExtraError: when it needs a package that is not installed.
    """
    given = os.environ if variables is None else variables
    return _tool(search_engine(engine, given) if isinstance(engine, str) else engine)


def _tool(searcher: SearchEngine) -> Tool:
    @tool(
        effect="reads",
        idempotent=True,
        category="web",
        untrusted=True,
        reveals=["email", "phone"],  # what a public page tells the public
        timeout=30,
        aliases={"query": ["q", "keywords", "关键词"]},
    )
    async def search_web(  # noqa: D417 - the context is not the model's
        query: Annotated[
            str, Field(min_length=1, max_length=400, examples=["Nobel prize physics 2025 winner"])
        ],
        max_results: Annotated[int, Field(ge=1, le=10)] = 5,
        recency: Recency = "any",
        context: RunContext = BY_HAND,
    ) -> Results:
        """Searches the web for pages about something.

        在互联网上搜索网页。

        Args:
            query: what to look for, in the words that a good page would use. 搜索关键词。
            max_results: how many pages at most. 最多返回几条。
            recency: how old a page may be; any by default. 时间范围。

        Returns:
            The title, address and a part of the text of each page; fetch a page to read all of it.
        """
        hits = await searcher.search(query, count=max_results, recency=recency, language=context.language)
        found = [_told(hit) for hit in hits if hit.url.startswith(("http://", "https://"))][:max_results]
        return Results(results=found) if found else Results(results=[], note=_NONE[context.language])

    return search_web


def _told(hit: Hit) -> Found:
    found = Found(title=_cut(hit.title, 200), url=hit.url[:2_000], snippet=_cut(hit.snippet, _MOST_SNIPPET))
    if hit.date:
        found["date"] = hit.date[:40]
    return found


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
