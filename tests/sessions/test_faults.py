"""When the place where sessions are kept is full, locked, read-only, away, or of another version."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_agent import asks, assert_valid
from toolhand import Agent, tool
from toolhand.core.errors import MissingExtraError, SettingsError, StoreError
from toolhand.sessions import StoredSession, open_store
from toolhand.sessions.migrations import MIGRATIONS, NEWEST, Migration
from toolhand.sessions.sqlite import SqliteStore
from toolhand.sessions.store import default_path
from toolhand.testing import ScriptedModel

SOURCE = str(Path(__file__).parents[2] / "src")

LATER = Migration(
    number=NEWEST + 1,
    name="a note on sessions",
    statements=(
        "ALTER TABLE session ADD COLUMN note TEXT NOT NULL DEFAULT ''",
        "CREATE TABLE more (n {integer})",
    ),
)


def made(url: str, path: Path, kind: str, migrations: tuple[Migration, ...]):
    if kind == "sqlite":
        return SqliteStore(path / "s.db", migrations=migrations)
    from toolhand.sessions.postgres import PostgresStore  # noqa: PLC0415 - where its driver is installed

    return PostgresStore(url, migrations=migrations)


@pytest.fixture(params=["sqlite", "postgres"])
def versions(request, tmp_path):
    """Makes stores over the same data with other schemas."""
    url = request.getfixturevalue("url") if request.param == "postgres" else ""
    return lambda *migrations: made(url, tmp_path, request.param, migrations)


async def said(store, text: str = "x") -> None:
    await Agent(ScriptedModel(["ok"]), store=store).run(text, session="s")


async def test_an_older_schema_is_upgraded_and_nothing_is_lost(versions):
    old = versions(*MIGRATIONS)
    await said(old, "before")
    await old.close()
    new = versions(*MIGRATIONS, LATER)
    await said(new, "after")
    session = StoredSession("s", new)
    await session.load()
    assert [message.text for message in session.messages] == ["before", "ok", "after", "ok"]
    await new.close()


async def test_a_newer_schema_is_refused_with_what_to_do(versions):
    new = versions(*MIGRATIONS, LATER)
    await said(new)
    await new.close()
    old = versions(*MIGRATIONS)
    with pytest.raises(StoreError, match=rf"schema {NEWEST + 1}.*update toolhand"):
        await said(old)
    await old.close()


async def test_two_programs_that_upgrade_at_once_do_it_once(versions):
    old = versions(MIGRATIONS[0])
    await old.find("s")
    await old.close()
    many = [versions(*MIGRATIONS, LATER) for _ in range(6)]
    await asyncio.gather(*(store.find("s") for store in many))
    await asyncio.gather(*(store.close() for store in many))


async def test_a_step_that_fails_leaves_everything_as_it_was(versions):
    old = versions(*MIGRATIONS)
    await said(old)
    await old.close()
    broken = dataclasses.replace(LATER, statements=(LATER.statements[0], "CREATE NONSENSE"))
    bad = versions(*MIGRATIONS, broken)
    with pytest.raises(StoreError):
        await said(bad)
    await bad.close()
    again = versions(*MIGRATIONS, LATER)
    await said(again)
    await again.close()


async def test_a_folder_that_there_is_not_and_a_file_that_is_no_store_are_named(tmp_path):
    with pytest.raises(StoreError, match="folder does not exist"):
        await said(open_store(tmp_path / "nothing" / "s.db"))
    (tmp_path / "note.txt").write_text("no database " * 100)
    with pytest.raises(StoreError, match=r"note\.txt.*no SQLite file"):
        await said(open_store(tmp_path / "note.txt"))


POWERLESS = """
import ctypes, os
if os.geteuid() == 0:  # rights do not apply to root, until it gives up the power to pass them over
    libc = ctypes.CDLL(None)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    powers = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, powers) == 0
    powers[0] &= ~0b110
    assert libc.capset(header, powers) == 0
"""


def powerless(code: str, *arguments: str) -> str:
    """Runs code in a process to which the rights of files apply."""
    done = subprocess.run(
        [sys.executable, "-c", POWERLESS + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": SOURCE},
        timeout=100,
    )
    return done.stdout + done.stderr


RUN = """
import sys
from toolhand import Agent
from toolhand.core.errors import StoreError
from toolhand.testing import ScriptedModel
try:
    print(Agent(ScriptedModel(["ok"]), store=sys.argv[1]).run_sync("x", session="s").output)
except StoreError as error:
    print("StoreError:", error)
