"""What a turn in a stored session costs as its history grows, and how many bytes it writes.

python -m bench.sessions [STORE …]        a file's path or a PostgreSQL URL; by default a file in a temporary folder

The model is a script, so its time is not in it. A turn is a run with one tool call: two requests to the model. "new process"
means that nothing of the session is in memory. The full sizes of the tests of crowds and kills:

python -m tests.sessions.load STORE --runs 500 --sessions 200
python -m tests.sessions.kill_fuzz STORE --kills 200
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import tempfile
import time
from pathlib import Path

from toolhand import Agent, tool
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
from toolhand.sessions.trimming import History
from toolhand.testing import ScriptedModel

SIZES = (10, 100, 1_000, 10_000)
TEXT = "The weather in Beijing is fine today, 21 °C, and it stays so until the weekend. " * 3


@tool
async def look(city: str) -> str:
    """Looks."""
    return f"{city}: 21 °C"


def reply(request: ModelRequest) -> ModelOutput:
    if request.messages[-1].results:
        return ModelOutput(text="21 °C")
    return ModelOutput(
        calls=(RawCall(id="c", name="look", arguments='{"city": "Beijing"}'),), finish_reason="tool_calls"
    )


async def fill(store, name: str, messages: int) -> None:
    session = StoredSession(name, store)
    async with session.held():
        while session.count < messages:
            number = session.count
            call = ToolCall(id=f"old_{number}", name="look", arguments={"city": "Beijing"})
            session.append(user(TEXT), Message(role="assistant", parts=(call,)))
            session.append(
                Message(role="tool", parts=(ToolResult(call_id=call.id, name="look", outcome=Value(TEXT)),))
            )
            session.append(Message(role="assistant", parts=(Text(TEXT),)))
            if number % 400 == 0:
                await session.saved()


def written() -> int:
    """Bytes that this process has given to the system to write."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["wchar"])


async def measured(where: str, messages: int, history: History) -> tuple[float, float, float]:
    """Milliseconds of a turn while the session is in memory and in a new process; bytes of a turn."""
    store, name = open_store(where), f"n{messages}"
    if await store.find(name) is None:
        await fill(store, name, messages)
    agent = Agent(ScriptedModel(reply), tools=[look], store=store, history=history)
    await agent.run("?", session=name)
    times = []
    before = written()
    for _ in range(40):
        started = time.perf_counter()
        await agent.run("and now?", session=name)
        times.append(time.perf_counter() - started)
    size = (written() - before) / 40
    cold = []
    for _ in range(15):
        agent = Agent(ScriptedModel(reply), tools=[look], store=store, history=history)
        gc.collect()
        started = time.perf_counter()
        await agent.run("and now?", session=name)
        cold.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3, statistics.median(cold) * 1e3, size


async def table(where: str) -> None:
    print(f"\n{open_store(where).name}")
    for title, history in (("History(tokens=4_000)", History(tokens=4_000)), ("default", History())):
        print(f"  what is shown: {title}")
        first: tuple[float, float] | None = None
        for messages in SIZES:
            warm, cold, size = await measured(where, messages, history)
            first = first or (warm, cold)
            print(
                f"    {messages:>6} messages: {warm:6.1f} ms a turn ({warm / first[0]:.2f} ×), "
                f"{cold:6.1f} ms in a new process ({cold / first[1]:.2f} ×), {size / 1024:6.1f} kB written"
            )
    await open_store(where).close()


def main(stores: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for where in stores or [str(Path(folder, "bench.db"))]:
            asyncio.run(table(where))


if __name__ == "__main__":
    main(sys.argv[1:])
