"""`toolhand sessions` over a store that was filled by runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
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
