"""Submitting, waiting, following, deciding, cancelling: what a program sees of runs that workers make."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt

import pytest

from tests.sessions.test_store_contract import said
from tests.test_agent import asks, assert_valid
from toolhand import Agent, Limits, RunContext, tool
from toolhand.core.approvals import Approve, Deny
from toolhand.core.errors import ErrorCode, FatalError, ModelError, SessionError, SettingsError
from toolhand.core.events import CallFinished, CallStarted, RunFinished, RunStarted, TextDelta
from toolhand.core.messages import Message, ToolCall, user
from toolhand.durable import RunError, ledger_of
from toolhand.durable.tending import reap
from toolhand.sessions import StoredSession
from toolhand.testing import ScriptedModel


def turns(request) -> int:
    """How many replies there were since the user's last message."""
    last = max(place for place, message in enumerate(request.messages) if message.role == "user")
    return sum(message.role == "assistant" for message in request.messages[last:])


def answering(request):
    said = next(message.text for message in reversed(request.messages) if message.role == "user")
    return f"to {said}"


@tool
def look(at: str) -> str:
    """Looks."""
    return f"saw {at}"


def looking(request):
    return asks(("c", "look", '{"at": "it"}')) if turns(request) == 0 else "It is there."


async def test_a_worker_answers_and_the_run_is_as_a_direct_one(store, works):
    agent = Agent(ScriptedModel(looking), tools=[look], store=store)
    works(agent)
    submitted = await agent.submit("where?", session="s", user="ann")
    run = await submitted.wait(90)
    assert (run.output, run.stopped, run.session_id) == ("It is there.", "answered", "s")
    assert [message.role for message in run.new_messages] == ["user", "assistant", "tool", "assistant"]
    assert [call.name for call in run.calls] == ["look"]
    assert run.results[0].data == "saw it"
    assert_valid(tuple(run.messages))
    again = await agent.submitted(submitted.id).wait(1)  # from anywhere, and as often as one likes
    assert again.output == run.output
    direct = await agent.run("and now?", session="s", user="ann")  # the same session, without a worker
    assert len(direct.messages) == 8


async def test_rights_are_those_of_the_submitting_and_a_condition_asks_anew(store, works):
    holders = {"ann"}

    def holds(arguments, context):
        return context.user in holders or "this user may no longer pay"

    @tool(effect="writes", approval=True, permission="pay")
    async def pay() -> str:
        """Pays."""
        return "paid"

    @tool(effect="writes", approval=True, permission="pay", before=(holds,))
    async def transfer() -> str:
        """Pays, if whoever asks may still do so."""
        return "paid"

    def reply(request):
        return "done" if turns(request) else asks(("a", "pay", "{}"), ("b", "transfer", "{}"))

    agent = Agent(ScriptedModel(reply), tools=[pay, transfer], store=store)
    works(agent)
    submitted = await agent.submit("pay", user="ann", permissions=["pay"])
    pending = (await submitted.wait(90)).pending
    holders.clear()
    await submitted.decide({call.approval_id: Approve() for call in pending})
    assert [result.ok for result in (await submitted.wait(90)).results] == [True, False]


async def test_a_typed_output_and_what_a_run_is_given_reach_the_worker(store, works):
    @dataclasses.dataclass
    class Place:
        city: str
        people: int

    seen: list[RunContext] = []

    @tool
    async def whoami(context: RunContext) -> str:
        """Who asks."""
        seen.append(context)
        return context.user

    def reply(request):
        return '{"city": "上海", "people": 25}' if turns(request) else asks(("c", "whoami", "{}"))

    agent = Agent(ScriptedModel(reply), tools=[whoami], output=Place, store=store)
    works(agent)
    submitted = await agent.submit(
        "where?", user="ann", permissions=["a"], roles=["clerk"], facts={"shop": 7}, limits=Limits(turns=4)
    )
    assert (await submitted.wait(90)).output == Place("上海", 25)
    context = seen[0]
    assert (context.user, context.permissions, context.roles, context.facts["shop"]) == (
        "ann",
        {"a"},
        {"clerk"},
        7,
    )


