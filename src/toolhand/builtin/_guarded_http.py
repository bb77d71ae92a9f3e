"""One HTTP request to an address that a model, or a stranger's page, has named, in a way that cannot be led astray.

Every connection is made to an address that was just checked: the guard stands where names become addresses, and once more
where the socket is opened, so a name that changes its address between a check and its use (DNS rebinding) changes nothing.
Each hop of a redirect goes the same way. No proxy and no cookie of this machine is used. Bytes, hops and seconds are
bounded, after decompression.
"""

from __future__ import annotations

import asyncio
import re
import socket
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from toolhand.builtin._addresses import address_of
from toolhand.builtin._reach import PUBLIC, USUAL, Guard, HttpLimits
from toolhand.builtin._web_words import failure
from toolhand.core.errors import ErrorCode
from toolhand.core.language import Language

_MOST_URL: Final = 4_000
_SIMPLE_HEADERS: Final = {
    "Accept-Encoding": "gzip, deflate",
    "User-Agent": "Mozilla/5.0 (compatible; Toolhand/0.1)",
}
_BLOCK: Final = 64 * 1024
_HOST: Final = re.compile(r"[\w.-]{1,253}", re.ASCII)
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


class AddressRefusedError(OSError):
    """A name leads to an address that the guard does not let through."""

    def __init__(self, host: str, address: str) -> None:
        super().__init__(f"{host} is at {address}, which is not public")
        self.host = host
        self.address = address


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What came back.

    Args:
        url: the address that answered in the end.
        status: the HTTP status.
        headers: the answer's headers, names in lower case.
        content: the body, decompressed.
        is_cut: whether the body is longer than the limit, and its end is missing.
    """

    url: URL
    status: int
    headers: Mapping[str, str]
    content: bytes
    is_cut: bool = False

    @property
    def media_type(self) -> str:
        """What the body is, such as "text/html"; "" where the server does not say."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """The encoding that the server names, or ""."""
        found = re.search(
            r"charset\s*=\s*[\"']?([\w.:-]{2,40})", self.headers.get("content-type", ""), re.IGNORECASE
        )
        return found[1] if found else ""


def url_of(text: str, guard: Guard, language: Language = "en") -> URL:
    """The address that a model wrote, where it is one that may be asked.

    Raises:
        ToolFailure: when it is not; it says why.
    """
    text = text.strip().strip("<>").replace(" ", "%20")
    if not _SCHEME.match(text) or re.match(r"[\w.-]+:\d", text):
        text = f"https://{text.removeprefix('//')}"
    try:
        url = URL("" if len(text) > _MOST_URL or _UNFIT.search(text) else text)
        port, host = url.port, url.raw_host
    except (ValueError, UnicodeError):
        raise failure("url", ErrorCode.INVALID_ARGUMENT, language, url=" ".join(text[:80].split())) from None
    if url.scheme not in ("http", "https", ""):
        raise failure("scheme", ErrorCode.INVALID_ARGUMENT, language, scheme=url.scheme)
    if not host:
        raise failure("url", ErrorCode.INVALID_ARGUMENT, language, url=" ".join(text[:80].split()))
    if url.raw_user is not None or url.raw_password is not None:
        raise failure("user", ErrorCode.INVALID_ARGUMENT, language)
    if not guard.allows_port(port):
        raise failure("port", ErrorCode.NOT_PERMITTED, language, port=port)
    _check_host(host, guard, language)
    return url.with_fragment(None)


def _check_host(host: str, guard: Guard, language: Language) -> None:
    address = address_of(host)
    last = host.rstrip(".").rpartition(".")[2].lower()
    if address is None and (not _HOST.fullmatch(host) or _NUMERIC.fullmatch(last)):
        # Among them spellings of an address that differ from one library to the next: 2130706433, 0x7f.1, 0177.0.0.1.
        raise failure("spelling", ErrorCode.INVALID_ARGUMENT, language, host=host[:80])
    if last == "localhost":
        address = IPv4Address("127.0.0.1")
    if address is not None and not guard.allows(address):
        raise refused(host, language)


def refused(host: str, language: Language) -> Exception:
    """What a model is told of a place that it may not reach. It does not learn the address."""
    return failure("address", ErrorCode.NOT_PERMITTED, language, host=host[:80])


class _CheckedResolver(AbstractResolver):
    """Names become addresses that were all checked. One that is not public refuses the name."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = (guard.resolver or aiohttp.ThreadedResolver)()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        for one in found:
            if not self._guard.allows(address_of(one["host"])):
                raise AddressRefusedError(host, one["host"])
        if not found:
            raise OSError(None, f"{host} has no address")
        return found

    async def close(self) -> None:
        await self._inner.close()


