"""Servers on this machine that stand for places on the internet, and a resolver that says where names are.

On Linux every address in 127.0.0.0/8 is this machine: 127.0.9.0/24 stands for the public internet, which a guard is told by
opening that network, and 127.0.0.1 stays what it is. Nothing of the product is replaced but what the system's resolver says.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from toolhand.builtin._reach import Guard

OUTSIDE = "127.0.9.1"
"""Stands for a public address."""
NETWORK = "127.0.9.0/24"

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Names(AbstractResolver):
    """What the system's resolver would say: each name's addresses, one lookup after the other.

    Args:
        places: name → the addresses of each lookup, as (address, port or None for the one asked for); the last one stays.
    """

    def __init__(self, places: Mapping[str, list[list[tuple[str, int | None]]]]) -> None:
        self.places = places
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        if host not in self.places:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        lookups = self.places[host]
        found = lookups[min(self.asked.count(host), len(lookups)) - 1]
        return [
            ResolveResult(
                hostname=host, host=address, port=here or port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET, proto=0, flags=socket.AI_NUMERICHOST,
            )
            for address, here in found
        ]  # fmt: skip

    async def close(self) -> None:
        return


class Server:
    """A real server; counts what reaches it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.port = 0
        self.requests: list[web.Request] = []
        self.bodies: list[bytes] = []
        self._answers: dict[str, Any] = {}
        self._runner: web.AppRunner | None = None

    def on(self, path: str, answer: Any) -> None:
        """A text, bytes, an `aiohttp.web.Response`'s arguments as a dict, or an async function of the request."""
        self._answers[path] = answer

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    async def start(self, ssl_context: Any = None) -> None:
        app = web.Application(client_max_size=20_000_000)
        app.router.add_route("*", "/{tail:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.address, 0, ssl_context=ssl_context)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.read())
        answer = self._answers.get(request.path)
        if callable(answer):
            return await answer(request)
        if answer is None:
            return web.Response(status=404)
        if isinstance(answer, dict):
            return web.Response(**answer)
        if isinstance(answer, bytes):
            return web.Response(body=answer, content_type="text/html")
        return web.Response(text=answer, content_type="text/html")


def guard(names: Names, **more: Any) -> Guard:
    """A guard to which the stand-in for the internet is open."""
    return Guard(networks=(NETWORK,), ports=None, resolver=lambda: names, **more)
