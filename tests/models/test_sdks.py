"""The providers' own clients on the other side: they read what the test servers say, and their types take what we send."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest
from aiohttp import web
from anthropic.types import message_create_params
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from pydantic import TypeAdapter

from tests.models.speakers import Anthropic, Chat, Responses
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import (
    Message,
    ModelRequest,
    Note,
    Opaque,
    Sampling,
    ToolCall,
    ToolResult,
    Value,
    assistant,
    system,
    user,
)
from toolhand.core.tools import Tool, ToolChoice
from toolhand.models.openai import ChatWire
from toolhand.models.wires.anthropic import AnthropicWire
from toolhand.models.wires.responses import ResponsesWire

CALLS = [("c1", "find", {"品名": "扳手"}), ("c2", "find", {})]


@pytest.fixture
async def root():
    """A server that speaks all the protocols."""

    async def handle(request: web.Request) -> web.StreamResponse:
        speaker = next(s for s in (Chat(), Anthropic(), Responses()) if s.path == request.path)
        if not (await request.json()).get("stream"):
            return web.json_response(speaker.whole("好", CALLS))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in speaker.events("好的", CALLS):
            await response.write(piece)
        return response

    app = web.Application()
    app.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


MESSAGES: Any = [{"role": "user", "content": "问"}]


async def test_openai_reads_our_servers(root):
    async with openai.AsyncOpenAI(base_url=f"{root}/v1", api_key="k", max_retries=0) as client:
        reply = await client.chat.completions.create(model="m", messages=MESSAGES)
        assert [c.function.name for c in reply.choices[0].message.tool_calls] == ["find", "find"]
        async with client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
            final = await stream.get_final_completion()
        assert final.choices[0].message.content == "好的"
        assert json.loads(final.choices[0].message.tool_calls[0].function.arguments) == {"品名": "扳手"}
        whole = await client.responses.create(model="m", input="问")
        assert whole.output_text == "好"
        assert [item.type for item in whole.output] == ["message", "function_call", "function_call"]
        async with client.responses.stream(model="m", input="问") as streamed:
            kinds = [event.type async for event in streamed]
            assert (await streamed.get_final_response()).output_text == "好的"
        assert "response.completed" in kinds


async def test_anthropic_reads_our_server(root):
    async with anthropic.AsyncAnthropic(base_url=root, api_key="k", max_retries=0) as client:
        reply = await client.messages.create(model="m", max_tokens=9, messages=MESSAGES)
        assert [block.type for block in reply.content] == ["text", "tool_use", "tool_use"]
        async with client.messages.stream(model="m", max_tokens=9, messages=MESSAGES) as stream:
            final = await stream.get_final_message()
        assert final.content[1].input == {"品名": "扳手"}
        assert (final.stop_reason, final.usage.output_tokens) == ("tool_use", 5)


FIND = Tool(
    name="查.货", description="d", parameters={"type": "object", "properties": {"品名": {"type": "string"}}}
)
THOUGHT = {"type": "thinking", "thinking": "t", "signature": "s"}
REASONED = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}


def requests() -> list[ModelRequest]:
    """Requests with everything in them."""
    opaque = Opaque(
        source="x",
        data={
            "blocks": [THOUGHT, {"type": "text", "length": 1}, {"type": "tool_use", "id": "a.b:0"}],
            "items": [
                REASONED,
                {"type": "message", "length": 1},
                {"type": "function_call", "call_id": "a.b:0"},
            ],
        },
    )
    failed = ToolError(code=ErrorCode.TIMEOUT, message="慢")
    history = (
        system("S"),
        user("问"),
        assistant(
            "先",
            [ToolCall(id="a.b:0", name="查.货", arguments={"品名": "x"}), ToolCall(id="c2", name="gone")],
            opaque=opaque,
        ),
        Message(
            role="tool",
            parts=(
                ToolResult(call_id="a.b:0", name="查.货", outcome=Value({"n": 1})),
                ToolResult(call_id="c2", name="gone", outcome=failed),
                Note("注"),
            ),
        ),
        assistant(""),
        user(""),
    )
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=9, seed=1)
    grammar = {"type": "object", "properties": {"a": {"type": "string"}}}
    choices = ["auto", "required", "none", "查.货", ["查.货"]]
    made = [
        ModelRequest(messages=history, tools=(FIND,), tool_choice=ToolChoice.of(choice), sampling=sampling)
        for choice in choices
    ]
    return [
        *made,
        ModelRequest(messages=history, stop=("x", " "), grammar=grammar),
        ModelRequest(messages=(assistant("hi"),)),
    ]


def check(kind: Any, body: Any) -> None:
    """Refuses a body that is not of the SDK's type, a field that it does not have included."""
    declared = kind.__annotations__.keys() | {
        k for base in kind.__orig_bases__ for k in getattr(base, "__annotations__", {})
    }
    assert body.keys() <= set(declared), body.keys() - set(declared)
    TypeAdapter(kind).validate_python(body)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("number", range(7))
def test_our_requests_are_of_the_clients_types(number, streams):
    request = requests()[number]
    manner = "Streaming" if streams else "NonStreaming"
    for wire, module, name in (
        (ChatWire("m", source="x"), completion_create_params, "CompletionCreateParams"),
        (
            AnthropicWire("m", source="x", max_tokens=9, caches=True),
            message_create_params,
            "MessageCreateParams",
        ),
        (ResponsesWire("gpt-5", source="x"), response_create_params, "ResponseCreateParams"),
    ):
        body = json.loads(wire.body(request, streams=streams))
        if isinstance(
            wire, AnthropicWire
        ):  # newer models take no sampling, so the client has no words for it any more
            body = {key: value for key, value in body.items() if key not in ("temperature", "top_p")}
        check(getattr(module, name + manner), body)


def test_thinking_goes_back_where_it_came_from_and_to_nobody_else():
    request = requests()[0]
    own = json.loads(AnthropicWire("m", source="x", max_tokens=9).body(request, streams=False))
    assert [block["type"] for block in own["messages"][1]["content"]] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert own["messages"][1]["content"][0] == THOUGHT
    other = json.loads(AnthropicWire("m", source="y", max_tokens=9).body(request, streams=False))
    assert [block["type"] for block in other["messages"][1]["content"]] == ["text", "tool_use", "tool_use"]
    items = json.loads(ResponsesWire("gpt-5", source="x").body(request, streams=False))["input"]
    assert items[1] == REASONED
