"""smolagents' ToolCallingAgent."""

from __future__ import annotations

import asyncio

from bench.misbehaving.tools import QUESTION, TOOLS

NAME = "smolagents"
PACKAGES = ["smolagents[openai]"]
VERSION_OF = "smolagents"
HAS_TIMEOUT = False


async def run(url: str, streams: bool) -> str:
    """The answer."""
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    agent = ToolCallingAgent(
        [tool(one) for one in TOOLS],
        OpenAIServerModel("m", api_base=url, api_key="any"),
        stream_outputs=streams,
        verbosity_level=0,
    )
    return str(await asyncio.to_thread(agent.run, QUESTION))
