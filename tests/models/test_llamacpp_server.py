"""The adapter for OpenAI-compatible servers against a real one: llama.cpp's, over HTTP, from the wheel."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
import xllamacpp

from toolhand import Agent, Toolset, tool
from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.events import TextDelta
from toolhand.core.messages import ModelRequest, Sampling, user
from toolhand.models.resolve import resolve
from toolhand.models.runtime import _signals_kept
from toolhand.models.weights import find, path_of

KEY = "key-of-this-test"

pytestmark = pytest.mark.model

SHORT = Sampling(temperature=0, max_tokens=60)


@pytest.fixture(scope="module")
def server():
    # With a key, as llama.cpp takes one: nobody else on this machine may ask it.
    params = xllamacpp.CommonParams()
    params.model.path = str(path_of(find("small")))
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = 2048, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.fit_params, params.warmup, params.ui, params.use_jinja = False, False, False, True
    params.verbosity, params.n_threads_http = -1, 2
    params.api_keys = [KEY]
    with _signals_kept():
        running = xllamacpp.Server(params)
    yield running.listening_address
    del running


@pytest.fixture
async def model(server, monkeypatch):
    parts = urlsplit(server)
    monkeypatch.setenv("LLAMACPP_BASE_URL", f"http://{parts.hostname}:{parts.port}/v1")
    monkeypatch.setenv("LLAMACPP_API_KEY", KEY)
    made = resolve("llamacpp:small")
    yield made
    await made.close()


@tool
def get_stock(item: str) -> int:
    """How many pieces of an item are in stock.

    Args:
        item: the item's name.
    """
    return 7 if "wrench" in item else 0


async def test_streamed_and_whole_say_the_same(model):
    request = ModelRequest(messages=(user("Say hello in one word."),), sampling=SHORT)
    whole = await model.complete(request)
    pieces = [piece async for piece in model.stream(request)]
    assert whole.text
    assert (
        "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
        == pieces[-1].text
        == whole.text
    )
    assert whole.usage.input_tokens > 5
    assert whole.usage.output_tokens >= 1


async def test_a_run_with_a_tool(model):
    run = await Agent(model, [get_stock], sampling=SHORT).run("How many wrenches are in stock? Use the tool.")
    assert [call.name for call in run.calls][:1] == ["get_stock"]
    assert run.results[0].ok


async def test_it_says_that_a_conversation_is_too_long(model):
    with pytest.raises(ModelError) as caught:
        await model.complete(ModelRequest(messages=(user("word " * 5000),), sampling=SHORT))
    assert caught.value.fault is ModelFault.CONTEXT_OVERFLOW


async def test_every_form_of_a_tool_is_taken(model):
    """The server turns the declared schemas into a grammar: one that it cannot read would be refused."""
    odd = {
        "type": "object",
        "properties": {
            "城市": {"type": "string"},
            "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "tree": {"$ref": "#/$defs/Node"},
        },
        "required": ["城市"],
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {
                    "v": {"type": "string"},
                    "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                },
            }
        },
    }
    tools = Toolset.from_openai([{"name": "查询天气", "description": "查天气", "parameters": odd}])
    request = ModelRequest(
        messages=(user("你好"),), tools=tuple(tools), sampling=Sampling(temperature=0, max_tokens=8)
    )
    assert (await model.complete(request)).usage.output_tokens >= 1
