"""Pydantic AI."""

from __future__ import annotations

from bench.misbehaving.tools import QUESTION, TOOLS, hang

NAME = "Pydantic AI"
PACKAGES = ["pydantic-ai-slim[openai]"]
VERSION_OF = "pydantic-ai-slim"
HAS_TIMEOUT = True


async def run(url: str, streams: bool) -> str:
    """The answer."""
    from pydantic_ai import Agent, Tool
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="any"))
    agent = Agent(model, tools=[Tool(one, timeout=1.0) if one is hang else Tool(one) for one in TOOLS])
    if not streams:
        return str((await agent.run(QUESTION)).output)
    async with agent.run_stream(QUESTION) as stream:
        return str(await stream.get_output())
