"""A gateway in a thread of its own, in front of a model server that writes its calls in the text, for real clients."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web

from tests.gateway.conftest import Gate, gateway
from tests.gateway.upstream import Upstream, answered

collect_ignore = [] if "TOOLHAND_CLIENTS_AT" in os.environ else ["test_shop.py"]
"""The shop needs a gateway in front of a real model, which scripts/clients.py starts."""

QUESTION = "How warm is it in Paris?"
ANSWER = "It is 21 degrees in Paris."
CALL = 'Let me look.\n<tool_call>\n{"name": "get_temperature", "arguments": {"city": "Paris"}}\n</tool_call>'
FINAL = f'<tool_call>\n{{"name": "final_answer", "arguments": {{"answer": "{ANSWER}"}}}}\n</tool_call>'


async def two_steps(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """What a model does that knows no calls but those in its own text: it asks for the tool, then answers with its result."""
    has_result = any("21 degrees" in str(message["content"]) for message in body["messages"])
    named = {tool["function"]["name"] for tool in body.get("tools", ())}
    end = FINAL if "final_answer" in named else ANSWER
    return await answered(request, body, end if has_result else CALL, 5)


@pytest.fixture(scope="session")
def at() -> Iterator[str]:
    """The gateway's address."""
    with serving(lambda stack: stack.enter_async_context(gateway(Upstream(two_steps)))) as url:
        yield url


class serving:
    """A gateway that runs while the block does."""

    def __init__(self, begin: Callable[[AsyncExitStack], Any]) -> None:
        self._begin = begin
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._stack = AsyncExitStack()

    def __enter__(self) -> str:
        self._thread.start()
        gate: Gate = asyncio.run_coroutine_threadsafe(self._begin(self._stack), self._loop).result(60)
        return gate.url

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()


def temperature(city: str) -> str:
    """What the tool tells."""
    return f"21 degrees in {city}"
