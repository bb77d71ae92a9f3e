"""OpenAI's Agents SDK. Its timeout is for async tools alone."""

from __future__ import annotations

from bench.misbehaving.tools import QUESTION, TOOLS

NAME = "OpenAI Agents"
PACKAGES = ["openai-agents"]
VERSION_OF = "openai-agents"
HAS_TIMEOUT = False


async def run(url: str, streams: bool) -> str:
    """The answer."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=url, api_key="any"))
    agent = Agent("weather", tools=[function_tool(one) for one in TOOLS], model=model)
    if not streams:
        return str((await Runner.run(agent, QUESTION)).final_output)
    result = Runner.run_streamed(agent, QUESTION)
    async for _ in result.stream_events():
        pass
    return str(result.final_output)