async def test_runs_of_a_session_are_made_in_order_and_sessions_side_by_side(store, works):
    inside = most = 0

    @tool
    async def linger() -> str:
        """Takes its time."""
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.05)
        inside -= 1
        return "ok"

    def reply(request):
        return answering(request) if turns(request) else asks(("c", "linger", "{}"))

    agent = Agent(ScriptedModel(reply), tools=[linger], store=store)
    runs = [await agent.submit(f"m{number}", session=f"s{number % 3}") for number in range(12)]
    works(agent)
    assert [(await run.wait(90)).output for run in runs] == [f"to m{number}" for number in range(12)]
    assert most > 1
    for place in range(3):
        session = StoredSession(f"s{place}", store)
        await session.load()
        said = [message.text for message in session.messages if message.role == "user"]
        assert said == [f"m{number}" for number in range(place, 12, 3)]


async def test_a_run_is_followed_from_its_beginning_and_nothing_is_told_twice(store, works):
    agent = Agent(ScriptedModel(looking), tools=[look], store=store)
    submitted = await agent.submit("where?", streams=True)
    works(agent)
    for _ in range(2):  # while it is made, and when it has ended
        events = [event async for event in agent.submitted(submitted.id).events()]
        kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
        assert kinds == [RunStarted, CallStarted, CallFinished, RunFinished]
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It is there."
        assert events[-1].run.output == "It is there."


async def test_submitting_twice_under_one_name_is_once(store, works):
    agent = Agent(ScriptedModel(answering), store=store)
    works(agent)
    first = await agent.submit("a", session="s", run_id="order-7")
    await agent.submit("a", session="s", run_id="order-7")
    assert len((await first.wait(90)).messages) == 2


async def test_a_parked_run_is_gone_on_with_by_any_worker_once_a_person_has_decided(store, works):
    done = []

    @tool(effect="writes", approval=True)
    def pay(amount: int) -> str:
        """Pays."""
        done.append(amount)
        return "paid"

    def reply(request):
        return (
            f"ends: {request.messages[-1].results[0].ok}"
            if turns(request)
            else asks(("c", "pay", '{"amount": 5}'))
        )

    agent = Agent(ScriptedModel(reply), tools=[pay], store=store)
    worker = works(agent)
    first, second, behind = [
        await agent.submit("pay", session="s" if n != 1 else "t", user="ann") for n in range(3)
    ]
    run = await first.wait(90)
    assert run.stopped == "approval"
    assert (run.pending[0].name, run.pending[0].arguments) == ("pay", {"amount": 5})
    assert done == []
    pending = (await second.wait(90)).pending[0]
    assert worker.running == {}  # it costs a row and nothing else
    assert (await behind.look()).state == "behind"
    with pytest.raises(SettingsError, match="waits for a decision"):
        await first.decide({"no such call": Approve()})
    await first.decide({run.pending[0].approval_id: Approve()})
    await second.decide({pending.call_id: Deny("no")})
    assert (await behind.wait(90)).stopped == "approval"  # its turn has come
    assert (await first.wait(90)).output == "ends: True"
    assert (await second.wait(90)).output == "ends: False"
    assert done == [5]
    assert await behind.cancel()
    with pytest.raises(RunError, match="cancelled"):
        await behind.wait(5)


async def test_a_run_is_cancelled_in_the_midst_of_it_and_the_next_goes_on(store, works):
    started = asyncio.Event()

    @tool
    async def linger() -> str:
        """Takes its time."""
        started.set()
        await asyncio.sleep(60)
        return "late"

    def reply(request):
        text = next(m.text for m in reversed(request.messages) if m.role == "user")
        return asks(("c", "linger", "{}")) if text == "slow" else "quick"

    agent = Agent(ScriptedModel(reply), tools=[linger], store=store)
    works(agent)
    slow = await agent.submit("slow", session="s")
    quick = await agent.submit("quick", session="s")
    await asyncio.wait_for(started.wait(), 60)
    assert await slow.cancel()
    run = await quick.wait(90)
    assert run.output == "quick"
    assert_valid(tuple(run.messages))
    assert (await slow.look()).state == "cancelled"
    assert not await slow.cancel()


