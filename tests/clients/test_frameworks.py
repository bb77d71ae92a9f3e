"""Other people's frameworks, unchanged, whole and streamed. Those that are not installed are left out: see `make clients`."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest

from tests.clients.conftest import ANSWER, QUESTION, temperature

pytestmark = pytest.mark.filterwarnings("ignore")  # they are not ours to mend


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("protocol", ["chat", "responses", "anthropic"])
async def test_pydantic_ai(at, streams, protocol):
    ai = pytest.importorskip("pydantic_ai")
    client: Any
    model: Any
    if protocol == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = anthropic.AsyncAnthropic(base_url=at, api_key="any")
        model = AnthropicModel("m", provider=AnthropicProvider(anthropic_client=client))
    else:
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
        from pydantic_ai.providers.openai import OpenAIProvider

        client = openai.AsyncOpenAI(base_url=f"{at}/v1", api_key="any")
        made = OpenAIChatModel if protocol == "chat" else OpenAIResponsesModel
        model = made("m", provider=OpenAIProvider(openai_client=client))
    agent = ai.Agent(model)
    ran: list[str] = []

    @agent.tool_plain
    def get_temperature(city: str) -> str:
        """How warm it is in a city."""
        ran.append(city)
        return temperature(city)

    async def heard(context: Any, events: Any) -> None:
        async for _ in events:
            pass

    async with client:
        run = await agent.run(QUESTION, event_stream_handler=heard if streams else None)
    assert ran == ["Paris"]
    assert run.output == ANSWER


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("protocol", ["chat", "responses"])
async def test_openai_agents(at, streams, protocol):
    agents = pytest.importorskip("agents")
    agents.set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=f"{at}/v1", api_key="any")
    made = agents.OpenAIChatCompletionsModel if protocol == "chat" else agents.OpenAIResponsesModel
    ran: list[str] = []

    @agents.function_tool
    def get_temperature(city: str) -> str:
        """How warm it is in a city."""
        ran.append(city)
        return temperature(city)

    agent = agents.Agent(name="a", model=made(model="m", openai_client=client), tools=[get_temperature])
    async with client:
        if streams:
            result = agents.Runner.run_streamed(agent, QUESTION)
            async for _ in result.stream_events():
                pass
        else:
            result = await agents.Runner.run(agent, QUESTION)
    assert result.final_output == ANSWER
    assert ran == ["Paris"]


@pytest.mark.parametrize("streams", [False, True])
def test_langchain(at, streams):
    chat = pytest.importorskip("langchain_openai").ChatOpenAI(model="m", base_url=f"{at}/v1", api_key="any")
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    @tool
    def get_temperature(city: str) -> str:
        """How warm it is in a city."""
        return temperature(city)

    bound = chat.bind_tools([get_temperature])
    messages: list[Any] = [HumanMessage(QUESTION)]
    for _ in range(2):
        if streams:
            made: Any = None
            for chunk in bound.stream(messages):
                made = chunk if made is None else made + chunk
        else:
            made = bound.invoke(messages)
        messages.append(made)
        if not made.tool_calls:
            break
        messages += [get_temperature.invoke(call) for call in made.tool_calls]
    assert made.content == ANSWER


@pytest.mark.parametrize("streams", [False, True])
def test_smolagents(at, streams):
    smol = pytest.importorskip("smolagents")
    ran: list[str] = []

    class Temperature(smol.Tool):
        name = "get_temperature"
        description = "How warm it is in a city"
        inputs = {"city": {"type": "string", "description": "the city"}}  # noqa: RUF012 - as it wants it
        output_type = "string"

        def forward(self, city: str) -> str:
            ran.append(city)
            return temperature(city)

    model = smol.OpenAIModel(model_id="m", api_base=f"{at}/v1", api_key="any")
    agent = smol.ToolCallingAgent(tools=[Temperature()], model=model, max_steps=4, stream_outputs=streams)
    answer = agent.run(QUESTION)
    assert ran == ["Paris"]
    assert "21" in str(answer)
