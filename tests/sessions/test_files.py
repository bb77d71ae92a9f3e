"""SQLite files that are none, that are taken away or put in place of another while a program runs, and event loops cut off."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_agent import asks
from toolhand import Agent, tool
from toolhand.core.errors import SessionError, StoreError
from toolhand.sessions import Archive, open_store
from toolhand.sessions.sqlite import SqliteStore
from toolhand.testing import ScriptedModel


async def said(store, *texts: str, session: str = "s") -> None:
    agent = Agent(ScriptedModel([f"to {text}" for text in texts]), store=store)
    for text in texts:
        await agent.run(text, session=session)


async def texts_of(path: Path, session: str = "s") -> list[str]:
    store = SqliteStore(path)
    try:
        return [message.text for message in await Archive(store).messages(session)]
    finally:
        await store.close()


async def test_a_file_that_is_removed_is_told_of_once_and_made_anew(tmp_path):
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    agent = Agent(ScriptedModel(["a", "b", "c", "d"]), store=store)
    await agent.run("1", session="s")
    await Archive(store).messages("s")  # both threads have it open
    path.unlink()
    with pytest.raises(StoreError, match="was removed while it was in use"):
        await agent.run("2", session="s")
    await agent.run("3", session="s")
    await agent.run("4", session="s")
    assert await texts_of(path) == ["3", "b", "4", "c"]
    await store.close()
    assert await texts_of(path) == ["3", "b", "4", "c"]


async def test_a_file_that_takes_the_place_of_another_is_not_mixed_with_it(tmp_path):
    path, other = tmp_path / "s.db", SqliteStore(tmp_path / "other.db")
    await said(other, "theirs")  # as many entries under the same name as the first has
    await other.close()
    store = SqliteStore(path)
    agent = Agent(ScriptedModel(["a", "b", "c"]), store=store)
    await agent.run("mine", session="s")
    await Archive(store).messages("s")
    (tmp_path / "other.db").replace(path)
    with pytest.raises(StoreError, match="was replaced by another file"):
        await agent.run("lost", session="s")
    await agent.run("more", session="s")
    assert await texts_of(path) == ["theirs", "to theirs", "more", "b"]
    await store.close()
    assert await texts_of(path) == ["theirs", "to theirs", "more", "b"]


async def test_a_run_whose_session_is_gone_is_told_so(tmp_path):
    """Its session was removed by hand: the lease could not stop that."""
    import sqlite3  # noqa: PLC0415 - only here

    path = tmp_path / "s.db"

    @tool
    def cut() -> str:
        """Removes it."""
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM entry")
            connection.execute("DELETE FROM session")
        connection.close()
        return "done"

    store = SqliteStore(path)
    with pytest.raises(SessionError, match="not in its store any more"):
        await Agent(ScriptedModel([asks(("c1", "cut", "{}")), "x"]), tools=[cut], store=store).run(
            "go", session="s"
        )
    await store.close()


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero", "/dev/full"])
def test_a_device_is_refused_and_nothing_is_written_beside_it(name):
    device = Path(name)
    if not device.exists():
        pytest.skip(f"there is no {name}")
    with pytest.raises(StoreError, match="no file that can be kept"):
        asyncio.run(said(open_store(name), "x"))
    assert not [found for found in device.parent.iterdir() if found.name.startswith(f"{device.name}-")]


async def test_folders_pipes_and_names_that_cannot_be_are_refused_with_what_to_do(tmp_path):
    with pytest.raises(StoreError, match=r"is a folder: name a file in it"):
        await said(open_store(tmp_path), "x")
    os.mkfifo(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(StoreError, match="no file that can be kept"):
        await said(open_store(tmp_path / "pipe"), "x")
    with pytest.raises(StoreError, match="name too long") as raised:
        await said(open_store(tmp_path / ("x" * 5_000)), "x")
    assert len(str(raised.value)) < 600


CUT_OFF = """
import asyncio, os, sys
from toolhand import Agent
from toolhand.sessions.sqlite import SqliteStore
from toolhand.testing import ScriptedModel

agent = Agent(ScriptedModel(["one", "two", "three", "four"]), store=SqliteStore(sys.argv[1], lease_seconds=0.5))
kept = []  # what is cut off is not even collected

async def begin():
    kept.append(asyncio.ensure_future(agent.run("cut", session="s")))
    await asyncio.sleep(float(sys.argv[2]))

for _ in range(3):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    loop.close()
run = asyncio.run(asyncio.wait_for(agent.run("after", session="s"), 60))
print([m.text for m in run.messages if m.role == "user"][-1], flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("seconds", [0, 0.002, 0.02])  # wherever it is by then
def test_a_session_whose_loop_was_closed_in_the_midst_of_a_run_goes_on(tmp_path, seconds):
    done = subprocess.run(
        [sys.executable, "-c", CUT_OFF, str(tmp_path / "s.db"), str(seconds)],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.stdout == "after\n", done.stderr
