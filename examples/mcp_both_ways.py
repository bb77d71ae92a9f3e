"""MCP both ways: this file's tools as a server, and an agent that uses them as any client would.

`toolhand mcp FILE` serves the functions with @tool of a file over standard streams. The agent below starts exactly
that command and has its tools; any other MCP client can start it too. A tool that writes stays guarded: the server
asks whoever is at the client.

    python examples/mcp_both_ways.py [--model NAME]      (needs the extra "mcp")
"""

from __future__ import annotations

import sys

from toolhand import Agent, Run, Toolset, tool
from toolhand.models import Model

QUESTION = "How many wrenches does the warehouse have, and what does one cost?"
STOCK = {"wrench": (42, 35.0), "hammer": (7, 28.5)}


@tool
def get_stock(item: str) -> int:
    """How many pieces of an item the warehouse has, such as "wrench"."""
    return STOCK[item][0]


@tool
def get_price(item: str) -> float:
    """What one piece of an item costs, in euros, such as "wrench"."""
    return STOCK[item][1]


@tool(effect="destroys", approval=True)
def empty_shelf(item: str) -> str:
    """Throws all pieces of an item away."""
    STOCK[item] = (0, STOCK[item][1])
    return f"no {item} is left"


SERVER = [sys.executable, "-m", "toolhand.cli", "mcp", __file__]


def main(model: str | Model) -> Run:
    """Starts the server, shows what it offers, and asks a question over it."""
    with Toolset.from_mcp({"warehouse": SERVER}, start_timeout=120) as tools:
        for one in tools:
            print(f"{one.name} ({one.rules.effect}): {one.description}")
        refused = tools.call_sync("empty_shelf", {"item": "hammer"})
        print("empty_shelf without a person:", refused.error.message if refused.error else "ran")
        run = Agent(model, tools.only("get_stock", "get_price")).run_sync(QUESTION)
    print(f"> {QUESTION}\n{run.text}")
    return run


if __name__ == "__main__":
    import chosen  # only here: `toolhand mcp` loads this file without its neighbours

    main(chosen.model(__doc__))
