"""A real PostgreSQL, workers in this process, and agents whose model is a script."""

from __future__ import annotations

import asyncio
import contextlib
from importlib.util import find_spec

import pytest

from tests.sessions.conftest import postgres  # noqa: F401 - a fixture

for needed in ("procrastinate",):
    if find_spec(needed) is None:
        pytest.skip(
            f"MANY MACHINES ARE NOT TESTED: {needed} is not installed; make setup installs the dev extra",
            allow_module_level=True,
        )


TABLES = "run, worker, session, entry, waiter, audit, procrastinate_jobs, procrastinate_workers"


@pytest.fixture(scope="session")
def durable_url(postgres):  # noqa: F811
    """One database for all these tests: to make the tables anew takes longer than most of them."""
    return postgres.database()


@pytest.fixture
async def store(durable_url):
    from toolhand.durable import ledger_of  # noqa: PLC0415 - where the drivers are installed
    from toolhand.sessions.postgres import PostgresStore  # noqa: PLC0415

    made = PostgresStore(durable_url, lease_seconds=4.0)
    ledger = ledger_of(made)
    await ledger.ready()
    yield made

    async def empty(connection):
        await connection.execute(f"TRUNCATE {TABLES} CASCADE")

    await made.connected(empty)
    await made.close()


@pytest.fixture
async def works():
    """Starts workers in this process and stops them after the test."""
    from toolhand.durable import Worker  # noqa: PLC0415

    async with contextlib.AsyncExitStack() as stack:

        def start(agents, **options):
            worker = Worker(agents, **{"lease_seconds": 4.0, "grace_seconds": 5.0, **options})
            task = asyncio.ensure_future(worker.run())

            async def end():
                worker.stop()
                await task

            stack.push_async_callback(end)
            return worker

        yield start
