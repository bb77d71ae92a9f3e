"""Runs that were interrupted, gone on with by another agent over the same store: as after a crash, without one."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.test_agent import asks, assert_valid
from toolhand import Agent, Injected, tool
from toolhand.auditing import AuditTrail
from toolhand.core.approvals import Approve, Deny, approval_id
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SessionError, SettingsError
from toolhand.core.events import ApprovalNeeded
from toolhand.core.messages import Message, Text, ToolCall, ToolResult, Value, user
from toolhand.policies.conditions import requires
from toolhand.sessions import StoredSession
from toolhand.testing import ScriptedModel

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran():
    ran.clear()


@tool
def look(what: str) -> str:
    """Looks."""
    ran.append(f"look {what}")
    return f"seen {what}"


@tool(effect="writes")
def pay(amount: int) -> str:
    """Pays."""
    ran.append(f"pay {amount}")
    return f"paid {amount}"


@tool(effect="writes", idempotent=True)
def put(value: int) -> str:
    """Puts."""
    ran.append(f"put {value}")
    return f"put {value}"


@tool(effect="destroys", approval=True)
def drop(table: str) -> str:
    """Drops."""
    ran.append(f"drop {table}")
    return f"{table} is gone"


TOOLS = [look, pay, put, drop]


def call(id_: str, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=id_, name=name, arguments=arguments)


async def crashed(store, *calls: ToolCall, started=(), ended=(), decided=None) -> None:
    """A history as a process leaves it that dies after the model's reply."""
    session = StoredSession("s", store, user="ann")
    async with session.held():
        session.append(user("付钱"))
        session.append(Message(role="assistant", parts=(Text("好"), *calls)))
        if decided:
            session.note_decided(decided)
        by_name = {made.name: made for made in TOOLS}
        for made in calls:
            if made.id in started or made.id in ended:
                session.note_started(made.id, made.name, is_repeatable=by_name[made.name].repeatable)
            if made.id in ended:
                session.note_ended(
                    ToolResult(call_id=made.id, name=made.name, outcome=Value("from the ledger"))
                )


def agent(store, *replies: object) -> Agent:
    return Agent(ScriptedModel(list(replies) or ["done"]), tools=TOOLS, store=store)


async def test_a_run_that_died_before_the_model_replied_goes_on(store):
    session = StoredSession("s", store, user="ann")
    async with session.held():
        session.append(user("在吗？"))
    run = await agent(store, "在").resume("s", user="ann")
    assert (run.output, run.stopped) == ("在", "answered")
    assert [message.role for message in run.messages] == ["user", "assistant"]
    with pytest.raises(SettingsError, match="nothing to resume"):
        await agent(store).resume("s", user="ann")


async def test_each_call_is_settled_by_what_the_ledger_says_of_it(store):
    calls = [
        call("c1", "look", what="a"),
        call("c2", "pay", amount=1),
        call("c3", "pay", amount=2),
        call("c4", "pay", amount=3),
        call("c5", "put", value=4),
        call("c6", "look", what="b"),
    ]
    await crashed(store, *calls, started=("c1", "c3", "c5"), ended=("c2",))
    made = agent(store)
    run = await made.resume("s", user="ann")
    assert sorted(ran) == ["look a", "look b", "pay 3", "put 4"]
    results = run.messages[2].results
    assert [result.call_id for result in results] == ["c1", "c2", "c3", "c4", "c5", "c6"]
    assert results[1].data == "from the ledger"
    assert results[2].error.code is ErrorCode.OUTCOME_UNKNOWN
    assert "pay" in results[2].error.message
    assert "核实" in results[2].error.message  # in the language of the user's message
    assert [result.ok for result in results] == [True, True, False, True, True, True]
    assert run.output == "done"
    assert_valid(run.messages)
    again = agent(store).session("s", user="ann")
    assert again.messages == run.messages


async def test_a_new_message_settles_what_is_open_and_starts_nothing_that_changes_something(store):
    calls = [
        call("c1", "look", what="a"),
        call("c2", "pay", amount=1),
        call("c3", "pay", amount=2),
        call("c4", "drop", table="x"),
        call("c5", "pay", amount=5),
    ]
    await crashed(store, *calls, started=("c1", "c3"), ended=("c5",))
    run = await agent(store, "ok").run("别付了", session="s", user="ann")
    assert ran == ["look a"]
    results = run.messages[2].results
    codes = [result.error.code if result.error else "" for result in results]
    assert codes == ["", "cancelled", "outcome_unknown", "cancelled", ""]
    assert run.messages[3].text == "别付了"
    assert run.calls == ()
    assert_valid(run.messages)


@pytest.mark.parametrize("started", [(), ("c1",)])
async def test_a_new_message_finishes_a_harmless_change_only_if_it_had_begun(store, started):
    await crashed(store, call("c1", "put", value=30), started=started)
    run = await agent(store, "ok").run("还是别改了", session="s", user="ann")
    assert ran == ["put 30"] * len(started)
    error = run.messages[2].results[0].error
    assert (error and error.code) == (None if started else ErrorCode.CANCELLED)


