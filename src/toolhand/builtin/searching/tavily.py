"""Tavily: a search service made for models. Key: `TAVILY_API_KEY`. Source: https://docs.tavily.com/documentation/api-reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.builtin._json_service import ask_json
from toolhand.builtin.searching import Hit, Recency, address_of, entries, key_of
from toolhand.core.language import Language


def connect(address: str, variables: Mapping[str, str]) -> Tavily:
    """The service.

    Raises:
        SettingsError: when there is no key.
    """
    key = key_of(variables, "TAVILY_API_KEY", "Tavily", "app.tavily.com")
    return Tavily(key, address_of(address, "https://api.tavily.com", "Tavily"))


class Tavily:
    """The service at an address.

    Args:
        key: a user's.
        address: the service's.
    """

    def __init__(self, key: str, address: str) -> None:
        self._headers = {"Authorization": f"Bearer {key}"}
        self._address = f"{address}/search"

    async def search(self, query: str, *, count: int, recency: Recency, language: Language) -> Sequence[Hit]:
        """The pages that fit best."""
        body: dict[str, Any] = {"query": query, "max_results": count, "search_depth": "basic"}
        if recency != "any":
            body["time_range"] = recency
        answer = await ask_json(self._address, headers=self._headers, body=body, language=language)
        return [
            Hit(
                title=str(one.get("title") or ""),
                url=str(one.get("url") or ""),
                snippet=str(one.get("content") or ""),
                date=str(one.get("published_date") or ""),
            )
            for one in entries(answer, "results")
        ]
