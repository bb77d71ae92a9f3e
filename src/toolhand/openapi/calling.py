"""Sends one call of an operation and reads the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from toolhand.core.errors import ErrorCode
from toolhand.core.language import Language
from toolhand.core.tools import Tool
from toolhand.models.connections import Connections
from toolhand.openapi.bodies import Body, encoded_body, is_json
from toolhand.openapi.failures import failure, refused
from toolhand.openapi.inputs import Input
from toolhand.openapi.security import Credentials, without_secrets
from toolhand.openapi.writing import path_text, plain_text, query_pairs

MOST_BYTES: Final = 10_000_000
"""Of an answer: more is of no use to a model, and must not fill the program's memory."""

_MOST_HOPS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CONNECT_TIMEOUT: Final = 10.0
_GRACE: Final = 5.0
"""Seconds that the timeout policy comes first by: it knows what a call may have done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What goes out.

    Args:
        method: in capitals.
        url: whole, percent-encoded.
        headers: all of them.
        content: the body, or None.
    """

    method: str
    url: URL
    headers: Mapping[str, str]
    content: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where an operation's calls go.

    Args:
        method: in capitals.
        server: the server's address, without a "/" at its end.
        path: with its parameters in braces.
        places: where each argument goes.
        body: what is sent as the body, or None.
        headers: that the program adds to every request.
    """

    method: str
    server: str
    path: str
    places: Sequence[Input]
    body: Body | None
    headers: Mapping[str, str] = field(default_factory=dict)


def request_of(
    route: Route, arguments: Mapping[str, Any], credentials: Credentials, language: Language
) -> Request:
    """The request for a call.

    Args:
        route: where it goes.
        arguments: by the tool's names.
        credentials: the secrets' part.
        language: of what a refusal says.

    Raises:
        ToolFailure: when an argument cannot stand where it has to.
    """
    made = _Parts(path=route.path, headers={"Accept": _ACCEPT, "User-Agent": "toolhand", **route.headers})
    for place in route.places:
        value = arguments.get(place.name)
        if place.name in arguments and (value is not None or place.place in ("body", "field")):
            made.add(place, value, language)
    return made.assembled(route, credentials)


_ACCEPT: Final = "application/json, text/*;q=0.8, */*;q=0.5"
_SAFE_IN_ADDRESSES: Final = "%:/?#[]@!$&'()*+,;=~"
"""What is encoded already, and what means something; a document may have any other character in its paths."""

_SAFE_IN_COOKIES: Final = "!#$&()*+-./:<=>?@[]^_`{|}~"


@dataclass(slots=True, kw_only=True)
class _Parts:
    """A request while its arguments are put in their places."""

    path: str
    headers: dict[str, str]
    query: list[str] = field(default_factory=list)
    cookies: list[tuple[str, str]] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    whole: Any = None

    def add(self, place: Input, value: Any, language: Language) -> None:
        """Puts one argument in its place."""
        if place.is_json:
            value = json.dumps(value, ensure_ascii=False)
        match place.place:
            case "path":
                text = path_text(place.wire, value, place.style, explode=place.explode)
                self.path = _with_step(self.path, place, text, language)
            case "query":
                pairs = query_pairs(
                    place.wire, value, place.style, explode=place.explode, reserved=place.reserved
                )
                self.query += pairs
            case "header":
                self.headers[place.wire] = _one_line(
                    plain_text(value, explode=place.explode), place, language
                )
            case "cookie":
                text = _one_line(plain_text(value, explode=place.explode), place, language)
                self.cookies.append((place.wire, text))
            case "field":
                self.fields[place.wire] = value
            case _:
                self.whole = value

    def assembled(self, route: Route, credentials: Credentials) -> Request:
        """The request, with the secrets in it."""
        secret = [f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in credentials.query]
        headers = self.headers | credentials.headers
        cookies = self.cookies + credentials.cookies
        if cookies:
            headers["Cookie"] = "; ".join(
                f"{name}={quote(text, safe=_SAFE_IN_COOKIES)}" for name, text in cookies
            )
        content, value = None, self.fields or self.whole
        if route.body is not None and (value is not None or route.body.is_required):
            is_empty = value is None and any(place.place == "field" for place in route.places)
            content, headers["Content-Type"] = encoded_body(route.body, {} if is_empty else value)
        address = f"{route.server}{self.path}"
        if query := [*self.query, *secret]:
            address += ("&" if "?" in address else "?") + "&".join(query)
        return Request(
            method=route.method,
            url=URL(quote(address, safe=_SAFE_IN_ADDRESSES), encoded=True),
            headers=headers,
            content=content,
        )


def _with_step(path: str, place: Input, text: str, language: Language) -> str:
    """The path with one parameter in its place. A value that would make another path of it is refused."""
    before, mark, after = path.partition(f"{{{place.wire}}}")
    if not mark:
        return path
    start = before.rpartition("/")[2]
    step = start + text + after.partition("/")[0]
    if not text or step.strip(".") == "":
        raise refused(
            "path", language, ErrorCode.INVALID_ARGUMENT, retryable=True, name=place.name, value=text
        )
    return before + text + after


def _one_line(text: str, place: Input, language: Language) -> str:
    if any(mark in text for mark in "\r\n\0"):
        raise refused("header", language, ErrorCode.INVALID_ARGUMENT, retryable=True, name=place.name)
    return text


class Service:
    """The server behind a document's operations: its connections, and how its answers are read.

    Args:
        url: an address of it, which decides about a proxy.
        timeout: seconds for one call.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        self._connections = Connections(URL(url), connect_timeout=_CONNECT_TIMEOUT)
        self._timeout = aiohttp.ClientTimeout(total=timeout + _GRACE, sock_connect=_CONNECT_TIMEOUT)

    async def answer(self, request: Request, secrets: Sequence[str], language: Language, tool: Tool) -> Any:
        """Sends a request and reads what comes back.

        Args:
            request: the request.
            secrets: what may not stand in the answer.
            language: of what a failure says.
            tool: whose call it is.

        Returns:
            JSON as a value, text as text, anything else as bytes; None where nothing came.

        Raises:
            ToolFailure: when the service refused or failed.
            aiohttp.ClientError: when it could not be reached.
        """
        session = await self._connections.session()
        method, url, content = request.method, request.url, request.content
        for _ in range(_MOST_HOPS):
            async with session.request(
                method,
                url,
                headers=request.headers,
                data=content,
                timeout=self._timeout,
                allow_redirects=False,
            ) as response:
                target = response.headers.get("Location")
                if response.status in _REDIRECTS and target:
                    url = _followed(url, target, language)
                    if response.status == 303 or (response.status in (301, 302) and method == "POST"):
                        method, content = "GET", None
                    continue
                found = await _read(response, language)
                return _value(response, found, secrets, language, tool)
        raise refused("moved", language, ErrorCode.UPSTREAM, target=str(url.origin()))


