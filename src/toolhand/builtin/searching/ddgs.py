"""Search without a key, through several public engines. Needs the extra "web". Source: https://github.com/deedy5/ddgs.

Proxies: `DDGS_PROXY`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final

from toolhand.builtin._web_words import failure
from toolhand.builtin.searching import Hit, Recency
from toolhand.core.errors import ErrorCode, MissingExtraError
from toolhand.core.language import Language, language_of, say

_SECONDS: Final = 10
_HOST: Final = "ddgs"
_REGION: Final[Mapping[Language, str]] = {"en": "us-en", "zh": "cn-zh"}


def connect(address: str, variables: Mapping[str, str]) -> Ddgs:
    """The engine.

    Args:
        address: which of its engines are asked, such as "brave,wikipedia"; "" for all.
        variables: `DDGS_PROXY`.

    Raises:
        MissingExtraError: when it is not installed.
    """
    if find_spec("ddgs") is None:
        raise MissingExtraError("web", say("searching the web without a key", "不用密钥的网页搜索"))
    return Ddgs(backend=address or "auto", proxy=variables.get("DDGS_PROXY") or None)


class Ddgs:
    """Searches in a thread, as the library does not await.

    Args:
        backend: which engines are asked.
        proxy: an HTTP or SOCKS proxy.
        verify: whether certificates are checked, or a file of those that are trusted.
    """

    def __init__(self, *, backend: str = "auto", proxy: str | None = None, verify: bool | str = True) -> None:
        self._backend = backend
        self._proxy = proxy
        self._verify = verify

    async def search(self, query: str, *, count: int, recency: Recency, language: Language) -> Sequence[Hit]:
        """The pages that fit best."""
        from ddgs.exceptions import (  # noqa: PLC0415 - of an extra
            DDGSException,
            RatelimitException,
            TimeoutException,
        )

        try:
            found = await asyncio.to_thread(self._text, query, count, recency)
        except RatelimitException:
            raise failure(
                "busy", ErrorCode.RATE_LIMITED, language, host=_HOST, status=429, retryable=True
            ) from None
        except TimeoutException:
            raise failure("slow", ErrorCode.TIMEOUT, language, host=_HOST, retryable=True) from None
        except DDGSException as error:
            if "no results" in str(error).lower():
                return []
            raise failure("network", ErrorCode.NETWORK, language, host=_HOST, retryable=True) from None
        return [
            Hit(
                title=str(one.get("title", "")),
                url=str(one.get("href", "")),
                snippet=str(one.get("body", "")),
            )
            for one in found
        ]

    def _text(self, query: str, count: int, recency: Recency) -> list[dict[str, Any]]:
        from ddgs import DDGS  # noqa: PLC0415 - of an extra

        with DDGS(proxy=self._proxy, timeout=_SECONDS, verify=self._verify) as engine:
            return list(
                engine.text(
                    query,
                    region=_REGION[language_of(query)],
                    safesearch="moderate",
                    timelimit=None if recency == "any" else recency[0],
                    max_results=count,
                    backend=self._backend,
                )
            )
