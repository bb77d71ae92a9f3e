"""Fetches the text of a document, of a size that a document may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import aiohttp

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

MOST_BYTES: Final = 50_000_000
"""The largest public documents have some 15 MB."""

_TIMEOUT: Final = aiohttp.ClientTimeout(total=60, connect=10)


async def fetched(url: str, headers: Mapping[str, str]) -> str:
    """The text at an address.

    Args:
        url: an "http(s)://" address.
        headers: to be sent along.

    Raises:
        SettingsError: when it cannot be had or is too large.
    """
    accept = {"Accept": "application/json, application/yaml, text/yaml, */*;q=0.5", **headers}
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, trust_env=True) as session,
            session.get(url, headers=accept) as response,
        ):
            if response.status >= 400:
                raise _not_had(url, f"HTTP {response.status}")
            found = await response.content.read(MOST_BYTES + 1)
            while len(found) <= MOST_BYTES and (more := await response.content.read(MOST_BYTES)):
                found += more
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        if isinstance(error, SettingsError):
            raise
        raise _not_had(url, type(error).__name__) from None
    if len(found) > MOST_BYTES:
        raise _not_had(url, say("it is larger than 50 MB", "超过 50 MB"))
    return found.decode("utf-8-sig", "replace")


def _not_had(url: str, why: str) -> SettingsError:
    return SettingsError(
        say(f"the OpenAPI document at '{url}' cannot be had: {why}", f"无法获取 OpenAPI 文档“{url}”：{why}")
    )