def _followed(url: URL, target: str, language: Language) -> URL:
    """The next address, on the same server only: another one would be told the secrets."""
    found = url.join(URL(target))
    if found.scheme not in ("http", "https") or found.origin() != url.origin():
        raise refused("moved", language, ErrorCode.UPSTREAM, target=str(found.with_query(None))[:200])
    return found


async def _read(response: aiohttp.ClientResponse, language: Language) -> bytes:
    found = bytearray()
    async for piece in response.content.iter_chunked(1 << 16):
        found += piece
        if len(found) > MOST_BYTES:
            size = MOST_BYTES // 1_000_000
            raise refused("large", language, ErrorCode.RESULT_TOO_LARGE, size=size)
    return bytes(found)


def _value(
    response: aiohttp.ClientResponse, content: bytes, secrets: Sequence[str], language: Language, tool: Tool
) -> Any:
    kind = response.content_type or ""
    is_text = (
        kind.startswith("text/")
        or is_json(kind)
        or kind.endswith(("xml", "yaml", "javascript", "urlencoded"))
    )
    if response.status >= 400 or is_text or not kind:
        text = without_secrets(_decoded(response, content), secrets)
        if response.status >= 400:
            raise failure(response.status, text, response.headers, language, tool)
        if is_json(kind) and text.strip():
            try:
                return without_secrets(json.loads(text), secrets)
            except (ValueError, RecursionError):
                raise refused("garbled", language, ErrorCode.UPSTREAM) from None
        if text.strip():
            return text
    elif content:
        return content
    location = response.headers.get("Location")
    return {"status": response.status, "location": without_secrets(location, secrets)} if location else None


def _decoded(response: aiohttp.ClientResponse, content: bytes) -> str:
    try:
        return content.decode(response.charset or "utf-8", "replace")
    except LookupError:
        return content.decode("utf-8", "replace")
