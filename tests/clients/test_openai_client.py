"""OpenAI's own client, unchanged: chat completions and responses, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from tests.clients.conftest import ANSWER, QUESTION, temperature

FUNCTION: dict[str, Any] = {
    "name": "get_temperature",
    "description": "How warm it is in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.fixture
def client(at):
    with openai.OpenAI(base_url=f"{at}/v1", api_key="any", max_retries=0) as made:
        yield made


def test_chat_whole(client):
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: Any = [{"type": "function", "function": FUNCTION}]
    first = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0]
    assert first.finish_reason == "tool_calls"
    messages.append(first.message)
    for call in first.message.tool_calls:
        told = temperature(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
    second = client.chat.completions.create(model="m", messages=messages, tools=tools)
    assert second.choices[0].message.content == ANSWER
    assert second.usage.total_tokens == 14


def test_chat_streamed(client):
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: Any = [{"type": "function", "function": FUNCTION}]
    for turn in range(2):
        with client.chat.completions.stream(model="m", messages=messages, tools=tools) as stream:
            for _ in stream:
                pass
            made = stream.get_final_completion().choices[0]
        if turn:
            assert made.message.content == ANSWER
            return
        messages.append({"role": "assistant", "content": made.message.content, "tool_calls": [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in made.message.tool_calls
        ]})  # fmt: skip
        for call in made.message.tool_calls:
            told = temperature(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": told})


@pytest.mark.parametrize("streams", [False, True])
def test_responses(client, streams):
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: Any = [{"type": "function", **FUNCTION}]
    for turn in range(2):
        if streams:
            with client.responses.stream(model="m", input=items, tools=tools) as stream:
                kinds = [event.type for event in stream]
                made = stream.get_final_response()
            assert kinds[0] == "response.created"
            assert kinds[-1] == "response.completed"
        else:
            made = client.responses.create(model="m", input=items, tools=tools)
        if turn:
            assert made.output_text == ANSWER
            return
        calls = [item for item in made.output if item.type == "function_call"]
        assert [call.name for call in calls] == ["get_temperature"]
        items += [item.model_dump(exclude_none=True) for item in made.output]
        for call in calls:
            told = temperature(**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": told})


def test_models_and_errors(client):
    assert [model.id for model in client.models.list()] == ["m"]
    assert client.models.retrieve("m").id == "m"
    with pytest.raises(openai.NotFoundError, match="nope"):
        client.chat.completions.create(model="nope", messages=[{"role": "user", "content": "hi"}])
    with pytest.raises(openai.BadRequestError, match="temperature"):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], temperature=9)