async def test_what_fails_for_good_says_why_and_can_be_retried(store, works):
    is_well = False

    def reply(request):
        if not is_well:
            raise ModelError("the model's key is wrong")
        return answering(request)

    agent = Agent(ScriptedModel(reply), store=store)
    works(agent)
    submitted = await agent.submit("a", session="s")
    with pytest.raises(RunError, match=r"key is wrong.*toolhand runs retry"):
        await submitted.wait(90)
    is_well = True
    await submitted.retry()
    assert (await submitted.wait(90)).output == "to a"
    with pytest.raises(SettingsError, match="finished"):
        await submitted.retry()


async def test_what_fails_in_passing_is_tried_again_by_itself(store, works):
    tries = []

    def reply(request):
        tries.append(1)
        if len(tries) == 1:
            raise ModelError("overloaded", retryable=True, retry_after=0.01)
        return answering(request)

    agent = Agent(ScriptedModel(reply), store=store)
    works(agent)
    submitted = await agent.submit("a")
    assert (await submitted.wait(90)).output == "to a"
    assert (await submitted.look()).attempts == 2


async def test_a_fatal_error_of_a_tool_fails_the_run_and_the_session_goes_on(store, works):
    @tool
    def burn() -> str:
        """Burns."""
        raise FatalError("out of fuel")

    def reply(request):
        text = next(m.text for m in reversed(request.messages) if m.role == "user")
        return asks(("c", "burn", "{}")) if text == "burn" else "fine"

    agent = Agent(ScriptedModel(reply), tools=[burn], store=store)
    works(agent)
    burnt, fine = await agent.submit("burn", session="s"), await agent.submit("x", session="s")
    assert (await fine.wait(90)).output == "fine"
    with pytest.raises(RunError, match="out of fuel"):
        await burnt.wait(1)


async def test_a_session_is_refused_to_others_when_it_is_submitted(store):
    agent = Agent(ScriptedModel(answering), store=store)
    await agent.submit("a", session="s", user="ann")
    with pytest.raises(SessionError, match="another user"):
        await agent.submit("b", session="s", user="bob")


async def test_what_cannot_be_written_down_is_refused(store):
    agent = Agent(ScriptedModel(answering), store=store)
    with pytest.raises(SettingsError, match="facts hold what JSON cannot"):
        await agent.submit("a", facts={"connection": object()})
    with pytest.raises(SettingsError, match="did you mean 'priority'"):
        await agent.submit("a", priorty=3)
    with pytest.raises(SettingsError, match="to a store in PostgreSQL"):
        await Agent(ScriptedModel(answering), store="memory").submit("a")
    with pytest.raises(TimeoutError, match="still queued"):
        await (await agent.submit("a")).wait(0.05)


async def test_the_higher_priority_goes_first_and_what_is_not_due_waits(store, works):
    order = []

    def reply(request):
        order.append(request.messages[-1].text)
        return "ok"

    agent = Agent(ScriptedModel(reply), store=store)
    later = await agent.submit("later", at=dt.datetime.now().astimezone() + dt.timedelta(hours=1))
    runs = [await agent.submit(name, priority=p) for name, p in (("low", 0), ("high", 5))]
    works(agent, concurrency=1)
    for run in runs:
        await run.wait(90)
    assert order == ["high", "low"]
    assert (await later.look()).state == "queued"


# what becomes of runs whose worker is gone


async def taken(agent, text, **options):
    """A run that a worker elsewhere has taken, and the claim."""
    submitted = await agent.submit(text, **options)
    claim = await ledger_of(agent.store).claim(submitted.id, holder="elsewhere|1|1|a", lease_seconds=0.05)
    assert claim is not None
    return submitted, claim


