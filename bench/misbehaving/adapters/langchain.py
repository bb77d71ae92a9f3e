"""LangChain's agent on LangGraph."""

from __future__ import annotations

from bench.misbehaving.tools import QUESTION, TOOLS

NAME = "LangChain"
PACKAGES = ["langchain", "langchain-openai"]
VERSION_OF = "langchain"
HAS_TIMEOUT = False


async def run(url: str, streams: bool) -> str:
    """The answer."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="m", base_url=url, api_key="any", streaming=streams)
    agent = create_agent(model, tools=list(TOOLS))
    asked = {"messages": [{"role": "user", "content": QUESTION}]}
    return str((await agent.ainvoke(asked))["messages"][-1].content)
