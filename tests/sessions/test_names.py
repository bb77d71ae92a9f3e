"""Names of sessions, users and stores that nobody could ask for again are refused before anything is kept."""

from __future__ import annotations

import random

import pytest

from toolhand import Agent
from toolhand.core.errors import SettingsError
from toolhand.sessions import MemoryStore, open_store
from toolhand.testing import ScriptedModel


@pytest.mark.parametrize("name", ["", "  ", "a\0b", "half \ud83d"])
@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_session_without_a_usable_name_is_refused(name, where, tmp_path):
    agent = Agent(ScriptedModel("hello"), store="memory" if where == "memory" else tmp_path / "s.db")
    with pytest.raises(SettingsError, match="session's name"):
        agent.run_sync("hi", session=name)
    with pytest.raises(SettingsError, match="session's name"):
        agent.session(name)


@pytest.mark.parametrize("user", ["a\0b", "half \ud83d"])
def test_a_user_without_a_usable_name_is_refused(user):
    with pytest.raises(SettingsError, match="user's name"):
        Agent(ScriptedModel("hello"), store="memory").run_sync("hi", session="s", user=user)


@pytest.mark.parametrize("store", ["", " ", "a\0.db", "sqlite://", "sqlite:///"])
def test_a_store_that_names_no_file_is_refused(store):
    with pytest.raises(SettingsError, match="names no file"):
        open_store(store)


@pytest.mark.parametrize("store", [":memory:", "sqlite:///:memory:", "sqlite://:memory:"])
def test_what_is_not_to_be_kept_makes_no_file(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(open_store(store), MemoryStore)
    Agent(ScriptedModel("hello"), store=store).run_sync("hi", session="s")
    assert not list(tmp_path.iterdir())


async def test_the_longest_names_fit_into_every_store_and_longer_ones_are_refused(store):
    rng = random.Random(7)  # nothing that an index could make shorter
    name, owner = ("".join(chr(rng.randrange(0x20000, 0x2A000)) for _ in range(256)) for _ in "ab")
    await Agent(ScriptedModel(["a"]), store=store).run("x", session=name, user=owner)
    assert (await store.find(name)).owner == owner
    for names in ({"session": "s" * 257}, {"session": "s", "user": "u" * 5_000}):
        with pytest.raises(SettingsError, match="at most 256") as raised:
            await Agent(ScriptedModel(["a"]), store=store).run("x", **names)
        assert len(str(raised.value)) < 200
