from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from toolhand import Agent, Choose
from toolhand.choosing.choose import Choose as SameChoose
from toolhand.core.choice_events import ToolsChosen
from toolhand.core.errors import ModelError, SettingsError
from toolhand.models.connections import Retries
from toolhand.models.embeddings import BATCH, Embeddings
from toolhand.testing import ScriptedModel

from .tools import many

MEANINGS = ({"barn", "stable", "cattle"}, {"doll", "toy", "puppet"}, {"mist", "fog", "haze"})


def vector(text: str) -> list[float]:
    """Words of one meaning lie in one direction."""
    said = text.casefold()
    return [1.0 + 10 * sum(word in said for word in meaning) for meaning in MEANINGS] + [1.0]


class Server:
    """A server that speaks `/embeddings`, as well as it is told to."""

    def __init__(self) -> None:
        self.url = ""
        self.bodies: list[dict] = []
        self.keys: list[str] = []
        self.answer = None

    async def answered(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.keys.append(request.headers.get("Authorization", ""))
        if self.answer is not None:
            return self.answer(body)
        rows = [{"index": place, "embedding": vector(text)} for place, text in enumerate(body["input"])]
        return web.json_response({"data": rows[::-1], "model": body["model"]})


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/embeddings", made.answered)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1#m"
    yield made
    await runner.cleanup()


async def test_vectors_come_in_order_and_in_batches(server):
    embeddings = Embeddings(server.url, api_key="key-0001")
    texts = [f"text {place} {'doll' if place % 2 else 'barn'}" for place in range(BATCH + 3)]
    assert await embeddings.vectors(texts) == [vector(text) for text in texts]
    assert [len(body["input"]) for body in server.bodies] == [BATCH, 3]
    assert set(server.keys) == {"Bearer key-0001"}
    await embeddings.close()


async def test_a_tool_is_found_by_its_meaning(server):
    pytest.importorskip("numpy")
    model = ScriptedModel(["ok", "ok"])
    embeddings = Embeddings(server.url)
    agent = Agent(model, many(), choose=Choose(k=1, embeddings=embeddings), protocol="native")
    await agent.run("Is there fog about?")
    assert [tool.name for tool in model.requests[0].tools] == ["search_tools", "read_mist_register"]
    asked = len(server.bodies)
    await agent.run("And puppets?")
    assert "read_doll_register" in [tool.name for tool in model.requests[1].tools]
    assert len(server.bodies) == asked + 1  # the tools' own vectors are kept
    await embeddings.close()


async def test_runs_side_by_side_ask_for_the_tools_once(server):
    pytest.importorskip("numpy")
    model = ScriptedModel(lambda request: "ok")
    embeddings = Embeddings(server.url)
    agent = Agent(model, many(), choose=SameChoose(k=1, embeddings=embeddings), protocol="native")
    await asyncio.gather(*(agent.run("fog") for _ in range(5)))
    assert sum(len(body["input"]) for body in server.bodies) == 60 + 5
    await embeddings.close()


async def test_words_decide_alone_where_the_server_is_down(server):
    pytest.importorskip("numpy")
    server.answer = lambda body: web.json_response({"error": {"message": "no key-0002 here"}}, status=401)
    model, events = ScriptedModel(["ok"]), []
    embeddings = Embeddings(server.url, api_key="key-0002")
    agent = Agent(model, many(), choose=Choose(k=1, embeddings=embeddings), protocol="native")
    await agent.run("the dolls", on_event=events.append)
    assert "read_doll_register" in [tool.name for tool in model.requests[0].tools]
    (chosen,) = [event for event in events if isinstance(event, ToolsChosen)]
    assert "API key" in chosen.fault
    assert "key-0002" not in chosen.fault
    await embeddings.close()


@pytest.mark.parametrize(
    "answer",
    [
        "no json",
        "{}",
        json.dumps({"data": []}),
        json.dumps({"data": [{"embedding": []}]}),
        json.dumps({"data": [{"embedding": ["x"]}]}),
        json.dumps({"data": "vectors"}),
        json.dumps([1]),
    ],
)
async def test_what_holds_no_vectors_is_an_error(server, answer):
    server.answer = lambda body: web.Response(text=answer, content_type="application/json")
    embeddings = Embeddings(server.url)
    with pytest.raises(ModelError, match="something else than one vector for each text"):
        await embeddings.vectors(["one"])
    await embeddings.close()


async def test_a_failure_in_passing_is_tried_again(server):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        server.answer = None

    server.answer = lambda body: web.Response(status=503)
    embeddings = Embeddings(server.url, retries=Retries(attempts=2), sleep=sleep)
    assert await embeddings.vectors(["barn"]) == [vector("barn")]
    assert len(waits) == 1
    await embeddings.close()


async def test_a_server_that_is_not_there():
    embeddings = Embeddings("http://127.0.0.1:9/v1#m", retries=Retries(attempts=1))
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:9"):
        await embeddings.vectors(["one"])
    await embeddings.close()


def test_names_of_embedding_models(monkeypatch):
    monkeypatch.setenv("DASHSCOPE_API_KEY", "secret-9")
    made = Embeddings("dashscope:text-embedding-v4")
    assert made.model == "text-embedding-v4"
    assert "dashscope" in repr(made)
    assert "secret-9" not in repr(made)
    for wrong in ("nothing", "openai:", "http://host/v1", "nobody:model"):
        with pytest.raises(SettingsError, match="is no embedding model"):
            Embeddings(wrong)