"""


def test_a_read_only_folder_and_file_are_named(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    told = powerless(RUN, str(folder / "s.db"))
    assert "StoreError" in told
    assert "right to write" in told
    assert "TOOLHAND_STORE" in told
    folder.chmod(0o755)
    assert powerless(RUN, str(folder / "s.db")).strip() == "ok"
    (folder / "s.db").chmod(0o444)
    told = powerless(RUN, str(folder / "s.db"))
    assert "StoreError" in told
    assert "right to write" in told or "give the right" in told


def test_the_default_file_is_its_owners_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("TOOLHAND_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    agent = Agent(ScriptedModel(["ok"]))
    agent.run_sync("x", session="s")
    path = default_path()
    assert path.is_file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert Agent(ScriptedModel([])).session("s").messages[0].text == "x"


FULL = """
import resource, sys, asyncio, json
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from toolhand import Agent
from toolhand.core.errors import StoreError
from toolhand.testing import ScriptedModel
agent = Agent(ScriptedModel(lambda request: "ok"), store=sys.argv[1])
kept = 0
try:
    for number in range(1000):
        agent.run_sync(str(number) + "x" * 20_000, session="s")
        kept = number + 1
except StoreError as error:
    print(json.dumps([kept, str(error)]))
"""


def test_a_full_disk_is_said_and_what_was_kept_is_there(tmp_path):
    path = tmp_path / "s.db"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": SOURCE},
        timeout=100,
    )
    kept, error = json.loads(done.stdout)
    assert kept > 2
    assert "full" in error or "disk gave an error" in error
    assert "resume the session" in error
    messages = list(Agent(ScriptedModel([]), store=path).session("s").messages)
    texts = [message.text for message in messages if message.role == "user"]
    assert [int(text.rstrip("x")) for text in texts[:kept]] == list(range(kept))
    run = Agent(ScriptedModel(lambda request: "well again"), store=path).run_sync("now", session="s")
    assert run.output == "well again"


async def test_a_file_that_another_program_locks_is_waited_for(tmp_path):
    path = tmp_path / "s.db"
    store = SqliteStore(path, patience_seconds=0.4)
    await said(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"locked for 0\.4 seconds"):
        await said(store)
    waiting = asyncio.ensure_future(said(SqliteStore(path), "waits"))
    await asyncio.sleep(0.2)
    other.execute("ROLLBACK")
    other.close()
    await waiting
    await said(store)
    await store.close()


@pytest.mark.slow
async def test_a_server_that_goes_away_in_the_middle_is_waited_for(postgres, url):
    ran: list[int] = []
    inside = asyncio.Event()

    @tool(effect="writes")
    async def pay(amount: int) -> str:
        """Pays."""
        ran.append(amount)
        inside.set()
        await asyncio.sleep(0.2)
        return f"paid {amount}"

    script = [asks((f"c{n}", "pay", f'{{"amount": {n}}}')) for n in range(4)]
    agent = Agent(ScriptedModel([*script, "done"]), tools=[pay], store=url)
    task = asyncio.ensure_future(agent.run("pay", session="s"))
    await inside.wait()
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, postgres.crash)
    await asyncio.sleep(5)
    assert not task.done()
    await loop.run_in_executor(None, postgres.start)
    run = await asyncio.wait_for(task, 60)
    assert (run.output, ran) == ("done", [0, 1, 2, 3])
    assert_valid(tuple(run.messages))
    again = Agent(ScriptedModel([]), store=url).session("s")
    assert list(again.messages) == list(run.messages)
    await agent.store.close()


async def test_a_server_that_there_is_not_is_said_after_a_while():
    from toolhand.sessions.postgres import PostgresStore  # noqa: PLC0415 - where its driver is installed

    store = PostgresStore("postgresql://ann:geheim@127.0.0.1:1/x", patience_seconds=0.3)
    with pytest.raises(StoreError, match="could not be reached") as raised:
        await said(store)
    assert "geheim" not in str(raised.value)
    assert store.name == "postgresql://ann@127.0.0.1:1/x"


def test_names_of_stores():
    assert open_store("memory") is not open_store("memory")
    assert open_store("b.db") is open_store("sqlite:///b.db")
    assert open_store("/tmp/x.db") is open_store("sqlite:////tmp/x.db")
    assert open_store(Path("/tmp/x.db")).name == "/tmp/x.db"
    with pytest.raises(SettingsError, match="there is no store 'mysql://…'"):
        open_store("mysql://x")
    with pytest.raises(SettingsError, match="store is"):
        open_store(7)


def test_a_driver_that_is_not_installed_is_named_with_its_extra():
    code = "import sys; sys.modules['asyncpg'] = None\nfrom toolhand.sessions import open_store\nopen_store('postgresql://x/y')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert MissingExtraError.__name__ in done.stderr
    assert "[postgres]'" in done.stderr
