"""What a round costs beside the model and the tool: one reply of a model, one tool call, default policies.

    python -m bench.rounds [ROUNDS]

CPU time of the process, the best of several runs. The model is a script and answers at once; the tool adds two numbers. "by
hand" is the same round as a bare loop: json.loads, a look-up, the call, json.dumps, two entries on a list. A history of 1,000
messages is shown whole, as it fits into the model's context. "a run" is a whole question with one call: two replies.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from toolhand import Agent, Limits, Session, tool
from toolhand.core.messages import (
    Message,
    ModelOutput,
    ModelRequest,
    RawCall,
    Text,
    ToolCall,
    ToolResult,
    Value,
    user,
)
from toolhand.sessions import StoredSession, open_store

RUNS = 15
SIZES = (10, 1_000)
LIMITS = Limits(turns=10_000, calls=10_000)


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool(name="add")
def add_in_thread(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool(name="add", effect="writes")
async def add_up(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


class Asking:
    """A model that asks for so many calls, each with other numbers, and then answers."""

    name = "asking"

    def __init__(self) -> None:
        self.left = 0
        self.number = 0
        self.session: Session | None = None
        """What it waits for, as no real model is quicker than a disk."""

    async def complete(self, request: ModelRequest) -> ModelOutput:
        del request
        if self.session is not None:
            await self.session.saved()
        if not self.left:
            return ModelOutput(text="done")
        self.left, self.number = self.left - 1, self.number + 1
        arguments = f'{{"a": {self.number}, "b": 2}}'
        call = RawCall(id=f"c{self.number}", name="add", arguments=arguments)
        return ModelOutput(calls=(call,), finish_reason="tool_calls")

    async def stream(self, request: ModelRequest):
        yield await self.complete(request)

    async def close(self) -> None:
        """Nothing is open."""


def filled(session: Session, messages: int) -> None:
    """Questions with one call each, in the session."""
    while session.count < messages:
        call = ToolCall(id=f"old_{session.count}", name="add", arguments={"a": session.count, "b": 2})
        session.append(user("And these two?"), Message(role="assistant", parts=(call,)))
        result = ToolResult(call_id=call.id, name="add", outcome=Value(5))
        session.append(
            Message(role="tool", parts=(result,)), Message(role="assistant", parts=(Text("That is 5."),))
        )


async def by_hand(rounds: int) -> None:
    """The round as a bare loop makes it."""
    model, history, tools = Asking(), [], {"add": add.function}
    model.left = rounds
    while calls := (await model.complete(None)).calls:  # type: ignore[arg-type]
        value = await tools[calls[0].name](**json.loads(calls[0].arguments))  # type: ignore[arg-type, misc]
        history += [calls[0], json.dumps(value)]


async def measured(work: Callable[[], Awaitable[object]], count: int) -> float:
    """Microseconds of CPU for one of `count`: the best of some runs."""
    times = []
    for _ in range(RUNS):
        started = time.process_time()
        await work()
        times.append((time.process_time() - started) / count * 1e6)
    return min(times)


async def in_memory(messages: int, rounds: int, tools: list[object]) -> tuple[float, float]:
    """A round at so many messages and, apart from it, a whole run with one call."""
    model = Asking()
    agent = Agent(model, tools=tools, limits=LIMITS)

    async def asked(calls: int) -> None:
        session = Session()
        filled(session, messages)
        model.left = 0
        await agent.run("?", session=session)  # what is shown of the history is chosen once
        model.left = calls
        started = time.process_time()
        await agent.run("?", session=session)
        times.append((time.process_time() - started) * 1e6)

    found = []
    for calls, repeats in ((rounds, RUNS), (1, 5 * RUNS)):
        times: list[float] = []
        for _ in range(repeats):
            await asked(calls)
        found.append(min(times) / calls)
    return found[0], found[1]


async def in_sqlite(rounds: int, tools: list[object]) -> float:
    """A round of a session in a file: four entries and a row of the audit, all kept before the model answers."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder, "rounds.db")))
        model = Asking()
        agent = Agent(model, tools=tools, limits=LIMITS, store=store)
        session = StoredSession("s", store)
        async with session.held():
            filled(session, SIZES[0])
        model.session = session

        async def asked() -> None:
            model.left = rounds
            await agent.run("?", session=session)

        await asked()
        found = await measured(asked, rounds)
        await store.close()
        return found


def durable_write(count: int = 200) -> float:
    """Microseconds of CPU for one transaction of the bare library, as the store makes them: WAL and synchronous=FULL."""
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder, "bare.db"), isolation_level=None)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE a (b TEXT)"):
            connection.execute(statement)
        started = time.process_time()
        for _ in range(count):
            connection.execute("INSERT INTO a VALUES (?)", ("x" * 500,))
        spent = time.process_time() - started
        connection.close()
        return spent / count * 1e6


async def main(rounds: int) -> None:
    """Prints the figures."""
    await by_hand(rounds)
    hand = await measured(lambda: by_hand(rounds), rounds)
    print(f"by hand                          {hand:7.1f} µs a round")
    few, few_run = await in_memory(SIZES[0], rounds, [add])
    many, many_run = await in_memory(SIZES[1], rounds, [add])
    plain, _ = await in_memory(SIZES[0], rounds, [add_in_thread])
    print(f"in memory, {SIZES[0]:>5} messages        {few:7.1f} µs a round, {few_run:7.1f} µs a run")
    print(
        f"in memory, {SIZES[1]:>5} messages        {many:7.1f} µs a round, {many_run:7.1f} µs a run; {many / few:.2f} × of that at {SIZES[0]}"
    )
    print(f"a plain tool, in a thread        {plain:7.1f} µs a round")
    print(f"SQLite, a tool that reads        {await in_sqlite(rounds, [add]):7.1f} µs a round")
    print(f"SQLite, a tool that writes       {await in_sqlite(rounds, [add_up]):7.1f} µs a round")
    print(f"a durable write of SQLite alone  {durable_write():7.1f} µs")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