async def test_an_answer_that_came_beside_other_calls_is_no_unknown_tool(store):
    beside = [call("c1", "look", what="a"), call("c2", "final_answer", value=3)]
    await crashed(store, *beside, ended=("c1",))
    model = ScriptedModel([asks(("c3", "final_answer", '{"value": 4}'))])
    run = await Agent(model, tools=TOOLS, store=store, output=int).resume("s", user="ann")
    assert run.output == 4
    results = {result.call_id: result for message in run.messages for result in message.results}
    assert (results["c1"].data, results["c2"].error.code) == ("from the ledger", ErrorCode.NOT_ALLOWED)


async def test_a_call_that_needs_a_person_is_asked_about_again_when_it_may_have_run(store):
    made = call("c1", "drop", table="orders")
    first = approval_id(made, RunContext(user="ann", session_id="s"))
    await crashed(store, made, started=("c1",), decided={first: Approve()})
    events: list[object] = []
    run = await agent(store).resume("s", {first: Approve()}, user="ann", on_event=events.append)
    assert (run.stopped, ran) == ("approval", [])  # the same answer as before counts for the first try only
    pending = run.pending[0]
    assert pending.may_have_run
    assert pending.approval_id != first
    assert [event.pending for event in events if isinstance(event, ApprovalNeeded)] == [pending]
    assert (await agent(store).resume("s", {"c1": Approve()}, user="ann")).stopped == "approval"
    run = await agent(store).resume("s", {pending.approval_id: Approve()}, user="ann")
    assert (run.stopped, ran) == ("answered", ["drop orders"])
    assert_valid(run.messages)


async def test_a_person_may_leave_it_at_that(store):
    await crashed(store, call("c1", "drop", table="orders"), started=("c1",))
    run = await agent(store).resume("s", user="ann")
    run = await agent(store).resume("s", {run.pending[0].approval_id: Deny("look first")}, user="ann")
    error = run.results[0].error
    assert error.code is ErrorCode.OUTCOME_UNKNOWN
    assert "look first" in error.hint
    assert ran == []


async def test_approvals_wait_in_the_store_for_another_process(store):
    first = agent(store, asks(("c1", "look", '{"what": "a"}'), ("c2", "drop", '{"table": "t"}')))
    run = await first.run("drop t", session="s", user="ann")
    assert run.stopped == "approval"
    told = json.loads(json.dumps(run.pending[0].to_json()))
    again = await agent(store).resume("s", user="ann")
    assert (again.stopped, again.pending[0].approval_id) == ("approval", told["approval_id"])
    run = await agent(store).resume("s", {told["approval_id"]: Approve()}, user="ann")
    assert (run.stopped, ran) == ("answered", ["look a", "drop t"])
    assert [[r.call_id for r in message.results] for message in run.messages[2:4]] == [["c1"], ["c2"]]


async def test_what_was_decided_before_the_crash_counts_after_it(store):
    made = call("c1", "drop", table="orders")
    name = approval_id(made, RunContext(user="ann", session_id="s"))
    await crashed(store, made, decided={name: Approve()})
    assert (await agent(store).resume("s", user="ann")).stopped == "answered"
    assert ran == ["drop orders"]


async def test_an_effect_that_was_had_is_not_had_again_by_a_model_that_repeats_itself(store):
    await crashed(store, call("c1", "pay", amount=1), ended=("c1",))
    run = await agent(store, asks(("c2", "pay", '{"amount": 1}')), "done").resume("s", user="ann")
    assert ran == []
    assert run.results[-1].error.code is ErrorCode.REPEATED_CALL


async def test_an_idempotency_key_is_the_same_after_a_crash(store):
    keys: list[str] = []

    @tool(effect="writes")
    def order(item: str, key: str = Injected("idempotency_key")) -> str:
        """Orders."""
        keys.append(key)
        if len(keys) == 1:
            raise KeyboardInterrupt
        return "ordered"

    session = StoredSession("s", store, user="ann")
    async with session.held():
        session.append(user("order"))
        session.append(Message(role="assistant", parts=(call("c1", "order", item="x"),)))
    for _ in range(2):
        made = Agent(ScriptedModel(["done"]), tools=[order], store=store)
        async with session.held():
            pass
        if not session.is_under_way:
            break
        await made.resume("s", user="ann")
    other = Agent(ScriptedModel([asks(("c9", "order", '{"item": "x"}')), "done"]), tools=[order], store=store)
    await other.run("again", session="s", user="ann")
    assert len(keys) == 2
    assert keys[0] == keys[1]


