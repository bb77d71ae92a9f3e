"""Real clients, unchanged, in front of a real model that returns no structured calls: a task of two steps, whole and streamed.

Run by `python scripts/clients.py --model local`, which starts the gateway; nothing in it is scripted.
"""

from __future__ import annotations

import json
import os
from typing import Any

import anthropic
import openai
import pytest

from tests.clients.shop import ABOUT, MOST_TURNS, QUESTION, Shop, functions

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore"),  # of the clients, which are not ours to mend
    pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"]),
]
SECONDS = 600.0


@pytest.fixture
def at() -> str:
    """The gateway's address."""
    return os.environ["TOOLHAND_CLIENTS_AT"]


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_openai(at, shop, streams):
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: Any = [{"type": "function", "function": one} for one in functions()]
    with openai.OpenAI(base_url=f"{at}/v1", api_key="any", timeout=SECONDS, max_retries=0) as client:
        for _ in range(MOST_TURNS):
            options: Any = {"model": "m", "messages": messages, "tools": tools, "temperature": 0}
            if streams:
                with client.chat.completions.stream(**options) as stream:
                    for _event in stream:
                        pass
                    made = stream.get_final_completion().choices[0].message
            else:
                made = client.chat.completions.create(**options).choices[0].message
            messages.append(made.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
            if not made.tool_calls:
                break
            for call in made.tool_calls:
                told = shop.call(call.function.name, json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
    shop.check(made.content)


def test_openai_responses(at, shop, streams):
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: Any = [{"type": "function", **one} for one in functions()]
    with openai.OpenAI(base_url=f"{at}/v1", api_key="any", timeout=SECONDS, max_retries=0) as client:
        for _ in range(MOST_TURNS):
            options: Any = {"model": "m", "input": items, "tools": tools, "temperature": 0}
            if streams:
                with client.responses.stream(**options) as stream:
                    for _event in stream:
                        pass
                    made = stream.get_final_response()
            else:
                made = client.responses.create(**options)
            items += [item.model_dump(exclude_none=True) for item in made.output]
            calls = [item for item in made.output if item.type == "function_call"]
            if not calls:
                break
            for call in calls:
                told = shop.call(call.name, json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": told})
    shop.check(made.output_text)


def test_anthropic(at, shop, streams):
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tools = [{**one, "input_schema": one["parameters"]} for one in functions()]
    tools = [{name: value for name, value in one.items() if name != "parameters"} for one in tools]
    with anthropic.Anthropic(base_url=at, api_key="any", timeout=SECONDS, max_retries=0) as client:
        for _ in range(MOST_TURNS):
            options: Any = {"model": "m", "messages": messages, "tools": tools, "max_tokens": 300}
            options["extra_body"] = {"temperature": 0}
            if streams:
                with client.messages.stream(**options) as stream:
                    made = stream.get_final_message()
            else:
                made = client.messages.create(**options)
            said = [block.model_dump(exclude_none=True) for block in made.content]
            messages.append({"role": "assistant", "content": said})
            if made.stop_reason != "tool_use":
                break
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": block.id,
                    "content": shop.call(block.name, dict(block.input)),
                }
                for block in made.content
                if block.type == "tool_use"
            ]
            messages.append({"role": "user", "content": results})
    shop.check("".join(block.text for block in made.content if block.type == "text"))


async def test_pydantic_ai(at, shop, streams):
    ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = openai.AsyncOpenAI(base_url=f"{at}/v1", api_key="any", timeout=SECONDS, max_retries=0)
    model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))
    agent = ai.Agent(model, tools=shop.typed(), model_settings={"temperature": 0})

    async def heard(context: Any, events: Any) -> None:
        async for _ in events:
            pass

    async with client:
        run = await agent.run(QUESTION, event_stream_handler=heard if streams else None)
    shop.check(run.output)


async def test_openai_agents(at, shop, streams):
    agents = pytest.importorskip("agents")
    agents.set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=f"{at}/v1", api_key="any", timeout=SECONDS, max_retries=0)

    model = agents.OpenAIChatCompletionsModel(model="m", openai_client=client)
    settings = agents.ModelSettings(temperature=0)
    agent = agents.Agent(
        name="a", model=model, model_settings=settings, tools=[*map(agents.function_tool, shop.typed())]
    )
    async with client:
        if streams:
            result = agents.Runner.run_streamed(agent, QUESTION, max_turns=MOST_TURNS)
            async for _ in result.stream_events():
                pass
        else:
            result = await agents.Runner.run(agent, QUESTION, max_turns=MOST_TURNS)
    shop.check(result.final_output)


def test_langchain(at, shop, streams):
    langchain = pytest.importorskip("langchain_openai")
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import StructuredTool

    tools = {
        name: StructuredTool.from_function(getattr(shop, name), name=name, description=about)
        for name, (about, _, _) in ABOUT.items()
    }
    chat = langchain.ChatOpenAI(model="m", base_url=f"{at}/v1", api_key="any", temperature=0, timeout=SECONDS)
    bound = chat.bind_tools(list(tools.values()))
    messages: list[Any] = [HumanMessage(QUESTION)]
    for _ in range(MOST_TURNS):
        made: Any = None
        if streams:
            for chunk in bound.stream(messages):
                made = chunk if made is None else made + chunk
        else:
            made = bound.invoke(messages)
        messages.append(made)
        if not made.tool_calls:
            break
        messages += [tools[call["name"]].invoke(call) for call in made.tool_calls]
    shop.check(made.content)


def test_smolagents(at, shop, streams):
    smol = pytest.importorskip("smolagents")

    class FindOrder(smol.Tool):
        name = "find_order"
        description = "Finds the id of a customer's order"
        inputs = {"customer": {"type": "string", "description": "the customer's name"}}  # noqa: RUF012 - as it wants it
        output_type = "string"

        def forward(self, customer: str) -> str:
            return shop.find_order(customer)

    class OrderStatus(smol.Tool):
        name = "order_status"
        description = "Tells the status of an order"
        inputs = {"order_id": {"type": "string", "description": "the order's id, as find_order gives it"}}  # noqa: RUF012
        output_type = "string"

        def forward(self, order_id: str) -> str:
            return shop.order_status(order_id)

    model = smol.OpenAIModel(model_id="m", api_base=f"{at}/v1", api_key="any", temperature=0)
    agent = smol.ToolCallingAgent(
        tools=[FindOrder(), OrderStatus()], model=model, max_steps=MOST_TURNS, stream_outputs=streams
    )
    shop.check(str(agent.run(QUESTION)))
