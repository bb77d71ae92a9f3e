"""Toolhand itself."""

from __future__ import annotations

from bench.misbehaving.tools import QUESTION, TOOLS, hang

NAME = "Toolhand"
PACKAGES: list[str] = []
VERSION_OF = "toolhand"
HAS_TIMEOUT = True


async def run(url: str, streams: bool) -> str:
    """The answer."""
    from toolhand import Agent, Limits, tool
    from toolhand.core.events import RunFinished

    tools = [tool(one, timeout=1.0) if one is hang else tool(one) for one in TOOLS]
    agent = Agent(f"{url}#m", tools, limits=Limits(turns=50))
    try:
        if not streams:
            return (await agent.run(QUESTION)).text
        async for event in agent.stream(QUESTION):
            if isinstance(event, RunFinished):
                return "finished"
        return ""
    finally:
        await agent.close()
