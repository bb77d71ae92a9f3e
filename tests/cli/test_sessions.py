"""`toolhand sessions` over a store that was filled by runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from tests.test_agent import asks
from toolhand import Agent, tool
from toolhand.sessions.sqlite import SqliteStore
from toolhand.testing import ScriptedModel

NAME = "chat-20260131-120000-with-a-long-name-of-sixty-characters-abcd"


@tool(effect="writes", approval=True)
def send_the_monthly_statement_to_the_customer(customer: str) -> str:
    """Sends the statement.

    Args:
        customer: whose.
    """
    return f"sent to {customer}"


@tool
def look(customer: str) -> str:
    """Looks a customer up.

    Args:
        customer: whom.
    """
    return f"{customer} is there"


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    monkeypatch.setenv("TOOLHAND_STORE", str(tmp_path / "s.db"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "s.db"


def talked(store, name=NAME, tool_name="look", user="a-user-with-a-long-name"):
    """A run in a session that is kept."""

    async def fill():
        kept = SqliteStore(store)
        model = ScriptedModel([asks(("c1", tool_name, '{"customer": "Li Wei"}')), "done " * 30])
        agent = Agent(model, tools=[look, send_the_monthly_statement_to_the_customer], store=kept)
        finished = await agent.run("please " * 20, session=name, user=user)
        await kept.close()
        return finished

    return asyncio.run(fill())


def sessions(*words, typed=""):
    return subprocess.run(
        [sys.executable, "-m", "toolhand.cli", "sessions", *words],
        input=typed, capture_output=True, text=True, check=False, timeout=90,
    )  # fmt: skip


def at_a_terminal(*words, typed=b""):
    """What a terminal of 80 columns shows, and the exit code."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", COLUMNS="80")
        os.execv(sys.executable, [sys.executable, "-m", "toolhand.cli", "sessions", *words])
    os.write(descriptor, typed)
    seen = b""
    with contextlib.suppress(OSError):
        while more := os.read(descriptor, 4096):
            seen += more
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(descriptor)
    return seen.decode(), code


@pytest.mark.parametrize("words", [("list",), ("audit",), ("search", "please")])
def test_what_must_be_copied_is_never_cut(store, words):
    talked(store)
    piped = sessions(*words).stdout
    assert NAME in piped
    seen, code = at_a_terminal(*words)
    assert code == 0
    columns = [line.split(" ")[0] for line in seen.splitlines()[1:]]
    if words != ("audit",):
        assert "".join(columns).startswith(NAME)


def test_old_records_go_only_after_asking(store):
    talked(store)
    refused = sessions("audit", "--forget-older-than", "0")
    assert refused.returncode == 1
    assert "add --yes" in refused.stderr
    seen, code = at_a_terminal("audit", "--forget-older-than", "0", typed=b"n\n")
    assert "Remove 1 records" in seen
    assert code == 130
    assert "look" in sessions("audit").stdout
    narrowed = sessions("audit", "--forget-older-than", "0", "--user", "nobody", "--yes")
    assert narrowed.returncode == 1
    assert "leave the other options out" in narrowed.stderr
    done = sessions("audit", "--forget-older-than", "0", "--yes")
    assert "1 records removed" in done.stdout
    assert "look" not in sessions("audit").stdout


DIES = """
import asyncio, os, signal, sys
from toolhand.core.messages import Message, Text, ToolCall
from toolhand.sessions.sqlite import SqliteStore
from toolhand.sessions.stored import StoredSession

async def die():
    session = StoredSession(sys.argv[2], SqliteStore(sys.argv[1]))
    async with session.held():
        session.append(Message(role="user", parts=(Text(text="are you there?"),)))
        if sys.argv[3:]:
            call = ToolCall(id="c1", name="look", arguments={"customer": "Li"})
            session.append(Message(role="assistant", parts=(call,)))
            session.note_started("c1", "look", is_repeatable=False)
        await session.saved()
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(die())
"""


def killed(store, *words):
    """A session whose process died after the question, or in the midst of a call."""
    done = subprocess.run([sys.executable, "-c", DIES, str(store), *words], check=False, timeout=90)
    assert done.returncode == -signal.SIGKILL


def test_what_waits_and_what_is_unfinished_is_marked(store):
    talked(store, "waits", "send_the_monthly_statement_to_the_customer")
    talked(store, "done")
    killed(store, "died")
    killed(store, "midst", "started")
    lines = {line.split()[0]: line for line in sessions("list").stdout.splitlines()}
    assert "(waits for approval)" in lines["waits"]
    assert "(unfinished)" in lines["died"]
    assert "are you there?" in lines["died"]
    assert "(unfinished)" in lines["midst"]
    assert "(unfinished)" in sessions("show", "midst").stdout
    assert "(" not in lines["done"]
    found = {row["id"]: row for row in map(json.loads, sessions("list", "--json").stdout.splitlines())}
    assert (found["died"]["messages"], found["died"]["state"]) == (1, "unfinished")
    assert (found["waits"]["messages"], found["waits"]["state"]) == (2, "waiting")
    shown = sessions("show", "waits")
    [call] = [line for line in shown.stdout.splitlines() if line.startswith("→")]
    assert call.endswith("(waits for approval)")
    assert "toolhand chat --session waits --user a-user-with-a-long-name" in shown.stderr
    done = sessions("show", "done")
    assert "waits for approval" not in done.stdout
    assert done.stderr == ""


def test_looking_makes_no_file(store, tmp_path):
    assert "there are no sessions yet" in sessions("list").stdout
    assert sessions("list", "--user", "bob").stdout == "the user 'bob' has no sessions\n"
    wrong = sessions("list", "--store", str(tmp_path / "new.db"))
    assert wrong.returncode == 1
    assert "there is no store" in wrong.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_go_on_with_is_said(store, tmp_path):
    chat = [sys.executable, "-m", "toolhand.cli", "chat", "-c", "-m", "http://127.0.0.1:9/v1#none"]
    done = subprocess.run(chat, input="", capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == 0, done.stderr
    assert "a new one begins" in done.stderr


def test_secrets_are_shown_masked_unless_they_are_asked_for(store):
    secret = "sk-proj-Zx81Qq7LkT0vWmN4bC2yHd9R"
    model = ScriptedModel([asks(("c1", "look", json.dumps({"customer": secret}))), f"It is {secret}."])

    async def fill():
        kept = SqliteStore(store)
        agent = Agent(model, tools=[look], store=kept)
        # a title is a message's beginning: this one ends in the midst of the secret
        await agent.run(f"{'please ' * 9}look up {secret}", session="s")
        await kept.close()

    asyncio.run(fill())
    for words in (("show", "s"), ("list",), ("list", "--json"), ("search", "please"), ("search", "it")):
        shown = sessions(*words)
        assert shown.returncode == 0, shown.stderr
        assert secret[:14] not in shown.stdout, words
    masked, whole = sessions("show", "s").stdout, sessions("show", "s", "--unmasked").stdout
    assert "[masked:secret]" in masked
    assert whole.count(secret) >= 3  # the question, the arguments, the answer
