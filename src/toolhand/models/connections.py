"""HTTP connections to a model's server: one pool for each event loop, closed with its loop, and the waiting rules."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import random
import re
import urllib.request
import weakref
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

import aiohttp
from yarl import URL

from toolhand.core.errors import ModelError, SettingsError
from toolhand.core.language import say

POOL_SIZE: Final = 4000
"""Connections at once in one loop: what is asked beyond waits for one, as a gateway's thousandth stream did for those before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long a server may take, all in seconds.

    Args:
        connect: to take a connection.
        first_byte: from the request to the first byte of the answer; long, as a local model reads a long prompt in it.
        between_bytes: of silence in the middle of an answer.
        total: for the whole answer.
    """

    connect: float = 10.0
    first_byte: float = 600.0
    between_bytes: float = 120.0
    total: float = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """When a request is sent again after a failure that may pass.

    Args:
        attempts: how often in all.
        first_delay: seconds before the second attempt; doubled before each further one, with up to a half taken off at random.
        longest_delay: seconds; a server that asks for more than this gets no second request.
    """

    attempts: int = 3
    first_delay: float = 0.5
    longest_delay: float = 30.0

    def delay(self, attempts_made: int, error: ModelError) -> float | None:
        """Seconds to wait before the next attempt, or None when there is to be none."""
        if not error.retryable or attempts_made >= self.attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.longest_delay else None
        full = min(self.first_delay * 2.0 ** (attempts_made - 1), self.longest_delay)
        return full * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, keeps no secret


_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

Kept: TypeAlias = dict[
    asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, AsyncGenerator[aiohttp.ClientSession, None]]
]
"""The session of each loop, and the generator that holds it."""


class Connections:
    """Connection pools to one server. Each event loop gets its own; it closes with the loop, or by `close`.

    Args:
        url: the server's address, which decides whether a proxy from the environment is used.
        connect_timeout: seconds for a connection to be taken.

    Raises:
        SettingsError: when the environment names a proxy that cannot be used.
    """

    def __init__(self, url: URL, *, connect_timeout: float) -> None:
        self._proxy = _proxy(url)
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout)
        self._kept: Kept = {}
        # What keeps the sessions must outlive whatever circle of garbage this object ends in.
        weakref.finalize(self, _let_go, self._kept).atexit = False

    async def session(self) -> aiohttp.ClientSession:
        """The running loop's session."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(loop)
        if kept is not None and not kept[0].closed:
            return kept[0]
        for other in [other for other in self._kept if other.is_closed()]:
            del self._kept[other]
        # Held by an async generator, because those are what a loop closes before it ends and when they are forgotten.
        keeper = self._keep()
        session = await anext(keeper)
        self._kept[loop] = (session, keeper)
        _OPEN.add(self)
        return session

    async def _keep(self) -> AsyncGenerator[aiohttp.ClientSession, None]:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=POOL_SIZE, keepalive_timeout=60),
            timeout=self._timeout,
            proxy=self._proxy,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "toolhand"},
        )
        try:
            yield session
        finally:
            await session.close()

    async def close(self) -> None:
        """Closes the running loop's pool, and those of loops that run elsewhere."""
        running = asyncio.get_running_loop()
        for loop, (session, keeper) in list(self._kept.items()):
            del self._kept[loop]
            if loop is running:
                await keeper.aclose()
            elif loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(session.close(), loop)
                await asyncio.wait_for(asyncio.wrap_future(closing), 5)

    def close_at_exit(self) -> None:
        """Closes what nobody closed before the program ended, so that it ends without a warning."""
        for loop, (session, _) in list(self._kept.items()):
            with contextlib.suppress(Exception):
                if loop.is_running():
                    asyncio.run_coroutine_threadsafe(session.close(), loop).result(2)
                elif not loop.is_closed():
                    loop.run_until_complete(session.close())
        self._kept.clear()


_OPEN: weakref.WeakSet[Connections] = weakref.WeakSet()


_CLOSING: Final[set[asyncio.Task[None]]] = set()


def _let_go(kept: Kept) -> None:
    """Closes, each in its loop, the sessions of a model that was dropped without `close`. It does not wait."""
    for loop, (_, keeper) in kept.items():

        def close(
            loop: asyncio.AbstractEventLoop = loop,
            keeper: AsyncGenerator[aiohttp.ClientSession, None] = keeper,
        ) -> None:
            task = loop.create_task(keeper.aclose())
            _CLOSING.add(task)
            task.add_done_callback(_CLOSING.discard)

        with contextlib.suppress(RuntimeError):  # the loop is closed, and the session with it
            loop.call_soon_threadsafe(close)


@atexit.register
def _close_all() -> None:
    for connections in list(_OPEN):
        connections.close_at_exit()


def _proxy(url: URL) -> str | None:
    """The proxy that the environment names for an address. Looked up once: aiohttp would do it for every request.

    This machine's own servers are reached without one, which would look for them on its own machine.
    """
    if not url.host or _is_here(url.host) or urllib.request.proxy_bypass(url.host):
        return None
    proxies = urllib.request.getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named:
        return None
    with contextlib.suppress(ValueError):
        proxy = URL(named if "://" in named else f"http://{named}")
        if proxy.scheme in ("http", "https") and proxy.host:
            return str(proxy)
    variable = f"{url.scheme if proxies.get(url.scheme) else 'all'}_proxy".upper()
    raise SettingsError(
        say(
            f"the proxy that {variable} names cannot be used for {url.host}: write http://host:port there (SOCKS is not spoken), "
            "or name the host in NO_PROXY",
            f"{variable} 指定的代理不能用于 {url.host}：请写成 http://主机:端口（不支持 SOCKS），或把该主机写入 NO_PROXY",
        )
    )


def usable_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    """Headers that can be sent: without blanks and line ends around them, which a key from a file often has.

    Raises:
        SettingsError: when one is no text, or is cut by a control character.
    """
    for name, value in headers.items():
        if not isinstance(value, str) or _CONTROL.search(value.strip() + name):
            raise SettingsError(
                say(
                    f"the header '{name}' cannot be sent: a header, or the API key in it, is one line of text",
                    f"请求头“{name}”无法发送：请求头（以及其中的 API key）应是一行文字",
                )
            )
    return {name: value.strip() for name, value in headers.items()}


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
