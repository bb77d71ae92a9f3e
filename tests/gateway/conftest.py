"""A gateway as it runs: on uvicorn, in the test's own loop, in front of a scripted model server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from tests.gateway.upstream import Upstream, running
from toolhand.gateway import GatewaySettings
from toolhand.gateway import Upstream as Behind
from toolhand.gateway.app import build_app
from toolhand.gateway.serving import server_of


@dataclass
class Said:
    """A response."""

    status: int
    headers: Any
    body: Any
    events: list[Any] = field(default_factory=list)


@dataclass
class Gate:
    """A running gateway and a client for it."""

    url: str
    session: aiohttp.ClientSession
    upstream: Upstream
    app: Any

    async def post(self, body: Any, path: str = "/v1/chat/completions", **options: Any) -> Said:
        if isinstance(body, dict):
            options["json"] = {"model": "m", **body}
        else:
            options["data"] = body
        async with self.session.post(self.url + path, **options) as response:
            raw = await response.read()
            if response.content_type == "text/event-stream":
                return Said(response.status, response.headers, raw, events_in(raw))
            return Said(response.status, response.headers, json.loads(raw) if raw else None)

    async def get(self, path: str, **options: Any) -> Said:
        async with self.session.get(self.url + path, **options) as response:
            raw = await response.text()
            return Said(response.status, response.headers, json.loads(raw) if raw[:1] in "[{" else raw)


def events_in(raw: bytes) -> list[Any]:
    found: list[Any] = []
    for line in raw.decode().splitlines():
        if line.startswith("data: "):
            data = line.removeprefix("data: ")
            found.append(data if data == "[DONE]" else json.loads(data))
    return found


@asynccontextmanager
async def gateway(upstream: Upstream, profile: str = "native", **settings: Any) -> AsyncIterator[Gate]:
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(running(upstream))
        settings.setdefault("models", {"m": Behind(model=f"{url}#up", protocol=profile)})
        told = GatewaySettings(port=0, **{"page": False, **settings})
        started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        app = build_app(told)
        server = server_of(app, told, started.set_result)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.ensure_future(server._serve())
        await asyncio.wait([task, started], return_when=asyncio.FIRST_COMPLETED)
        port = started.result()
        session = await stack.enter_async_context(aiohttp.ClientSession())
        try:
            yield Gate(f"http://127.0.0.1:{port}", session, upstream, app)
        finally:
            server.should_exit = True
            await task


Start = Callable[..., Awaitable[Gate]]


@pytest.fixture
async def start(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Starts a gateway in front of a script, which the test's end stops."""
    monkeypatch.setenv("TOOLHAND_CONFIG", str(tmp_path))
    async with AsyncExitStack() as stack:

        async def begin(*script: Any, size: int = 7, **settings: Any) -> Gate:
            return await stack.enter_async_context(gateway(Upstream(*script, size=size), **settings))

        yield begin