async def test_a_run_of_a_worker_that_is_gone_goes_on_elsewhere_and_the_late_one_can_say_nothing(
    store, works
):
    agent = Agent(ScriptedModel(answering), store=store)
    submitted, claim = await taken(agent, "a", session="s")
    await asyncio.sleep(0.1)
    works(agent)
    assert (await submitted.wait(90)).output == "to a"
    assert not await ledger_of(store).settle(claim, "failed", error="late")
    with pytest.raises(SessionError, match="taken over"):
        await store.append(claim.lease, [said(claim.lease.next_seq, "late")])
    assert (await submitted.look()).state == "finished"


@tool(name="book", effect="writes")
def book_for(people: int) -> str:
    """Books."""
    return f"booked for {people}"


@tool(name="book", effect="writes")
def book_together(day: str, people: int = 1) -> str:
    """Books."""
    return f"booked {day} for {people}"


@pytest.mark.parametrize(
    ("has_begun", "newer", "expected"),
    [
        (True, [look], ErrorCode.OUTCOME_UNKNOWN),
        (False, [look], ErrorCode.UNKNOWN_TOOL),
        (True, [book_together], ErrorCode.OUTCOME_UNKNOWN),
        (False, [book_for], ErrorCode.MISSING_ARGUMENT),
        (False, [book_together], "booked mon for 1"),
    ],
)
async def test_new_code_goes_on_with_what_old_code_began(store, works, has_begun, newer, expected):
    """The worker died around its call; in the code that goes on the tool is gone, or takes something else, or more."""

    @tool(effect="writes")
    def book(day: str) -> str:
        """Books."""
        raise AssertionError("it must not run twice")

    agent = Agent(
        ScriptedModel(lambda request: asks(("c", "book", '{"day": "mon"}'))), tools=[book], store=store
    )
    submitted, claim = await taken(agent, "book", session="s")
    session = StoredSession("s", store)
    session.grant, session.assured_until = claim.lease, 1e12
    async with session.held():
        session.append(user("book"))
        session.append(
            Message(role="assistant", parts=(ToolCall(id="c", name="book", arguments={"day": "mon"}),))
        )
        if has_begun:
            session.note_started("c", "book", is_repeatable=False)
    await asyncio.sleep(0.1)

    def reply(request):
        result = request.messages[-1].results[0]
        return str(result.error.code if result.error else result.data)

    works(Agent(ScriptedModel(reply), tools=newer, store=store))
    assert (await submitted.wait(90)).output == expected
    assert (await submitted.look()).attempts == 2


async def test_a_run_that_ended_as_its_worker_died_is_not_made_again(store, works):
    agent = Agent(ScriptedModel(answering), store=store)
    submitted, claim = await taken(agent, "a", session="s")
    session = StoredSession("s", store)
    session.grant, session.assured_until = claim.lease, 1e12
    await agent.run("a", session=session)
    await asyncio.sleep(0.1)
    works(Agent(ScriptedModel([]), store=store))
    run = await submitted.wait(90)
    assert (run.output, len(run.messages)) == ("to a", 2)


async def test_a_session_that_went_on_without_its_run_is_left_alone(store, works):
    agent = Agent(ScriptedModel(answering), store=store)
    submitted, claim = await taken(agent, "a", session="s")
    session = StoredSession("s", store)
    session.grant, session.assured_until = claim.lease, 1e12
    async with session.held():
        session.append(user("a"))
    await asyncio.sleep(0.1)
    await agent.run("b", session="s")
    works(agent)
    with pytest.raises(RunError, match="went on without it"):
        await submitted.wait(90)
    await submitted.retry()  # a person may want it all the same: it begins anew
    assert (await submitted.wait(90)).output == "to a"


async def test_what_every_worker_dies_of_is_given_up_and_the_next_run_goes_on(store, works):
    agent = Agent(ScriptedModel(answering), store=store)
    submitted = await agent.submit("deadly", session="s")
    behind = await agent.submit("fine", session="s")
    ledger = ledger_of(store)
    for attempt in range(3):
        assert await ledger.claim(submitted.id, holder=f"elsewhere|{attempt}|1|a", lease_seconds=0.02)
        await asyncio.sleep(0.05)
        found = await reap(ledger, most_attempts=3)
        assert (found.lost, found.given_up) == ((0, 1) if attempt == 2 else (1, 0))
    works(agent)
    assert (await behind.wait(90)).output == "to fine"
    with pytest.raises(RunError, match="3 workers in a row"):
        await submitted.wait(5)


