"""Anthropic's own client, unchanged, whole and streamed."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.clients.conftest import ANSWER, QUESTION, temperature

TOOL: Any = {
    "name": "get_temperature",
    "description": "How warm it is in a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.fixture
def client(at):
    with anthropic.Anthropic(base_url=at, api_key="any", max_retries=0) as made:
        yield made


@pytest.mark.parametrize("streams", [False, True])
def test_two_steps(client, streams):
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    options: Any = {"model": "m", "max_tokens": 500, "tools": [TOOL], "system": "Be brief."}
    for turn in range(2):
        if streams:
            with client.messages.stream(messages=messages, **options) as stream:
                for _ in stream.text_stream:
                    pass
                made = stream.get_final_message()
        else:
            made = client.messages.create(messages=messages, **options)
        if turn:
            assert made.stop_reason == "end_turn"
            assert made.content[0].text == ANSWER
            assert made.usage.output_tokens == 3
            return
        assert made.stop_reason == "tool_use"
        assert made.content[0].text == "Let me look."
        messages.append(
            {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in made.content]}
        )
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": temperature(**block.input)}
            for block in made.content
            if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})


def test_errors_and_models(client):
    assert [model.id for model in client.models.list()] == ["m"]
    with pytest.raises(anthropic.NotFoundError, match="nope"):
        client.messages.create(model="nope", max_tokens=5, messages=[{"role": "user", "content": "hi"}])
    with pytest.raises(anthropic.BadRequestError, match="role"):
        client.messages.create(model="m", max_tokens=5, messages=[{"role": "wizard", "content": "hi"}])  # type: ignore[typeddict-item]
