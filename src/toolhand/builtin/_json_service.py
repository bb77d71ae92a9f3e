"""One question to a JSON service whose address the programmer chose: weather and search. Proxies of the environment are used."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

import aiohttp
from yarl import URL

from toolhand.builtin._guarded_http import one_request
from toolhand.builtin._reach import HttpLimits
from toolhand.builtin._web_words import check_status, failure, told
from toolhand.core.errors import ErrorCode
from toolhand.core.language import Language

_LIMITS: Final = HttpLimits(seconds=15.0, size_bytes=3_000_000)


async def ask_json(
    address: str,
    *,
    language: Language,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    body: Mapping[str, Any] | None = None,
    tells: bool = False,
) -> Any:
    """The service's answer.

    Args:
        address: where it is.
        language: of what the model is told when it fails.
        query: parameters of the address.
        headers: such as a key; they are sent nowhere else, as no redirect is followed.
        body: JSON to send; the question is a POST then, else a GET.
        tells: whether an answer of 400 is given back too, as it tells what was wrong.

    Raises:
        ToolFailure: when there is no answer that can be understood.
    """
    url = URL(address).update_query(query or {})
    host = url.host or ""
    method = "GET" if body is None else "POST"
    sent = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    kind = {"Accept": "application/json"} | ({} if body is None else {"Content-Type": "application/json"})
    with told(host, language):
        async with asyncio.timeout(_LIMITS.seconds), _session() as session:
            found, _ = await one_request(
                session,
                method,
                url,
                limits=_LIMITS,
                headers={**kind, **(headers or {})},
                content=sent,
                language=language,
            )
    if found.status in (401, 403):
        raise failure("key", ErrorCode.UPSTREAM, language, host=host, status=found.status)
    if not (tells and found.status == 400):
        check_status(found.status, found.headers, host, language)
    try:
        return json.loads(found.content)
    except (ValueError, RecursionError):
        raise failure("garbled", ErrorCode.UPSTREAM, language, host=host, retryable=True) from None


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        trust_env=True,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=10.0),
        connector=aiohttp.TCPConnector(force_close=True),
    )