async def test_a_stopped_worker_hands_over_what_is_left_and_waits_for_the_rest(store, works):
    started = asyncio.Event()

    @tool
    async def linger() -> str:
        """Takes its time."""
        if not started.is_set():
            started.set()
            await asyncio.sleep(60)
        return "ok"

    def reply(request):
        return answering(request) if turns(request) else asks(("c", "linger", "{}"))

    agent = Agent(ScriptedModel(reply), tools=[linger], store=store)
    first = works(agent, grace_seconds=0.1)
    submitted = await agent.submit("a", session="s")
    await asyncio.wait_for(started.wait(), 60)
    first.stop()
    works(agent)
    assert (await submitted.wait(90)).output == "to a"
    assert (await submitted.look()).attempts == 1  # being handed over counts against nobody


async def test_a_direct_run_that_has_the_session_is_waited_for(store, works):
    agent = Agent(ScriptedModel(answering), store=store)
    lease = await store.claim("s", owner="", holder="elsewhere|1|1|a")
    works(agent)
    submitted = await agent.submit("a", session="s")
    await asyncio.sleep(0.3)
    assert (await submitted.look()).state == "queued"
    await store.release(lease)
    assert (await submitted.wait(90)).output == "to a"


async def test_a_session_of_long_standing_does_not_slow_the_claim_of_others(store, works):
    """Only the run whose turn it is has a job, however many stand behind it."""
    agent = Agent(ScriptedModel(answering), store=store)
    for number in range(30):
        await agent.submit(f"m{number}", session="busy")
    jobs = await ledger_of(store).look("SELECT count(*) FROM procrastinate_jobs", ())
    assert jobs[0][0] == 1


async def test_a_worker_that_slept_past_its_lease_ends_its_own_run_before_it_takes_it_again(store, works):
    started, tries = asyncio.Event(), []

    @tool
    async def linger() -> str:
        """Takes its time, the first time."""
        tries.append(1)
        started.set()
        if len(tries) == 1:
            await asyncio.sleep(60)
        return "ok"

    def reply(request):
        return answering(request) if turns(request) else asks(("c", "linger", "{}"))

    agent = Agent(ScriptedModel(reply), tools=[linger], store=store)
    worker = works(agent, lease_seconds=40.0)  # it keeps nothing up while this test runs
    submitted = await agent.submit("a", session="s")
    await asyncio.wait_for(started.wait(), 60)
    ledger = ledger_of(store)
    await ledger.look("UPDATE session SET lease_until = 0 WHERE id = 's' RETURNING 1", ())
    assert (await reap(ledger, most_attempts=5)).lost == 1
    run = await submitted.wait(90)
    assert (run.output, len(tries), (await submitted.look()).attempts) == ("to a", 2, 2)
    assert_valid(tuple(run.messages))
    assert worker.health.lost == 1


async def test_a_job_that_somebody_puts_in_at_the_same_moment_is_no_error(store):
    """As when a worker is given a dead one's job back while the run's own is put in."""
    asyncpg = pytest.importorskip("asyncpg")
    agent = Agent(ScriptedModel(answering), store=store)
    other = await asyncpg.connect(store.url, server_settings={"search_path": "toolhand"})
    try:
        transaction = other.transaction()
        await transaction.start()
        await other.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, queueing_lock) VALUES ('default', 'x', 'r')"
        )
        submitting = asyncio.ensure_future(agent.submit("a", run_id="r"))
        await asyncio.sleep(0.3)
        assert not submitting.done()  # it waits for the other's row
        await transaction.commit()
        assert (await (await submitting).look()).state == "queued"
    finally:
        await other.close()
