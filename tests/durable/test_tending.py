"""Two persons who decide at once, what is decided or cancelled as a run changes hands, and runs whose session is removed."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.test_agent import asks
from toolhand import Agent, tool
from toolhand.core.approvals import Approve, Deny
from toolhand.core.errors import SettingsError
from toolhand.durable import RunError, ledger_of
from toolhand.sessions.archive import Archive
from toolhand.testing import ScriptedModel


@pytest.fixture
def paid():
    return []


@pytest.fixture
def cashier(store, paid):
    @tool(effect="writes", approval=True)
    def pay(amount: int) -> str:
        """Pays."""
        paid.append(amount)
        return "paid"

    def reply(request):
        return "done" if request.messages[-1].role == "tool" else asks(("c", "pay", '{"amount": 5}'))

    return Agent(ScriptedModel(reply), tools=[pay], store=store)


async def parked(run):
    return (await run.wait(90)).pending[0].approval_id


async def test_of_two_who_decide_at_once_one_is_told_that_the_other_was_quicker(cashier, works, paid):
    works(cashier)
    run = await cashier.submit("pay", session="s")
    call = await parked(run)
    told = await asyncio.gather(
        run.decide({call: Approve(by="ann")}), run.decide({call: Deny(by="bob")}), return_exceptions=True
    )
    assert [type(one) for one in told].count(SettingsError) == 1
    assert "somebody may have decided already" in str(next(one for one in told if one))
    await run.wait(90)
    assert paid == ([5] if told[0] is None else [])


async def test_the_same_decision_once_more_is_no_mistake_while_nobody_has_acted_on_it(cashier, store):
    ledger = ledger_of(store)
    run = await cashier.submit("pay", session="s")
    claim = await ledger.claim(run.id, holder="w", lease_seconds=60)
    pending = {"call_id": "c", "name": "pay", "arguments": {}, "approval_id": "a1"}
    await ledger.settle(claim, "waiting", outcome={"pending": [pending]})
    for _ in range(2):  # as when the answer to the first was lost on its way
        await run.decide({"a1": Approve()})
    with pytest.raises(SettingsError, match="waits for no decision"):
        await run.decide({"a1": Deny()})


async def test_what_was_decided_outlives_a_worker_that_cannot_go_on_with_it(cashier, store, works, paid):
    worker = works(cashier)
    run = await cashier.submit("pay", session="s")
    call = await parked(run)
    worker.stop()
    await run.decide({call: Approve()})
    ledger = ledger_of(store)
    claim = await ledger.claim(run.id, holder="w", lease_seconds=60)
    if claim is not None:  # else the worker was quicker
        await ledger.settle(claim, "queued", delay=0.1)  # as one does that stops, or does not have the agent
    works(cashier)
    assert (await run.wait(90)).output == "done"
    assert paid == [5]


@pytest.mark.parametrize("state", ["queued", "waiting"])
async def test_what_is_to_end_ends_also_where_its_worker_leaves_it_at_that_moment(cashier, store, state):
    ledger = ledger_of(store)
    run, behind = [await cashier.submit("pay", session="s") for _ in range(2)]
    claim = await ledger.claim(run.id, holder="w", lease_seconds=60)
    assert await run.cancel()  # the worker has not heard of it yet
    assert await ledger.settle(claim, state)
    assert (await run.look()).state == "cancelled"
    assert (await behind.look()).state == "queued"


async def test_runs_end_with_their_session_and_its_name_is_free_again(cashier, store, works):
    works(cashier)
    first, behind = [await cashier.submit("pay", session="s") for _ in range(2)]
    await parked(first)
    await Archive(store).remove("s")
    for run in (first, behind):
        with pytest.raises(RunError, match="its session was removed"):
            await run.wait(5)
        with pytest.raises(SettingsError, match="submit it anew"):
            await run.retry()
        assert not await run.cancel()
    assert await parked(await cashier.submit("pay", session="s"))


async def test_an_error_that_cannot_be_written_as_it_is_fails_the_run_once(store, works, monkeypatch):
    # What is logged of it would stand in the test's report, which cannot be written either.
    monkeypatch.setattr(logging.getLogger("toolhand"), "propagate", False)
    asked = []

    def reply(request):
        asked.append(request)
        raise RuntimeError("half a character \ud800 and a \0")

    agent = Agent(ScriptedModel(reply), store=store)
    works(agent)
    with pytest.raises(RunError, match="half a character \ufffd and a "):
        await (await agent.submit("x", session="s")).wait(90)
    assert len(asked) == 1
