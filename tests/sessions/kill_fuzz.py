"""Kills a run at random moments and goes on with it, until it has ended; then looks at what it did.

python -m tests.sessions.kill_fuzz STORE --kills 200 [--seed 1]

STORE is a file's path or a PostgreSQL URL. A run makes one writing call and then two at once; what each does is counted in a
file. The figures are printed as JSON: `twice` and `lost` must be 0 and `invalid` empty.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from toolhand import Agent, tool
from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.messages import ModelOutput, ModelRequest, RawCall
from toolhand.sessions import StoredSession, open_store
from toolhand.testing import ScriptedModel

NAMES = ("book", "charge", "notify")


def replies(request: ModelRequest) -> ModelOutput:
    """One call, then two at once, then the answer: as the history says, so that any process gives the same."""
    asked = sum(bool(message.calls) for message in request.messages)
    if asked == 0:
        return wants("book")
    return wants("charge", "notify") if asked == 1 else ModelOutput(text="all done")


def wants(*names: str) -> ModelOutput:
    calls = tuple(RawCall(id=f"c_{name}", name=name, arguments='{"order": 7}') for name in names)
    return ModelOutput(calls=calls, finish_reason="tool_calls")


def tools(effects: Path) -> list[Any]:
    def make(name: str) -> Any:
        async def effect(order: int) -> str:
            """Has an effect."""
            await asyncio.sleep(random.random() * 0.004)
            file = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(file, f"{name}\n".encode())
            os.close(file)
            await asyncio.sleep(random.random() * 0.004)
            return f"{name} {order}"

        return tool(name=name, effect="writes")(effect)

    return [make(name) for name in NAMES]


async def go(store: str, session: str, effects: Path) -> None:
    agent = Agent(ScriptedModel(replies), tools=tools(effects), store=store)
    found = await agent.store.find(session)
    entries = await agent.store.read(session, limit=1) if found else []
    if not entries:
        await agent.run("order 7", session=session)
        return
    try:
        await agent.resume(session)
    except SettingsError as error:
        if "nothing to resume" not in str(error):
            raise


def child(store: str, session: str, effects: Path) -> int:
    """The same in a process of its own; its number."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        random.seed()
        asyncio.run(go(store, session, effects))
        code = 0
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(code)


def until_done(
    store: str, session: str, effects: Path, longest: float, kills: int, rng: random.Random
) -> int:
    """Kills it so often, then lets it end; how many times it was alive to be killed."""
    killed = 0
    for _ in range(kills):
        pid = child(store, session, effects)
        time.sleep(rng.random() * longest)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            killed += 1
        elif os.WEXITSTATUS(status):
            raise RuntimeError("a run failed without being killed")
        else:
            return killed
    _, status = os.waitpid(child(store, session, effects), 0)
    if status:
        raise RuntimeError(f"the last try of {session} failed")
    return killed


def had(effects: Path) -> list[str]:
    return effects.read_text().split() if effects.exists() else []


async def checked(store: str, session: str, effects: Path, figures: dict[str, Any]) -> None:
    kept = StoredSession(session, open_store(store))
    await kept.load()
    messages = list(kept.messages)
    done = had(effects)
    outcomes: dict[str, str] = {}
    for number, message in enumerate(messages):
        ids = [call.id for call in message.calls]
        if ids:
            told = [result.call_id for result in messages[number + 1].results]
            if told != ids:
                figures["invalid"].append(f"{session}: {ids} answered by {told}")
            for result in messages[number + 1].results:
                outcomes[result.name] = "ok" if result.ok else str(result.error and result.error.code)
    if kept.is_under_way or messages[-1].text != "all done":
        figures["invalid"].append(f"{session}: has not ended")
    for name in NAMES:
        count, outcome = done.count(name), outcomes.get(name)
        figures["twice"] += count > 1
        figures["lost"] += (outcome == "ok" and count != 1) or outcome not in (
            "ok",
            ErrorCode.OUTCOME_UNKNOWN,
        )
        figures["ok"] += outcome == "ok"
        figures["unknown"] += outcome == ErrorCode.OUTCOME_UNKNOWN
        figures["unknown_but_done"] += outcome == ErrorCode.OUTCOME_UNKNOWN and count == 1


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rng, started = random.Random(options.seed), time.monotonic()
    figures: dict[str, Any] = {"kills": 0, "sessions": 0, "twice": 0, "lost": 0, "ok": 0, "unknown": 0,
                               "unknown_but_done": 0, "invalid": []}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(go("memory", "warm", Path(folder, "memory")))  # so that no child has to import anything
        sessions, first = [], time.monotonic()
        for warm in range(2):  # how long a run takes here
            first = time.monotonic()
            until_done(options.store, f"warm{warm}", Path(folder, f"warm{warm}"), 0.0, 0, rng)
        longest = (time.monotonic() - first) * 1.1
        while figures["kills"] < options.kills:
            name = f"s{len(sessions)}"
            effects = Path(folder, name)
            figures["kills"] += until_done(options.store, name, effects, longest, rng.randint(1, 6), rng)
            sessions.append((name, effects))

        async def check() -> None:
            for name, effects in sessions:
                await checked(options.store, name, effects, figures)
            await open_store(options.store).close()

        asyncio.run(check())
    figures["sessions"] = len(sessions)
    figures["seconds"] = round(time.monotonic() - started, 1)
    sys.stdout.write(json.dumps(figures) + "\n")
    return int(bool(figures["twice"] or figures["lost"] or figures["invalid"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
