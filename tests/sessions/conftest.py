"""Every kind of store, fresh for each test."""

from __future__ import annotations

import pytest

from toolhand.sessions.memory import MemoryStore
from toolhand.sessions.sqlite import SqliteStore

KINDS = ["memory", "sqlite"]


@pytest.fixture(params=KINDS)
async def store(request, tmp_path):
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "s.db")
    yield made
    await made.close()
