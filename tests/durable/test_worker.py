"""A worker that is stopped while its server is away: nothing of it waits for that."""

from __future__ import annotations

import asyncio
import gc
import time

from toolhand import Agent
from toolhand.durable import Worker
from toolhand.sessions.postgres import PostgresStore
from toolhand.testing import ScriptedModel


async def test_a_worker_that_waits_for_its_server_ends_when_it_is_stopped(caplog):
    store = PostgresStore("postgresql://postgres:@/x?host=/no/server/here")  # tried for half a minute
    worker = Worker(Agent(ScriptedModel([]), store=store), store=store)
    working = asyncio.ensure_future(worker.run())
    await asyncio.sleep(0.1)
    begun = time.monotonic()
    worker.stop()
    await working
    assert time.monotonic() - begun < 20
    assert worker.health.beat == 0
    gc.collect()
    assert "never retrieved" not in caplog.text
