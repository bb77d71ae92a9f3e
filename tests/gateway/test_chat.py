"""Chat completions, whole and streamed, in front of a scripted model server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from tests.gateway.upstream import answered, completion, event, piece

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": "3"}}\n</tool_call>'


def asked(text: str = "How is the weather in Paris?", **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "tools": [WEATHER], **more}


def message(said: Any) -> dict[str, Any]:
    assert said.status == 200, said.body
    return said.body["choices"][0]["message"]


def streamed(said: Any) -> dict[str, Any]:
    """The message that the chunks add up to; checks their order."""
    assert said.status == 200, said.body
    assert said.events[-1] == "[DONE]"
    text, calls, finish, usage = "", [], None, None
    for chunk in said.events[:-1]:
        assert "error" not in chunk, chunk
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            assert finish is None
            finish = choice["finish_reason"]
            delta = choice["delta"]
            text += delta.get("content") or ""
            for part in delta.get("tool_calls", ()):
                if part["index"] == len(calls):
                    assert part["id"]
                    assert part["function"]["name"]
                    assert part["function"]["arguments"] == ""
                    calls.append({**part, "function": dict(part["function"])})
                else:
                    calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    return {"content": text, "tool_calls": calls, "finish": finish, "usage": usage}


async def test_a_call_in_the_text_comes_out_as_a_call(start):
    gate = await start(f"Let me look. {CALL}")
    said = await gate.post(asked())
    made = message(said)
    assert made["content"] == "Let me look."
    (call,) = made["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "Paris", "days": 3}
    assert said.body["choices"][0]["finish_reason"] == "tool_calls"
    assert said.body["usage"]["prompt_tokens"] == 11
    assert said.headers["toolhand-rounds"] == "0"


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_the_same_streamed_with_any_chunks(start, size):
    gate = await start(f"Let me look. {CALL}", size=size)
    made = streamed(await gate.post(asked(stream=True, stream_options={"include_usage": True})))
    assert made["content"] == "Let me look."
    (call,) = made["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"city": "Paris", "days": 3}
    assert made["finish"] == "tool_calls"
    assert made["usage"]["total_tokens"] == 14


async def test_text_is_given_as_it_comes(start):
    seen = asyncio.Event()

    async def in_two_parts(request, body):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(piece({"content": "It is sunny in Paris today, and"}))
        await seen.wait()
        await response.write(piece({"content": " warm."}, "stop") + event("[DONE]"))
        return response

    gate = await start(in_two_parts)
    text = ""
    async with gate.session.post(
        f"{gate.url}/v1/chat/completions", json={"model": "m", **asked(stream=True)}
    ) as said:
        async for line in said.content:
            if line.startswith(b"data: {"):
                text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
            if "sunny" in text:
                seen.set()
    assert text == "It is sunny in Paris today, and warm."


async def test_without_tools_the_answer_is_the_models_own(start):
    text = '  {"name": "get_weather"} <tool_call> stays as it is  '
    gate = await start(text)
    body = {"messages": [{"role": "user", "content": "hi"}]}
    assert message(await gate.post(body))["content"] == text
    assert streamed(await gate.post({**body, "stream": True}))["content"] == text


async def test_what_cannot_be_used_goes_back_to_the_model(start):
    gate = await start('<tool_call>{"name": "get_weather", "arguments": {"days": 3}}</tool_call>', CALL)
    for more in ({}, {"stream": True, "stream_options": {"include_usage": True}}):
        gate.upstream.bodies.clear()
        said = await gate.post(asked(**more))
        made = streamed(said) if more else message(said)
        assert json.loads(made["tool_calls"][0]["function"]["arguments"]) == {"city": "Paris", "days": 3}
        assert len(gate.upstream.bodies) == 2
        told = gate.upstream.bodies[1]["messages"][-1]
        assert told["role"] == "tool"
        assert "city" in told["content"]
        usage = made["usage"] if more else said.body["usage"]
        assert usage["toolhand"]["rounds"] == 1
        assert usage["toolhand"]["requests"] == 2
        assert usage["prompt_tokens"] == 11


async def test_the_budget_ends(start):
    gate = await start('<tool_call>{"name": "get_weather", "arguments": {"days": 3}}</tool_call>', rounds=2)
    said = await gate.post(asked())
    assert "tool_calls" not in message(said)
    assert said.body["choices"][0]["finish_reason"] == "stop"
    assert len(gate.upstream.bodies) == 3


async def test_tool_choice_is_obeyed(start):
    gate = await start("No.", CALL)
    made = message(await gate.post(asked(tool_choice="required")))
    assert made["tool_calls"]
    gate = await start(f"Well. {CALL}")
    assert "tool_calls" not in message(await gate.post(asked(tool_choice="none")))
    two = [WEATHER, {"type": "function", "function": {"name": "get_time"}}]
    gate = await start(CALL, '<tool_call>{"name": "get_time", "arguments": {}}</tool_call>')
    named = {"type": "function", "function": {"name": "get_time"}}
    made = message(await gate.post({**asked(tool_choice=named), "tools": two}))
    assert [call["function"]["name"] for call in made["tool_calls"]] == ["get_time"]


async def test_one_call_at_a_time(start):
    gate = await start(f"{CALL}\n{CALL.replace('Paris', 'Rome')}")
    assert len(message(await gate.post(asked()))["tool_calls"]) == 2
    assert len(message(await gate.post(asked(parallel_tool_calls=False)))["tool_calls"]) == 1


async def test_ids_are_unique_in_a_conversation_and_fit_their_results(start):
    again = completion(
        None,
        [
            {
                "id": "0",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'},
            }
        ],
    )
    gate = await start(again)
    first = message(await gate.post(asked()))
    history = [
        {"role": "user", "content": "How is the weather?"},
        first,
        {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": "sunny"},
    ]
    second = message(await gate.post({"messages": history, "tools": [WEATHER]}))
    assert first["tool_calls"][0]["id"] != second["tool_calls"][0]["id"]
    sent = gate.upstream.bodies[-1]["messages"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"]


async def test_an_answer_in_json_fits_its_schema(start):
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    for more in ({}, {"stream": True}):
        gate = await start("I think it is seven.", 'Here it is: ```json\n{"n": "7"}\n```')
        body = {"messages": [{"role": "user", "content": "How many?"}], "response_format": wanted, **more}
        said = await gate.post(body)
        made = streamed(said) if more else message(said)
        assert json.loads(made["content"]) == {"n": 7}
        assert gate.upstream.bodies[0]["response_format"]["type"] == "json_schema"


async def test_further_fields_go_on(start):
    gate = await start("Well.")
    await gate.post(
        asked(temperature=0.2, max_tokens=50, stop=["END"], seed=3, frequency_penalty=0.5, nonsense=1)
    )
    sent = gate.upstream.bodies[0]
    assert (sent["temperature"], sent["max_tokens"], sent["stop"], sent["seed"]) == (0.2, 50, ["END"], 3)
    assert sent["frequency_penalty"] == 0.5
    assert "nonsense" not in sent


async def test_an_id_that_nobody_gave_is_sent_back_and_given_where_the_model_insists(start):
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    tools = [
        {
            "type": "function",
            "function": {"name": "cancel_order", "description": "Cancels an order", "parameters": schema},
        },
        {
            "type": "function",
            "function": {"name": "list_orders", "description": "Lists the orders with their ids"},
        },
    ]
    gate = await start(
        '<tool_call>{"name": "cancel_order", "arguments": {"order_id": "A-77120"}}</tool_call>',
        rounds=1,
        profile="auto",
    )
    made = message(await gate.post({**asked("Cancel my order."), "tools": tools}))
    assert len(gate.upstream.bodies) == 2
    assert [call["function"]["name"] for call in made["tool_calls"]] == ["cancel_order"]


async def test_a_call_that_needs_what_another_one_tells_waits_for_it(start):
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    status = {
        "name": "order_status",
        "description": "Tells an order's status by its id",
        "parameters": schema,
    }
    found = {"name": "list_orders", "description": "Lists the orders with their ids"}
    tools = [{"type": "function", "function": one} for one in (status, found)]
    both = (
        '<tool_call>{"name": "list_orders", "arguments": {}}</tool_call>'
        '<tool_call>{"name": "order_status", "arguments": {"order_id": "A-77120"}}</tool_call>'
    )
    gate = await start(both, profile="auto")
    for streams in (False, True):
        gate.upstream.bodies.clear()
        said = await gate.post({**asked("How is my order?", stream=streams), "tools": tools})
        made = streamed(said) if streams else message(said)
        assert [call["function"]["name"] for call in made["tool_calls"]] == ["list_orders"]
        assert len(gate.upstream.bodies) == 1


async def test_a_stream_that_waits_shows_that_it_lives(start):
    seen = asyncio.Event()

    async def late(request, body):
        await seen.wait()
        return await answered(request, body, "Well.", 5)

    gate = await start(late)
    route = next(route for route in gate.app.routes if getattr(route, "path", "") == "/v1/chat/completions")
    route.app._heartbeat = 0.05
    async with gate.session.post(
        f"{gate.url}/v1/chat/completions", json={"model": "m", **asked(stream=True)}
    ) as said:
        raw = b""
        async for piece_ in said.content.iter_any():
            raw += piece_
            if b": waiting" in raw:
                seen.set()
    assert raw.startswith(b"data: ")
    assert b"Well." in raw
    assert raw.endswith(b"data: [DONE]\n\n")
