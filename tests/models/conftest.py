"""Real local servers that misbehave as told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from tests.models.speakers import SPEAKERS

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Starts a server for chat completions; gives its base_url."""
    runners: list[web.AppRunner] = []

    async def start(handler: Handler) -> str:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        runners.append(runner)
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1000)
        await site.start()
        port = runner.addresses[0][1]
        return f"http://127.0.0.1:{port}/v1"

    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def serve_raw() -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Starts a server that answers each connection with what `answer(writer)` writes; gives its base_url."""
    servers: list[asyncio.Server] = []

    async def start(answer: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> str:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            try:
                await answer(writer)
            except (ConnectionError, asyncio.CancelledError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

    yield start
    for server in servers:
        server.close()
        await server.wait_closed()


def completion(text: str = "好", **message: Any) -> dict[str, Any]:
    """A whole reply's body."""
    return {
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }


def event(chunk: Any) -> bytes:
    """One event of a stream."""
    return f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n".encode()


def piece(text: str, finish: str | None = None) -> bytes:
    """A piece of text as an event."""
    return event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


class Server:
    """Answers with what stands in `answers`, in order; the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.requests: list[Any] = []
        self.root = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.path_qs, dict(request.headers), await request.json()))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            return answer()
        if not isinstance(answer, list):
            return web.json_response(answer)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in answer:
            if isinstance(piece, float):
                await asyncio.sleep(piece)
            elif piece is None:
                request.transport.abort()
            else:
                await response.write(piece)
                await asyncio.sleep(0)
        return response


@pytest.fixture
async def server():
    found = Server()
    app = web.Application()
    app.router.add_post("/{path:.*}", found.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.root = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield found
    await runner.cleanup()


@pytest.fixture(params=SPEAKERS, ids=lambda speaker: speaker.name)
def speaker(request):
    return request.param


async def no_wait(seconds: float) -> None:
    del seconds


@pytest.fixture
async def made(server, speaker):
    models = []

    def make(**options: Any):
        options.setdefault("sleep", no_wait)
        models.append(speaker.model(options.pop("root", server.root), **options))
        return models[-1]

    yield make
    for model in models:
        await model.close()
