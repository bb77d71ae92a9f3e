"""`toolhand worker`, `runs` and `prune` as a person uses them, with a worker in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import urllib.request

import pytest

from toolhand import Agent, tool
from toolhand.auditing import AuditTrail
from toolhand.cli.app import run_app
from toolhand.core.approvals import Approve, Deny
from toolhand.core.errors import SettingsError
from toolhand.durable import RunError, ledger_of
from toolhand.durable.agents import load_work
from toolhand.durable.retention import prune
from toolhand.sessions import Archive, open_store
from toolhand.testing import ScriptedModel

SHOP = """
import asyncio, os
from toolhand import Agent, tool
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.testing import ScriptedModel

@tool(effect="writes", approval=True)
async def pay(amount: int) -> str:
    \"\"\"Pays.\"\"\"
    return f"paid {amount}"

@tool
async def linger(seconds: float) -> int:
    \"\"\"Takes its time.\"\"\"
    await asyncio.sleep(seconds)
    return os.getpid()

def reply(request):
    last = max(place for place, message in enumerate(request.messages) if message.role == "user")
    said = request.messages[last].text.split()
    if len(request.messages) > last + 1:
        return f"{said[0]}: {request.messages[-1].results[0].data}"
    if said[0] == "die":
        os._exit(9)
    name, arguments = {"pay": ("pay", '{"amount": 5}'), "wait": ("linger", '{"seconds": %s}' % said[-1])}[said[0]]
    return ModelOutput(calls=(RawCall(id="c", name=name, arguments=arguments),), finish_reason="tool_calls")

agent = Agent(ScriptedModel(reply), tools=[pay, linger])
other = Agent(ScriptedModel(lambda request: "other"))
"""


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.py"
    path.write_text(textwrap.dedent(SHOP))
    return path


class Process:
    """A worker in a process of its own, whose errors are read as they come."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "toolhand.cli", "worker", *words]
        self.made = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "LANG": "C"}
        )
        self.lines: list[str] = []

    def until(self, pattern: str) -> re.Match[str]:
        for line in self.made.stderr or ():
            self.lines.append(line)
            if found := re.search(pattern, line):
                return found
        raise AssertionError("".join(self.lines))

    def end(self, number: int = signal.SIGTERM) -> int:
        self.made.send_signal(number)
        self.lines.append(self.made.communicate(timeout=60)[1] or "")
        return self.made.returncode


def toolhand(*words: str) -> tuple[int, str]:
    made = subprocess.run(
        [sys.executable, "-m", "toolhand.cli", *words],
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, "LANG": "C"},
    )
    return made.returncode, made.stdout + made.stderr


