"""Fetches the text of a document, of a size that a document may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import aiohttp
from yarl import URL

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

MOST_BYTES: Final = 50_000_000
"""The largest public documents have some 15 MB."""

_MOST_HOPS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_ACCEPT: Final = {"Accept": "application/json, application/yaml, text/yaml, */*;q=0.5"}
_TIMEOUT: Final = aiohttp.ClientTimeout(total=60, connect=10)


async def fetched(url: str, headers: Mapping[str, str]) -> str:
    """The text at an address, over its redirects.

    Args:
        url: an "http(s)://" address.
        headers: to be sent along, to this server and no other.

    Raises:
        SettingsError: when it cannot be had or is too large.
    """
    accept = {**_ACCEPT, **headers}
    try:
        async with aiohttp.ClientSession(timeout=_TIMEOUT, trust_env=True) as session:
            here = URL(url)
            for _ in range(_MOST_HOPS):
                sent = accept if here.origin() == URL(url).origin() else _ACCEPT
                async with session.get(here, headers=sent, allow_redirects=False) as response:
                    target = response.headers.get("Location", "")
                    if response.status in _REDIRECTS and target:
                        here = here.join(URL(target))
                        continue
                    return await _text(response, url)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        if isinstance(error, SettingsError):
            raise
        is_there = not isinstance(error, aiohttp.ClientConnectionError)
        why = type(error).__name__ if is_there else say("its server cannot be reached", "无法连接服务器")
        raise _not_had(url, why) from None
    raise _not_had(url, say("it leads on too often", "跳转次数过多"))


async def _text(response: aiohttp.ClientResponse, url: str) -> str:
    if response.status >= 400:
        raise _not_had(url, f"HTTP {response.status}")
    found = bytearray()
    async for piece in response.content.iter_chunked(1 << 20):
        found += piece
        if len(found) > MOST_BYTES:
            raise _not_had(url, say("it is larger than 50 MB", "超过 50 MB"))
    return found.decode("utf-8-sig", "replace")


def _not_had(url: str, why: str) -> SettingsError:
    return SettingsError(
        say(f"the OpenAPI document at '{url}' cannot be had: {why}", f"无法获取 OpenAPI 文档“{url}”：{why}")
    )
