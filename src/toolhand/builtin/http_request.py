"""`http_request`, `http_send` and `http_delete`: the HTTP services that the programmer has listed, and nothing else.

A service's headers, with its keys, are added behind the model's back and taken out of whatever comes back. Which method is used
decides which tool it is, so that what reads, what writes and what destroys have rules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from toolhand.builtin._reach import BY_HAND, Guard, HttpLimits
from toolhand.builtin._services import DELETES, READS, SENDS, Answered, Service
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

if TYPE_CHECKING:
    from toolhand.builtin._service_requests import Services

__all__ = ["Service", "http_tools", "offer"]

LIMITS: Final = HttpLimits(seconds=30.0, size_bytes=1_000_000, hops=3)

_Url = Annotated[str, Field(min_length=1, max_length=4_000)]
_Query = Annotated[dict[str, str], Field(max_length=50)]


def offer(settings: BuiltinSettings) -> list[Tool]:
    """The tools for the services that are listed."""
    return http_tools(settings.services) if settings.services else []


def http_tools(
    services: Sequence[Service | str],
    *,
    guard: Guard | None = None,
    limits: HttpLimits = LIMITS,
) -> list[Tool]:
    """The tools over some services: `http_request` where any may be read from, `http_send` and `http_delete` where it may.

    Args:
        services: the services, or only their addresses where nothing but reading is allowed and no key is needed.
        guard: where services may be that are not internal: at public addresses, at any port, by default.
        limits: what one request may take.

    Raises:
        SettingsError: when there is no service, or one cannot be one.
    """
    from toolhand.builtin._service_requests import Services  # noqa: PLC0415 - loads a network library

    listed = tuple(one if isinstance(one, Service) else Service(url=one) for one in services)
    known = Services(listed, guard or Guard(ports=None), limits)
    made = []
    for methods, make in ((READS, _http_request), (SENDS, _http_send), (DELETES, _http_delete)):
        open_to = [one for one in listed if set(one.methods) & set(methods)]
        if open_to:
            plain = make(known, limits.seconds + 10)
            made.append(replace(plain, description=f"{plain.description}\n{_overview(open_to, methods)}"))
    return made


def _overview(services: Sequence[Service], methods: Sequence[str]) -> str:
    """The services for a tool's description: without it a model would guess at addresses."""
    lines = ["Services / 可用服务:"]
    for one in services:
        named = "" if tuple(methods) == READS else f" ({', '.join(m for m in one.methods if m in methods)})"
        lines.append(f"- {one.url.rstrip('/')}{named}{': ' if one.about else ''}{one.about}")
    return "\n".join(lines)


def _http_request(services: Services, seconds: float) -> Tool:
    @tool(effect="reads", idempotent=True, category="services", untrusted=True, timeout=seconds)
    async def http_request(  # noqa: D417 - the context is not the model's
        url: _Url, query: _Query | None = None, context: RunContext = BY_HAND
    ) -> Answered:
        """Gets something from one of the HTTP services below. The program adds the keys.

        向下列 HTTP 服务之一发送 GET 请求，密钥由程序添加。

        Args:
            url: the whole address, which begins with one of the services' addresses. 完整网址。
            query: parameters of the address, such as {"page": "2"}. 查询参数。

        Returns:
            The status and the answer's JSON or text.
        """
        return await services.ask("GET", url, query=query, language=context.language)

    return http_request


def _http_send(services: Services, seconds: float) -> Tool:
    @tool(effect="writes", category="services", untrusted=True, timeout=seconds)
    async def http_send(  # noqa: D417 - the context is not the model's
        url: _Url,
        body: dict[str, Any],
        method: Literal["POST", "PUT", "PATCH"] = "POST",
        query: _Query | None = None,
        context: RunContext = BY_HAND,
    ) -> Answered:
        """Sends JSON to one of the HTTP services below, which may change something there. The program adds the keys.

        向下列 HTTP 服务之一发送 JSON，可能会改变那里的内容；密钥由程序添加。

        Args:
            url: the whole address, which begins with one of the services' addresses. 完整网址。
            body: what is sent. 发送的 JSON 内容。
            method: how it is sent. 请求方法。
            query: parameters of the address. 查询参数。

        Returns:
            The status and the answer's JSON or text.
        """
        return await services.ask(method, url, query=query, body=body, language=context.language)

    return http_send


def _http_delete(services: Services, seconds: float) -> Tool:
    @tool(effect="destroys", approval=True, category="services", untrusted=True, timeout=seconds)
    async def http_delete(  # noqa: D417 - the context is not the model's
        url: _Url, query: _Query | None = None, context: RunContext = BY_HAND
    ) -> Answered:
        """Deletes something at one of the HTTP services below, for good. The program adds the keys.

        在下列 HTTP 服务之一删除内容，无法撤销；密钥由程序添加。

        Args:
            url: the whole address of what is deleted. 要删除的内容的完整网址。
            query: parameters of the address. 查询参数。

        Returns:
            The status and the answer's JSON or text.
        """
        return await services.ask("DELETE", url, query=query, language=context.language)

    return http_delete
