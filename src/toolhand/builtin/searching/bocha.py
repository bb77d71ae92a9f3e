"""Bocha (博查): a search service in China, good at Chinese. Key: `BOCHA_API_KEY`. Source: https://open.bochaai.com."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolhand.builtin._json_service import ask_json
from toolhand.builtin._web_words import failure
from toolhand.builtin.searching import Hit, Recency, address_of, entries, key_of
from toolhand.core.errors import ErrorCode
from toolhand.core.language import Language

_FRESHNESS: Final[Mapping[Recency, str]] = {
    "any": "noLimit", "day": "oneDay", "week": "oneWeek", "month": "oneMonth", "year": "oneYear",
}  # fmt: skip


def connect(address: str, variables: Mapping[str, str]) -> Bocha:
    """The service.

    Raises:
        SettingsError: when there is no key.
    """
    key = key_of(variables, "BOCHA_API_KEY", "Bocha", "open.bochaai.com")
    return Bocha(key, address_of(address, "https://api.bochaai.com", "Bocha"))


class Bocha:
    """The service at an address.

    Args:
        key: a user's.
        address: the service's.
    """

    def __init__(self, key: str, address: str) -> None:
        self._headers = {"Authorization": f"Bearer {key}"}
        self._address = f"{address}/v1/web-search"

    async def search(self, query: str, *, count: int, recency: Recency, language: Language) -> Sequence[Hit]:
        """The pages that fit best."""
        body = {"query": query, "freshness": _FRESHNESS[recency], "summary": True, "count": count}
        answer = await ask_json(self._address, headers=self._headers, body=body, language=language)
        code = answer.get("code", 200) if isinstance(answer, Mapping) else 0
        if code not in (200, "200"):  # a failure inside of an answer that is none
            raise failure("garbled", ErrorCode.UPSTREAM, language, host="api.bochaai.com", retryable=True)
        return [
            Hit(
                title=str(one.get("name") or ""),
                url=str(one.get("url") or ""),
                snippet=str(one.get("summary") or one.get("snippet") or ""),
                date=str(one.get("datePublished") or ""),
            )
            for one in entries(answer, "data", "webPages", "value")
        ]