async def test_a_fallback_that_was_under_way_is_not_run_a_second_time(store):
    under_way = asyncio.Event()

    @tool(effect="writes")
    async def pay_by_card(amount: int) -> str:
        """Pays by card."""
        ran.append(f"card {amount}")
        under_way.set()
        await asyncio.Event().wait()
        return "never"

    @tool(effect="writes", idempotent=True, fallback=pay_by_card)
    def transfer(amount: int) -> str:
        """Transfers."""
        raise ConnectionRefusedError

    model = ScriptedModel([asks(("c1", "transfer", '{"amount": 1}'))])
    run = asyncio.ensure_future(Agent(model, tools=[transfer], store=store).run("pay", session="s"))
    await under_way.wait()
    entries = [(e.kind, e.call_id, json.loads(e.body)) for e in await store.read("s") if e.kind == "started"]
    assert entries[-1] == ("started", "c1", {"tool": "pay_by_card", "repeatable": False})
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    (result,) = [r for m in Agent(model, store=store).session("s").messages for r in m.results]
    assert result.error.code is ErrorCode.OUTCOME_UNKNOWN
    assert ran == ["card 1"]


async def test_a_fallback_runs_once_a_person_has_agreed_to_it(store):
    @tool(effect="writes", approval=True)
    def pay_by_card(amount: int) -> str:
        """Pays by card."""
        ran.append(f"card {amount}")
        return "paid"

    @tool(effect="writes", fallback=pay_by_card)
    def transfer(amount: int) -> str:
        """Transfers."""
        raise ConnectionRefusedError

    def made(*replies: object) -> Agent:
        return Agent(ScriptedModel(list(replies)), tools=[transfer], store=store)

    for session in ("s", "t"):
        run = await made(asks(("c1", "transfer", '{"amount": 1}'))).run("pay", session=session)
        assert (run.stopped, ran) == ("approval", [])
    other = await made("ok").run("no", session="t")
    assert [r.error.code for m in other.messages for r in m.results] == [ErrorCode.CANCELLED]
    run = await made(asks(("c1", "transfer", '{"amount": 1}'))).run("pay", session="s2")
    run = await made("paid").resume("s2", {run.pending[0].approval_id: Approve()})
    assert (run.results[0].data, ran) == ("paid", ["card 1"])


async def test_what_was_known_here_does_not_count_when_another_has_gone_on(store):
    @tool(effect="writes", before=(requires("look"),))
    def book(seat: str) -> str:
        """Books."""
        return f"{seat} is yours"

    def made(*replies: object) -> Agent:
        return Agent(ScriptedModel(list(replies)), tools=[look, pay, drop, book], store=store)

    both = asks(("c0", "pay", '{"amount": 1}'), ("c1", "drop", '{"table": "a"}'))
    here = made(both, asks(("c4", "book", '{"seat": "7A"}')), "done")
    there = made(asks(("c2", "look", '{"what": "seats"}'), ("c3", "drop", '{"table": "b"}')))
    run = await here.run("go", session="s")
    run = await there.resume("s", {run.pending[0].approval_id: Approve()})
    run = await here.resume("s", {run.pending[0].approval_id: Approve()})
    assert ran == ["pay 1", "drop a", "look seats", "drop b"]
    assert run.results[-1].data == "7A is yours"


async def test_a_call_that_was_required_and_made_is_not_asked_for_again(store):
    await crashed(store, call("c1", "pay", amount=1), ended=("c1",))
    made = Agent(ScriptedModel(["paid", "again"]), tools=TOOLS, store=store, tool_choice="required")
    async with (held := StoredSession("s", store, user="ann")).held():
        results = tuple(state.result for state in held.ledger.calls.values())
        held.append(Message(role="tool", parts=results))
    run = await made.resume("s", user="ann")
    assert run.text == "paid"
    assert [request.tool_choice.mode for request in made.model.requests] == ["auto"]


async def test_a_session_that_there_is_not_cannot_be_resumed(store):
    with pytest.raises(SessionError, match="no session 'nothing'"):
        await agent(store).resume("nothing")
    assert await store.find("nothing") is None


async def test_another_users_session_cannot_be_resumed(store):
    await crashed(store, call("c1", "pay", amount=1))
    for other in ("bob", ""):
        with pytest.raises(SessionError, match="another user"):
            await agent(store).resume("s", user=other)
    with pytest.raises(SessionError, match="another user"):
        agent(store).session("s", user="bob")
    assert agent(store).session("s").user == "ann"
    assert ran == []


async def test_the_audit_says_what_became_of_a_call_that_was_overtaken(store):
    made = [call("c1", "drop", table="orders"), call("c2", "pay", amount=1)]
    first = approval_id(made[0], RunContext(user="ann", session_id="s"))
    await crashed(store, *made, started=("c1",), decided={first: Approve(by="carol")})
    await agent(store, "Well.").run("Something else.", session="s", user="ann")
    records = {record.call_id: record for record in await AuditTrail(store).search(session_id="s")}
    begun, waiting = records["c1"], records["c2"]
    assert (begun.decision, begun.decided_by, begun.outcome) == ("approved", "carol", "outcome_unknown")
    assert (waiting.decision, waiting.attempts, waiting.outcome) == ("overtaken", 0, "cancelled")
    assert ran == []
