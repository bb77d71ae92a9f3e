"""A scripted model server: a real HTTP server that speaks OpenAI's chat completions and answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Answer = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


def completion(
    text: str | None = "", calls: list[dict[str, Any]] | None = None, finish: str = "stop"
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    return {
        "id": "up-1", "object": "chat.completion", "created": 1, "model": "up",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }  # fmt: skip


def event(chunk: Any) -> bytes:
    return f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def piece(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return event(
        {
            "id": "up-1",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
    )


class Upstream:
    """Answers with the texts of a script, one a request; keeps the requests."""

    def __init__(self, *texts: Any, size: int = 7) -> None:
        self.script, self.size = list(texts), size
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Any] = []
        self.cancelled = asyncio.Event()
        self.url = ""

    async def respond(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(request.headers)
        now = self.script[min(len(self.bodies), len(self.script)) - 1]
        try:
            if callable(now):
                return await now(request, body)
            return await answered(request, body, now, self.size)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


async def answered(request: web.Request, body: dict[str, Any], reply: Any, size: int) -> web.StreamResponse:
    """A text, or a whole body, whole or streamed as the request asks."""
    whole = completion(reply) if isinstance(reply, str) else reply
    if not body.get("stream"):
        return web.json_response(whole)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    choice = whole["choices"][0]
    text = choice["message"].get("content") or ""
    parts = [piece({"role": "assistant", "content": ""})]
    parts += [piece({"content": text[at : at + size]}) for at in range(0, len(text), size)]
    for index, call in enumerate(choice["message"].get("tool_calls") or ()):
        parts.append(piece({"tool_calls": [{"index": index, **call}]}))
    parts.append(piece({}, choice["finish_reason"]))
    parts.append(event({"choices": [], "usage": whole["usage"]}))
    parts.append(event("[DONE]"))
    for part in parts:
        await response.write(part)
    return response


@asynccontextmanager
async def running(upstream: Upstream) -> AsyncIterator[str]:
    """The server, while it runs; gives its base_url."""
    app = web.Application(client_max_size=64 * 1024 * 1024, handler_args={"handler_cancellation": True})
    app.router.add_post("/v1/chat/completions", upstream.respond)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1000)
    await site.start()
    upstream.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield upstream.url
    finally:
        await runner.cleanup()