@asynccontextmanager
async def guarded_session(guard: Guard) -> AsyncIterator[aiohttp.ClientSession]:
    """A client whose every connection, however it comes about, goes to an address that the guard lets through."""

    def opened(facts: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, place = facts
        if not guard.allows(address_of(str(place[0]))):
            raise AddressRefusedError(str(place[0]), str(place[0]))
        return socket.socket(family=family, type=kind, proto=protocol)

    connector = aiohttp.TCPConnector(
        resolver=_CheckedResolver(guard), use_dns_cache=False, force_close=True, socket_factory=opened
    )
    async with aiohttp.ClientSession(
        connector=connector,
        trust_env=False,  # a proxy would look names up itself, and a .netrc would send passwords
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=20.0),
    ) as session:
        yield session


async def fetch(
    url: URL,
    *,
    guard: Guard = PUBLIC,
    limits: HttpLimits = USUAL,
    headers: Mapping[str, str] | None = None,
    language: Language = "en",
) -> Fetched:
    """Gets a page, over its redirects.

    Args:
        url: as `url_of` gave it.
        guard: where it may be.
        limits: what it may take.
        headers: beside our own; they are sent to every hop, so no secret may be among them.
        language: of the words for a model.

    Raises:
        ToolFailure: when a hop is refused, there are too many, or the body cannot be read.
        aiohttp.ClientError, TimeoutError: when the network fails.
    """
    async with asyncio.timeout(limits.seconds), guarded_session(guard) as session:
        for _ in range(limits.hops + 1):
            found, location = await one_request(
                session, "GET", url, headers=headers, limits=limits, language=language
            )
            if not location:
                return found
            url = hop(url, location, guard, language)
    raise failure("hops", ErrorCode.UPSTREAM, language, hops=limits.hops)


def hop(url: URL, location: str, guard: Guard, language: Language) -> URL:
    """Where a redirect leads, checked like any other address.

    Raises:
        ToolFailure: when it may not be asked.
    """
    try:
        following = url.join(URL(location))
    except ValueError:
        raise failure("url", ErrorCode.UPSTREAM, language, url=location[:80]) from None
    return url_of(str(following), guard, language)


async def one_request(
    session: aiohttp.ClientSession,
    method: str,
    url: URL,
    *,
    limits: HttpLimits,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    language: Language = "en",
) -> tuple[Fetched, str]:
    """One request without its redirects: what came back, and where it leads on, or "".

    Raises:
        ToolFailure: when the address is refused or the body cannot be read.
        aiohttp.ClientError, TimeoutError: when the network fails.
    """
    try:
        async with session.request(
            method, url, headers={**_SIMPLE_HEADERS, **(headers or {})}, data=content, allow_redirects=False
        ) as answer:
            facts = {name.lower(): value for name, value in answer.headers.items()}
            if answer.status in (301, 302, 303, 307, 308) and "location" in facts:
                return Fetched(url=url, status=answer.status, headers=facts, content=b""), facts["location"]
            body, is_cut = await _body(answer, facts.get("content-encoding", ""), limits, language)
            return Fetched(url=url, status=answer.status, headers=facts, content=body, is_cut=is_cut), ""
    except aiohttp.ClientConnectorError as error:
        if isinstance(error.os_error, AddressRefusedError):
            raise refused(url.host or "", language) from None
        raise


async def _body(
    answer: aiohttp.ClientResponse, encoding: str, limits: HttpLimits, language: Language
) -> tuple[bytes, bool]:
    """The body, no longer than it may be, however much it grows when it is unpacked."""
    unpack = _unpacker(encoding.strip().lower(), language)
    body, taken = bytearray(), 0
    try:
        async for block in answer.content.iter_chunked(_BLOCK):
            body += unpack(block, limits.size_bytes + 1 - len(body))
            taken += len(block)
            if max(len(body), taken) > limits.size_bytes:  # what is packed may also hold nothing, without end
                return bytes(body[: limits.size_bytes]), True
    except zlib.error:
        raise failure("packed", ErrorCode.UPSTREAM, language) from None
    return bytes(body), False


def _unpacker(encoding: str, language: Language) -> Callable[[bytes, int], bytes]:
    """Unpacks block after block, never more than so many bytes: a small body may hold gigabytes."""
    if encoding in ("", "identity"):
        return lambda block, most: block[:most]
    if encoding not in ("gzip", "x-gzip", "deflate"):  # also two of them, one in the other
        raise failure("encoding", ErrorCode.UPSTREAM, language, encoding=encoding[:40])
    wrap = zlib.MAX_WBITS if encoding == "deflate" else 47
    state: Any = zlib.decompressobj(wrap)
    is_first, has_ended = True, False

    def unpacked(block: bytes, most: int) -> bytes:
        nonlocal state, is_first, has_ended
        found = b""
        while block and state is not None and len(found) < most:
            try:
                found += state.decompress(block, most - len(found))
            except zlib.error:
                if has_ended:  # what follows is no further part
                    state = None
                    break
                if encoding != "deflate" or not is_first:
                    raise
                state = zlib.decompressobj(-zlib.MAX_WBITS)  # many servers leave the frame out
                found += state.decompress(block, most)
            is_first = False
            if not state.eof:
                break
            # RFC 1952, 2.2: several parts may follow one another.
            block, state, has_ended = state.unused_data, zlib.decompressobj(wrap), True
        return found

    return unpacked
