"""The page on a real port over a real store."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator

import aiohttp
import pytest
import uvicorn
from starlette.applications import Starlette

from tests.page.sample import agent
from toolhand.page import PageSettings, page_routes
from toolhand.sessions.sqlite import SqliteStore

TOKEN = "a-token-of-some-length"


@contextlib.asynccontextmanager
async def served(settings: PageSettings) -> AsyncIterator[str]:
    """Serves the page; gives its address."""
    config = uvicorn.Config(
        Starlette(routes=page_routes(settings)),
        port=0,
        log_level="warning",
        timeout_graceful_shutdown=1,
        ws="none",
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn tells it in no other way
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


class Visitor:
    """A person's browser, without a browser.

    Args:
        http: where cookies are kept.
        base: the page's address.
    """

    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self.http, self.base = http, base

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        """A page's status and text."""
        async with self.http.get(self.base + path, headers={"accept": "text/html", **headers}) as answer:
            return answer.status, await answer.text()

    async def post(
        self, path: str, *, at: str = "/approvals", headers: dict[str, str] | None = None, **fields: str
    ) -> tuple[int, str]:
        """Sends a form with the stamp that stands on a page."""
        if "stamp" not in fields:
            found = re.search(r'name="stamp" value="(\w+)"', (await self.get(at))[1])
            fields["stamp"] = found[1] if found else ""
        async with self.http.post(self.base + path, data=fields, headers=headers or {}) as answer:
            return answer.status, await answer.text()


@contextlib.asynccontextmanager
async def visiting(settings: PageSettings) -> AsyncIterator[Visitor]:
    """The page served, and somebody who visits it."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with served(settings) as base, aiohttp.ClientSession(cookie_jar=jar) as http:
        yield Visitor(http, base)


@pytest.fixture
async def store(tmp_path):
    kept = SqliteStore(tmp_path / "s.db")
    yield kept
    await kept.close()


def resuming(kept, *replies):
    """Goes on with a run of the shop's agent."""

    async def resume(session, user, decisions):
        return await agent(kept, *(replies or ("Ordered.",))).resume(session, decisions, user=user)

    return resume
