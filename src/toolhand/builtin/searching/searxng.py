"""SearXNG: a search engine of one's own. Address: "searxng:http://host" or `SEARXNG_URL`; its settings must allow JSON.

Source: https://docs.searxng.org/dev/search_api.html.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolhand.builtin._json_service import ask_json
from toolhand.builtin.searching import Hit, Recency, address_of, entries
from toolhand.core.errors import SettingsError
from toolhand.core.language import Language, language_of, say


def connect(address: str, variables: Mapping[str, str]) -> Searxng:
    """The engine at an address.

    Raises:
        SettingsError: when there is no address.
    """
    found = address or variables.get("SEARXNG_URL", "").strip()
    if not found:
        raise SettingsError(
            say(
                "searching with SearXNG needs its address: write searxng:http://localhost:8888, or set SEARXNG_URL",
                "用 SearXNG 搜索需要它的地址：请写 searxng:http://localhost:8888，或设置 SEARXNG_URL",
            )
        )
    return Searxng(address_of(found, "", "SearXNG"))


class Searxng:
    """The engine at an address, which may be in one's own network: the programmer chose it.

    Args:
        address: the engine's.
    """

    def __init__(self, address: str) -> None:
        self._address = f"{address}/search"

    async def search(self, query: str, *, count: int, recency: Recency, language: Language) -> Sequence[Hit]:
        """The pages that fit best."""
        asked = {
            "q": query,
            "format": "json",
            "safesearch": "1",
            "language": "zh-CN" if language_of(query) == "zh" else "en",
        }
        if recency != "any":
            asked["time_range"] = recency
        answer = await ask_json(self._address, query=asked, language=language)
        return [
            Hit(
                title=str(one.get("title") or ""),
                url=str(one.get("url") or ""),
                snippet=str(one.get("content") or ""),
                date=str(one.get("publishedDate") or ""),
            )
            for one in entries(answer, "results")
        ][:count]
