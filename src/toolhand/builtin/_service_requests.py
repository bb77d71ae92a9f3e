"""Requests to listed services: which one an address belongs to, its secrets added on the way out and masked on the way in."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from yarl import URL

from toolhand.arguments.masking import masked
from toolhand.builtin._guarded_http import Fetched, guarded_session, one_request, url_of
from toolhand.builtin._page_text import BinaryContentError, decoded
from toolhand.builtin._reach import Guard, HttpLimits
from toolhand.builtin._services import Answered, Service
from toolhand.builtin._web_words import failed, told
from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.language import Language, say
from toolhand.core.retry_after import retry_after

_MASK: Final = "[secret]"
_SHORTEST_SECRET: Final = 6
_SAID: Final = 500
_ANYWHERE: Final = ("0.0.0.0/0", "::/0")
_ODD_PATH: Final = re.compile(r"(?:^|/)\.{1,2}(?:/|$)|%2e|%2f|%5c|\\|//|;", re.IGNORECASE)
"""What some servers take for a step up or another path than we do."""

_WORDS: Final[dict[str, dict[Language, tuple[str, str]]]] = {
    "unlisted": {
        "en": (
            "'{url}' is none of the services that may be asked.",
            "Begin the address with one of: {services}",
        ),
        "zh": ("“{url}”不在允许访问的服务之内。", "网址必须以下列之一开头：{services}"),
    },
    "path": {
        "en": (
            "The path of the address holds '..', '//' or an encoded slash.",
            "Write the path out plainly.",
        ),
        "zh": ("网址的路径里有“..”、“//”或编码的斜杠。", "请写出普通的路径。"),
    },
    "method": {
        "en": ("{method} is not allowed at {service}.", "Allowed: {methods}."),
        "zh": ("{service} 不允许使用 {method}。", "允许：{methods}。"),
    },
    "moved": {
        "en": (
            "The service sends on to another address, which is not followed (HTTP {status}).",
            "Use another path.",
        ),
        "zh": ("服务要求跳转到其他地址，没有跟随（HTTP {status}）。", "请使用其他路径。"),
    },
    "answer": {
        "en": ("The service answered with HTTP {status}: {said}", ""),
        "zh": ("服务返回 HTTP {status}：{said}", ""),
    },
    "perhaps": {
        "en": (
            "The service answered with HTTP {status}: {said}",
            "It may have had its effect: check before you send it again.",
        ),
        "zh": ("服务返回 HTTP {status}：{said}", "请求可能已经生效：再次发送之前请先核实。"),
    },
    "binary": {
        "en": ("The answer is {kind} and not text.", "Ask for something else."),
        "zh": ("返回的内容是 {kind}，不是文字。", "请改为请求其他内容。"),
    },
}
_CUT: Final[dict[Language, str]] = {
    "en": "The answer is longer than what was read; its end is missing. Ask for less.",
    "zh": "返回的内容过长，只读取了前一部分。请减少请求的内容。",
}


class Services:
    """The services that may be asked.

    Args:
        services: what they are.
        guard: where those may be that are not internal.
        limits: what one request may take.

    Raises:
        SettingsError: when there is none.
    """

    def __init__(self, services: Sequence[Service], guard: Guard, limits: HttpLimits) -> None:
        if not services:
            raise SettingsError(
                say(
                    "http tools need at least one service: give them addresses such as https://api.example.com",
                    "HTTP 工具至少需要一个服务：请给出 https://api.example.com 这样的地址",
                )
            )
        self._bases = [(URL(one.url), one) for one in services]
        self._guard = guard
        self._limits = limits

    async def ask(
        self,
        method: str,
        address: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        language: Language,
    ) -> Answered:
        """What a service answers.

        Args:
            method: an HTTP method.
            address: as a model wrote it.
            query: parameters of the address.
            body: JSON to send.
            language: of what the model is told when it fails.

        Raises:
            ToolFailure: when it may not be asked, or answers with an error.
            aiohttp.ClientError, TimeoutError: when the network fails at something that may have had its effect.
        """
        url, service = self._service(address, method, language)
        if query:
            url = url.update_query({key: str(value) for key, value in query.items()})
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        if method == "GET":
            with told(url.host or "", language):
                found = await self._sent(method, url, service, content, language)
        else:  # what may have happened is for the layers around the tool to say
            found = await self._sent(method, url, service, content, language)
        return _told(
            found,
            tuple(_secrets(service)),
            language,
            may_have_happened=method != "GET" and found.status in (500, 502, 504),
        )

    def _service(self, address: str, method: str, language: Language) -> tuple[URL, Service]:
        # Whether the place may be reached is judged by the service it belongs to, and again at the connection.
        url = url_of(address, Guard(networks=_ANYWHERE, ports=None), language)
        if _ODD_PATH.search(url.raw_path):
            raise failed(_WORDS["path"][language], ErrorCode.INVALID_ARGUMENT)
        fit = [(base, one) for base, one in self._bases if _begins_with(url, base)]
        if not fit:
            known = ", ".join(str(base) for base, _ in self._bases)
            raise failed(
                _WORDS["unlisted"][language], ErrorCode.NOT_PERMITTED, url=address[:120], services=known
            )
        base, service = max(fit, key=lambda one: len(one[0].raw_path))
        if method not in service.methods:
            raise failed(
                _WORDS["method"][language],
                ErrorCode.NOT_PERMITTED,
                method=method,
                service=str(base),
                methods=", ".join(service.methods),
            )
        return url, service

    async def _sent(
        self, method: str, url: URL, service: Service, content: bytes | None, language: Language
    ) -> Fetched:
        guard = replace(self._guard, networks=_ANYWHERE) if service.is_internal else self._guard
        headers = {
            "Accept": "application/json, text/*;q=0.8, */*;q=0.5",
            **({} if content is None else {"Content-Type": "application/json"}),
            **service.headers,
        }
        async with asyncio.timeout(self._limits.seconds), guarded_session(guard) as session:
            location, found = "", Fetched(url=url, status=0, headers={}, content=b"")
            for _ in range(self._limits.hops + 1):
                found, location = await one_request(
                    session,
                    method,
                    url,
                    headers=headers,
                    content=content,
                    limits=self._limits,
                    language=language,
                )
                following = self._next(url, location, service) if location and method == "GET" else None
                if following is None:
                    break
                url = following
        if location:
            raise failed(_WORDS["moved"][language], ErrorCode.UPSTREAM, status=found.status)
        return found

    @staticmethod
    def _next(url: URL, location: str, service: Service) -> URL | None:
        """Where a redirect leads, if it stays within the service: its keys go nowhere else."""
        try:
            following = url.join(URL(location))
        except ValueError:
            return None
        is_inside = following.raw_user is None and _begins_with(following, URL(service.url))
        return following if is_inside and not _ODD_PATH.search(following.raw_path) else None


def _begins_with(url: URL, base: URL) -> bool:
    """Whether an address lies at or below another one: the same scheme, host and port, whole parts of the path."""
    if (url.scheme, url.raw_host, url.port) != (base.scheme, base.raw_host, base.port):
        return False
    path = base.raw_path.rstrip("/")
    return url.raw_path == path or url.raw_path.startswith(f"{path}/")


def _secrets(service: Service) -> Iterator[str]:
    """The values of headers, and their parts behind "Bearer" or "Basic": none of them comes back to a model."""
    for value in service.headers.values():
        for part in (value, *value.split()):
            if len(part) >= _SHORTEST_SECRET:
                yield part


def _told(found: Fetched, secrets: Sequence[str], language: Language, *, may_have_happened: bool) -> Answered:
    try:
        text = decoded(found.content, found.charset)
    except BinaryContentError:
        kind = found.media_type[:60] or "?"
        raise failed(_WORDS["binary"][language], ErrorCode.UPSTREAM, kind=kind, status=found.status) from None
    text = masked(text, secrets, _MASK)
    if found.status >= 400:
        raise failed(
            _WORDS["perhaps" if may_have_happened else "answer"][language],
            ErrorCode.RATE_LIMITED if found.status == 429 else ErrorCode.UPSTREAM,
            status=found.status,
            said=" ".join(text.split())[:_SAID] or "-",
            retry_after=retry_after(found.headers),
            retryable=found.status in (408, 425, 429, 503),
        )
    answer = Answered(status=found.status)
    is_json = "json" in found.media_type or text.lstrip()[:1] in ("{", "[")
    try:
        if is_json and not found.is_cut:
            answer["json"] = masked(json.loads(text), secrets, _MASK)
        else:
            answer["text"] = text
    except (ValueError, RecursionError):
        answer["text"] = text
    if found.is_cut:
        answer["note"] = _CUT[language]
    return answer
