"""Agno."""

from __future__ import annotations

from bench.misbehaving.tools import QUESTION, TOOLS

NAME = "Agno"
PACKAGES = ["agno", "openai"]
VERSION_OF = "agno"
HAS_TIMEOUT = False


async def run(url: str, streams: bool) -> str:
    """The answer."""
    from agno.agent import Agent
    from agno.models.openai.like import OpenAILike

    agent = Agent(model=OpenAILike(id="m", base_url=url, api_key="any"), tools=list(TOOLS), telemetry=False)
    if not streams:
        return str((await agent.arun(QUESTION)).content)
    async for _ in agent.arun(QUESTION, stream=True):
        pass
    return "streamed"
