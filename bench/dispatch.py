"""What the whole default chain costs: one call of an async tool through every layer, beside doing it by hand.

    python bench/dispatch.py

By hand: json.loads of the arguments, a look-up, the call, json.dumps of the result. Best of several rounds, in one process.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

from toolhand import RunContext, ToolCall, Toolset, tool

CALLS = 2_000
ROUNDS = 7


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool(timeout=30)
async def add_in_time(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def by_hand(number: int) -> str:
    arguments = json.loads(f'{{"a": {number}, "b": 2}}')
    found = {"add": add.function}["add"]
    return json.dumps(await found(**arguments))


async def best(work: Callable[[int], Awaitable[object]]) -> float:
    """Microseconds per call."""
    fastest = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        for number in range(CALLS):
            await work(number)
        fastest = min(fastest, (time.process_time() - started) / CALLS * 1e6)
    return fastest


async def main() -> None:
    toolset = Toolset([add, add_in_time])

    async def through(name: str, number: int) -> object:
        # A run of its own for each call, as a call's memory of repeats belongs to a run.
        call = ToolCall(id="c", name=name, arguments={"a": number, "b": 2})
        return await toolset.dispatch(call, RunContext(trace_id="t"))

    hand = await best(by_hand)
    chain = await best(lambda number: through("add", number))
    timed = await best(lambda number: through("add_in_time", number))
    print(f"by hand            {hand:6.1f} µs")
    print(f"default chain      {chain:6.1f} µs   {chain / hand:4.1f} times, {chain - hand:.1f} µs more")
    print(f"with a timeout     {timed:6.1f} µs   {timed / hand:4.1f} times, {timed - hand:.1f} µs more")


if __name__ == "__main__":
    asyncio.run(main())