def fetched(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()


async def until(found):
    """Waits until something is so, looked at again and again."""
    while not await found():  # noqa: ASYNC110 - it happens in another process
        await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_day_with_a_worker(store, durable_url, shop):
    agent = Agent(ScriptedModel([]), store=store)
    process = await asyncio.to_thread(
        Process, str(shop), "--store", durable_url, "--health", "0", "--lease", "2"
    )
    try:
        port = (await asyncio.to_thread(process.until, r"health at http://127.0.0.1:(\d+)"))[1]
        paying, waiting = await agent.submit("pay", session="p"), await agent.submit("wait 0.01", session="w")
        named = await agent.submit("x", agent="other")
        assert (await named.wait(90)).output == "other"
        assert (await waiting.wait(90)).output == f"wait: {process.made.pid}"
        assert (await paying.wait(90)).stopped == "approval"
        health = json.loads(await asyncio.to_thread(fetched, f"http://127.0.0.1:{port}/ready"))
        assert (health["is_well"], health["running"], health["ended"] >= 2) == (True, 0, True)
        counted = await asyncio.to_thread(fetched, f"http://127.0.0.1:{port}/metrics")
        assert "toolhand_worker_ended_total" in counted
        code, told = await asyncio.to_thread(
            toolhand, "runs", "list", "--state", "waiting", "--json", "--store", durable_url
        )
        assert (code, [json.loads(line)["id"] for line in told.splitlines()]) == (0, [paying.id])
        words = ("approve", "p", "--by", "Ann", "--store", durable_url)
        code, told = await asyncio.to_thread(toolhand, "runs", *words)
        assert (code, "decided about pay" in told) == (0, True)
        assert (await paying.wait(90)).output == "pay: paid 5"
        assert (await AuditTrail(store).search(session_id="p"))[-1].decided_by == "Ann"
        code, told = await asyncio.to_thread(toolhand, "runs", "show", paying.id, "--store", durable_url)
        assert (code, "paid 5" in told, "facts" in told) == (0, True, False)
        slow = await agent.submit("wait 30", session="w")

        async def is_running():
            return (await slow.look()).state == "running"

        await until(is_running)
        code, _ = await asyncio.to_thread(toolhand, "runs", "cancel", slow.id, "--store", durable_url)
        assert code == 0
        with pytest.raises(RunError, match="cancelled"):
            await slow.wait(90)
    finally:
        code = await asyncio.to_thread(process.end)
    assert code == 0, process.lines
    assert await ledger_of(store).look("SELECT id FROM worker", ()) == []


async def test_who_decides_at_the_command_line_stands_in_the_audit(store, durable_url, works, monkeypatch):
    def reply(request):
        from tests.test_agent import asks  # noqa: PLC0415

        return "done" if request.messages[-1].results else asks(("c", "pay", '{"amount": 5}'))

    @tool(effect="writes", approval=True)
    async def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    monkeypatch.setattr("getpass.getuser", lambda: "the-operator")
    agent = Agent(ScriptedModel(reply), tools=[pay], store=store)
    works(agent)
    for session, noted, expected in (
        ("a", None, "the-operator"),
        ("b", Approve(by="Chen Wei"), "Chen Wei"),
        ("c", Deny(by="Chen Wei"), "the-operator"),
    ):
        run = await agent.submit("pay", session=session)
        (call,) = (await run.wait(60)).pending
        if noted is not None:
            await Archive(store).decide(session, {call.approval_id: noted})
        assert await asyncio.to_thread(run_app, ["runs", "approve", session, "--store", durable_url]) == 0
        assert (await run.wait(60)).output == "done"
        assert (await AuditTrail(store).search(session_id=session))[-1].decided_by == expected
    assert await asyncio.to_thread(run_app, ["runs", "approve", "a", "--store", durable_url]) == 1


@pytest.mark.slow
async def test_a_run_that_kills_its_workers_is_told_of_and_a_killed_one_s_runs_go_on_within_two_leases(
    store, durable_url, shop
):
    agent = Agent(ScriptedModel([]), store=store)
    words = (str(shop), "--store", durable_url, "--lease", "2", "--attempts", "2")
    first, second = [await asyncio.to_thread(Process, *words) for _ in range(2)]
    try:
        for process in (first, second):
            await asyncio.to_thread(process.until, "working on")
        waiting = await agent.submit("wait 1.5", session="w")

        async def is_taken(times=1):
            return (await waiting.look()).attempts >= times

        await until(is_taken)
        row = await waiting.look()
        pid = int(row.worker.split("|")[1])
        killed, spared = (first, second) if pid == first.made.pid else (second, first)
        started = time.monotonic()
        killed.end(signal.SIGKILL)
        await until(lambda: is_taken(2))
        took = time.monotonic() - started
        run = await waiting.wait(90)
        assert run.output == f"wait: {spared.made.pid}"
        assert took < 2 * 2.0 + 8.0  # two leases, and what a busy machine adds
        deadly = await agent.submit("die", session="d")
        await asyncio.to_thread(spared.made.communicate, timeout=90)
        third = await asyncio.to_thread(Process, *words)
        await asyncio.to_thread(third.made.communicate, timeout=90)
        assert spared.made.returncode == third.made.returncode == 9
        fourth = await asyncio.to_thread(Process, *words)
        try:
            with pytest.raises(RunError, match="2 workers in a row"):
                await deadly.wait(90)
        finally:
            assert await asyncio.to_thread(fourth.end) == 0
        code, told = await asyncio.to_thread(toolhand, "runs", "dead", "--json", "--store", durable_url)
        assert (code, json.loads(told)["id"]) == (0, deadly.id)
    finally:
        for process in (first, second):
            if process.made.poll() is None:
                process.end(signal.SIGKILL)


@pytest.mark.slow
async def test_a_server_that_goes_and_comes_back_ends_no_worker_and_loses_no_run(
    store, works, postgres, caplog
):
    done = []

    @tool
    async def linger(seconds: float) -> str:
        """Takes its time."""
        await asyncio.sleep(seconds)
        done.append(seconds)
        return "ok"

    def reply(request):
        from tests.test_agent import asks  # noqa: PLC0415

        last = max(place for place, message in enumerate(request.messages) if message.role == "user")
        seconds = request.messages[last].text
        return (
            "done" if len(request.messages) > last + 1 else asks(("c", "linger", f'{{"seconds": {seconds}}}'))
        )

    agent = Agent(ScriptedModel(reply), tools=[linger], store=store)
    worker = works(agent)
    before = await agent.submit("2", session="a")

    async def is_taken():
        return bool(worker.running)

    await until(is_taken)
    with caplog.at_level("WARNING"):
        await asyncio.to_thread(postgres.crash)
        meanwhile = asyncio.ensure_future(agent.submit("0.01", session="c"))
        await asyncio.sleep(3)
        await asyncio.to_thread(postgres.start)
        after = await agent.submit("0.01", session="b")
        assert (await after.wait(90)).output == "done"
    assert (await (await meanwhile).wait(90)).output == "done"
    assert (await before.wait(90)).output == "done"
    told = [record for record in caplog.records if record.name == "toolhand.stores"]
    assert ["cannot be reached" in told[0].message, "is back after" in told[-1].message] == [True, True]
    assert [
        record.message for record in caplog.records if record.exc_info
    ] == []  # a line each, and no traceback


async def test_old_things_go_and_what_is_under_way_stays(store, works):
    agent = Agent(ScriptedModel(lambda request: "ok"), store=store)
    worker = works(agent)
    ended = await agent.submit("a", session="old")
    await ended.wait(90)
    worker.stop()
    queued = await agent.submit("b", session="busy")
    ledger = ledger_of(store)
    assert (await prune(store, ledger, seconds=3600)).sessions == 0
    told = []
    pruned = await prune(store, ledger, seconds=-1, on_progress=lambda found: told.append(found.runs))
    assert (pruned.sessions, pruned.runs, told[0]) == (1, 1, 1)
    assert await store.find("old") is None
    assert (await queued.look()).state in ("queued", "running", "finished")
    assert await store.read("busy") is not None


def test_old_sessions_of_a_file_go_too(tmp_path):
    path = tmp_path / "s.db"
    agent = Agent(ScriptedModel(lambda request: "ok"), store=path)
    agent.run_sync("a", session="one")
    agent.run_sync("a", session="two")
    asyncio.run(open_store(path).close())
    assert toolhand("prune", "--older-than", "1d", "--yes", "--store", str(path))[1].startswith(
        "removed 0 sessions"
    )
    assert toolhand("prune", "--session", "one", "--yes", "--store", str(path))[1].startswith(
        "removed 1 sessions"
    )
    code, told = toolhand("prune", "--older-than", "soon", "--store", str(path))
    assert (code, "'soon' is no age" in told) == (1, True)
    assert toolhand("prune", "--store", str(path))[0] == 1


async def test_runs_are_shown_with_their_secrets_masked(store, durable_url):
    secret = "sk-proj-Zx81Qq7LkT0vWmN4bC2yHd9R"
    run = await Agent(ScriptedModel([]), store=store).submit(f"My key is {secret}.", session="s")
    for words in (["list"], ["list", "--json"], ["show", run.id], ["show", run.id, "--json"]):
        code, told = await asyncio.to_thread(toolhand, "runs", *words, "--store", durable_url)
        assert (code, run.id in told, "[masked:secret]" in told, secret in told) == (0, True, True, False)
    code, told = await asyncio.to_thread(
        toolhand, "runs", "show", run.id, "--unmasked", "--store", durable_url
    )
    assert (code, secret in told) == (0, True)


def test_that_the_server_is_away_is_told_at_once(tmp_path):
    """And not after the half minute for which it is tried again."""
    command = [
        sys.executable,
        "-m",
        "toolhand.cli",
        "runs",
        "list",
        "--store",
        f"postgresql:///x?host={tmp_path}",
    ]
    environment = {**os.environ, "LANG": "C"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as made:
        try:
            line = made.stderr.readline()
        finally:
            made.kill()
    assert re.search(r"cannot be reached \(.+\): it is tried again until \d\d:\d\d:\d\d", line)


def test_agents_are_found_by_their_names(shop, tmp_path):
    found, schedules = load_work(str(shop))
    assert set(found) == {"", "agent", "other"}
    assert found[""] is found["agent"]
    only, _ = load_work(f"{shop}:other")
    assert set(only) == {"", "other"}
    with pytest.raises(SettingsError, match="holds no 'nobody'"):
        load_work(f"{shop}:nobody")
    assert schedules == {}
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    with pytest.raises(SettingsError, match="holds no agent"):
        load_work(str(empty))
