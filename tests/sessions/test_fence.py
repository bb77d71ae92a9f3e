"""What keeps a run that slept from doing anything behind the back of the one that went on; and appends that go out together."""

from __future__ import annotations

import asyncio

import pytest

from tests.test_agent import asks
from toolhand import Agent, tool
from toolhand.core.errors import SessionError
from toolhand.sessions import Entry, Lease, StoredSession, moments
from toolhand.sessions.holder import new_holder
from toolhand.testing import ScriptedModel

from .test_store_contract import claimed, said


async def test_a_run_that_slept_while_another_took_over_learns_it_before_its_tool_runs(store):
    """The entry `started` is kept, then the process sleeps: its own clock tells it to ask before it does anything."""
    session, done = StoredSession("s", store), []
    store.lease_seconds = 60.0

    @tool(effect="writes")
    async def book() -> str:
        """Books."""
        done.append("booked")
        return "ok"

    kept = store.append

    async def then_sleep(lease: Lease, entries: list[Entry], rows=()):
        await kept(lease, entries, rows)
        if any(entry.kind == "started" for entry in entries):
            session.assured_until = 0.0
            assert await store.renew(lease)
            await store.release(lease)
            await claimed(store, holder="elsewhere|1|1|a")

    store.append = then_sleep
    agent = Agent(ScriptedModel([asks(("c", "book", "{}")), "booked"]), tools=[book], store=store)
    with pytest.raises(SessionError, match="taken over"):
        await agent.run("book", session=session)
    assert done == []


async def test_a_lease_that_ran_out_on_its_own_clock_is_renewed_where_nobody_came(store):
    session, runs = StoredSession("s", store), []

    @tool
    async def look(at: int) -> str:
        """Looks."""
        runs.append(session.assured_until)
        session.assured_until = 0.0
        return "seen"

    agent = Agent(
        ScriptedModel([asks(("c", "look", '{"at": 1}')), asks(("d", "look", '{"at": 2}')), "done"]),
        tools=[look],
        store=store,
    )
    assert (await agent.run("look twice", session=session)).output == "done"
    assert len(runs) == 2
    assert min(runs) > moments.moment()


async def test_what_comes_at_once_is_kept_each_under_its_own_lease(store):
    """A lease that is out of date, or a row that somebody has locked, is no other session's trouble."""
    names = [f"s{number}" for number in range(40)]
    leases = {name: await claimed(store, name) for name in names}
    await store.release(leases["s7"])
    taken = await claimed(store, "s7", holder=new_holder())
    ends = await asyncio.gather(
        *(store.append(leases[name], [said(1, name), said(2, f"{name}!")]) for name in names),
        return_exceptions=True,
    )
    for name, end in zip(names, ends, strict=True):
        assert isinstance(end, SessionError) if name == "s7" else end is None
        assert [e.body for e in await store.read(name)] == (
            [] if name == "s7" else [said(1, name).body, said(2, f"{name}!").body]
        )
    await store.append(taken, [said(1, "mine")])


async def test_a_locked_session_holds_up_no_other(url):
    asyncpg = pytest.importorskip("asyncpg")
    from toolhand.sessions.postgres import PostgresStore  # noqa: PLC0415 - where its driver is installed

    store = PostgresStore(url)
    stuck, *others = [await claimed(store, f"s{number}") for number in range(8)]
    locker = await asyncpg.connect(url)
    try:
        transaction = locker.transaction()
        await transaction.start()
        await locker.execute("SELECT 1 FROM toolhand.session WHERE id = 's0' FOR UPDATE")
        waits = asyncio.ensure_future(store.append(stuck, [said(1, "waits")]))
        for seq in (1, 2, 3):
            await asyncio.gather(*(store.append(lease, [said(seq, "goes on")]) for lease in others))
        assert not waits.done()
        await transaction.rollback()
        await waits
    finally:
        await locker.close()
        await store.close()
