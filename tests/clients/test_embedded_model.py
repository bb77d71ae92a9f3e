"""Real clients in front of the embedded model, which by itself returns no structured calls: a two-step task, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import anthropic
import openai
import pytest

from tests.clients.conftest import serving
from tests.clients.test_anthropic_client import TOOL
from tests.clients.test_openai_client import FUNCTION
from tests.gateway.conftest import Gate, gateway
from tests.gateway.upstream import Upstream
from toolhand.gateway import Upstream as Behind

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

QUESTION = "Use the tool: what is the temperature in Paris?"
MOST_TURNS = 4


@pytest.fixture(scope="module")
def local() -> Iterator[str]:
    async def begin(stack: AsyncExitStack) -> Gate:
        models = {"m": Behind(model="local:small")}
        return await stack.enter_async_context(gateway(Upstream(""), models=models))

    with serving(begin) as url:
        yield url


def told(arguments: dict[str, Any]) -> str:
    assert "paris" in arguments["city"].lower()
    return '{"temperature": 21, "unit": "C"}'


@pytest.mark.parametrize("streams", [False, True])
def test_openai(local, streams):
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: Any = [{"type": "function", "function": FUNCTION}]
    ran = 0
    with openai.OpenAI(base_url=f"{local}/v1", api_key="any", timeout=300, max_retries=0) as client:
        for _ in range(MOST_TURNS):
            options: Any = {
                "model": "m",
                "messages": messages,
                "tools": tools,
                "temperature": 0,
                "max_tokens": 200,
            }
            if streams:
                with client.chat.completions.stream(**options) as stream:
                    message = [*stream] and stream.get_final_completion().choices[0].message
            else:
                message = client.chat.completions.create(**options).choices[0].message
            if not message.tool_calls:
                break
            messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
            for call in message.tool_calls:
                ran += 1
                result = told(json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    assert ran
    assert "21" in message.content


@pytest.mark.parametrize("streams", [False, True])
def test_anthropic(local, streams):
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    ran = 0
    with anthropic.Anthropic(base_url=local, api_key="any", timeout=300, max_retries=0) as client:
        for _ in range(MOST_TURNS):
            options: Any = {
                "model": "m",
                "messages": messages,
                "tools": [TOOL],
                "max_tokens": 200,
                "extra_body": {"temperature": 0},
            }
            if streams:
                with client.messages.stream(**options) as stream:
                    message = stream.get_final_message()
            else:
                message = client.messages.create(**options)
            if message.stop_reason != "tool_use":
                break
            messages.append(
                {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in message.content]}
            )
            calls = [block for block in message.content if block.type == "tool_use"]
            ran += len(calls)
            results = [{"type": "tool_result", "tool_use_id": c.id, "content": told(c.input)} for c in calls]
            messages.append({"role": "user", "content": results})
    assert ran
    assert "21" in message.content[0].text
