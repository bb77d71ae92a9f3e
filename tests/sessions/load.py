"""Many runs over fewer sessions at once, in one process or several: do they mix, is anything lost, does anybody see an error?

python -m tests.sessions.load STORE --runs 500 --sessions 200 [--processes 1]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from typing import Any

from toolhand import Agent, RunContext, tool
from toolhand.core.messages import ModelOutput, ModelRequest, RawCall
from toolhand.sessions import StoredSession, open_store
from toolhand.testing import ScriptedModel


@tool
async def whoami(context: RunContext) -> str:
    """Who asks."""
    await asyncio.sleep(0)
    return f"{context.user}/{context.session_id}"


def reply(request: ModelRequest) -> ModelOutput:
    last = request.messages[-1]
    if last.results:
        said = next(message.text for message in reversed(request.messages) if message.role == "user")
        return ModelOutput(text=f"{said} {last.results[0].data}")
    return ModelOutput(calls=(RawCall(id="c", name="whoami", arguments="{}"),), finish_reason="tool_calls")


async def runs(store: str, mark: str, count: int, sessions: int) -> list[str]:
    """Starts them all at once; what went wrong."""
    agent = Agent(ScriptedModel(reply), tools=[whoami], store=store)
    wrong: list[str] = []

    async def one(number: int) -> None:
        place = number % sessions
        try:
            run = await agent.run(f"{mark}{number}", session=f"s{place}", user=f"u{place}")
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")
            return
        if run.output != f"{mark}{number} u{place}/s{place}":
            wrong.append(f"{mark}{number} got {run.output}")

    await asyncio.gather(*(one(number) for number in range(count)))
    return wrong


async def looked_at(store: str, marks: list[str], count: int, sessions: int) -> list[str]:
    """What is wrong with what was kept."""
    wrong: list[str] = []
    for place in range(sessions):
        session = StoredSession(f"s{place}", open_store(store))
        await session.load()
        messages = list(session.messages)
        wanted = {f"{mark}{number}" for mark in marks for number in range(place, count, sessions)}
        said = Counter(message.text for message in messages if message.role == "user")
        if said != Counter(wanted):
            wrong.append(f"s{place}: {len(said)} of {len(wanted)} user messages")
        for start in range(0, len(messages), 4):
            user, call, result, answer = messages[start : start + 4]
            if (
                [m.role for m in (user, call, result, answer)] != ["user", "assistant", "tool", "assistant"]
                or answer.text != f"{user.text} u{place}/s{place}"
                or result.results[0].call_id != call.calls[0].id
            ):
                wrong.append(f"s{place}: a run at message {start} is torn")
    return wrong


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--mark", default="")
    options = parser.parse_args(arguments)
    if options.mark:
        wrong = asyncio.run(runs(options.store, options.mark, options.runs, options.sessions))
        sys.stdout.write(json.dumps(wrong) + "\n")
        return 0
    started = time.monotonic()
    marks = [f"p{number}-" for number in range(options.processes)]
    command = [sys.executable, "-m", "tests.sessions.load", options.store, "--runs", str(options.runs),
               "--sessions", str(options.sessions), "--mark"]  # fmt: skip
    children = [subprocess.Popen([*command, mark], stdout=subprocess.PIPE, text=True) for mark in marks]
    wrong: list[str] = []
    for child in children:
        said = child.communicate()[0]
        wrong.extend(json.loads(said) if said else [f"a process ended with {child.returncode}"])
    seconds = time.monotonic() - started

    async def look() -> list[str]:
        try:
            return await looked_at(options.store, marks, options.runs, options.sessions)
        finally:
            await open_store(options.store).close()

    wrong.extend(asyncio.run(look()))
    figures: dict[str, Any] = {"runs": options.runs * options.processes, "sessions": options.sessions,
                               "processes": options.processes, "wrong": len(wrong), "first": wrong[:3],
                               "seconds": round(seconds, 1)}  # fmt: skip
    sys.stdout.write(json.dumps(figures) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
