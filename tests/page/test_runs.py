"""A session's log as runs, turns and calls with their times, and the timeline that is made of them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.page.sample import SECRET, agent, asked_to_order, compared
from toolhand import Agent, tool
from toolhand.auditing import AuditTrail
from toolhand.core.errors import ModelError, ModelFault, SessionError
from toolhand.core.events import ModelRetried
from toolhand.core.messages import Message, ModelOutput, ToolCall, Usage, user
from toolhand.models.announcing import announce
from toolhand.page.deciding import unmasked
from toolhand.page.frame import Around
from toolhand.page.looking import Looking
from toolhand.page.runs import run_of
from toolhand.page.timeline import WIDTH, Scale, timeline
from toolhand.sessions import Archive, StoredSession
from toolhand.sessions.memory import MemoryStore
from toolhand.testing import ScriptedModel


async def seen(store, session="alice-1"):
    return (await Looking(store).session(session)).runs


async def test_a_run_says_when_what_was_at_work():
    store = MemoryStore()
    await compared(store)
    (run,) = await seen(store)
    first, second, last = run.turns
    assert [call.name for call in first.calls] == ["stock", "price", "reviews"]
    assert run.began <= first.began <= first.ended <= min(call.began for call in first.calls) + 0.01
    assert max(call.began for call in first.calls) < min(call.ended for call in first.calls)  # in parallel
    stock, price, reviews = first.calls
    assert 0.1 < stock.ended - stock.reached < 5
    assert price.record.attempts == 2
    assert [one["why"] for one in price.tried] == ["network"]
    assert [fix["kind"] for fix in price.fixes] == ["single_quotes", "trailing_comma", "string_to_number"]
    assert price.arguments == {"item": "oak table", "amount": 2}
    assert reviews.result.untrusted
    assert SECRET not in str(reviews.result.data)
    assert second.calls[0].error.code == "unknown_tool"
    assert (first.model, first.protocol, tuple(first.used)) == ("scripted", "native", (412, 37, 128))
    assert run.tokens == (3 * 412, 3 * 37)
    assert run.answer == last.text
    assert run.state == "finished"


async def test_a_log_without_notes_of_turns_is_shown_all_the_same():
    store = MemoryStore()
    await compared(store)
    entries = await store.read("alice-1")
    old = []
    for entry in entries:
        body = json.loads(entry.body)
        body.pop("t", None)
        old.append(replace(entry, body=json.dumps(body, separators=(",", ":"))))
    run = run_of(old)
    assert [turn.model for turn in run.turns] == ["", "", ""]
    (results,) = [entry for entry in entries if entry.body.startswith('{"role":"tool"')][:1]
    assert run.turns[1].began == results.at
    assert [call.name for call in run.calls] == ["stock", "price", "reviews", "delivery_date"]
    assert run.tokens == (0, 0)


async def test_a_call_that_waits_is_pending_until_it_is_decided():
    store = MemoryStore()
    await asked_to_order(store)
    (run,) = await seen(store, "bob-7")
    (call,) = run.calls
    assert run.state == "waiting"
    assert call.pending.name == "place_order"
    assert call.arguments["card"] == "[masked]"  # it is declared to be sensitive
    assert (await Archive(store).waiting("bob-7"))[0].approval_id == call.pending.approval_id
    await agent(store, "Then not.").run("Rather not", session="bob-7", user="bob")
    first, _ = await seen(store, "bob-7")
    assert first.calls[0].pending is None
    assert first.calls[0].error.code == "cancelled"
    assert await Looking(store).waiting() == []


async def test_a_call_whose_process_ended_in_its_midst_says_so():
    store = MemoryStore()
    session = StoredSession("s", store)
    async with session.held():  # what a process leaves that dies in the midst of two calls
        session.append(user("double it and keep it"))
        arguments = {"number": 2}
        names = ("twice", "note")
        calls = tuple(ToolCall(id=name, name=name, arguments=arguments) for name in names)
        session.append(Message(role="assistant", parts=calls))
        session.note_started("twice", "twice", is_repeatable=True)
        session.note_started("note", "note", is_repeatable=False)
    await Agent(ScriptedModel(["4"]), tools=[twice, note], store=store).resume("s")
    entries = await store.read("s")
    ended = min(place for place, entry in enumerate(entries) if entry.kind == "ended")
    records = await AuditTrail(store).search(session_id="s")
    at_once = run_of(entries, records)
    # the lease took five seconds to run out
    before = [replace(entry, at=entry.at - 5) for entry in entries[:ended]]
    run = run_of([*before, *entries[ended:]], records)
    shown = str(timeline(run, Around(language="en"), run.ended))
    assert [call.was_lost for call in at_once.calls] == [False, False]
    assert shown.count("its process ended in the midst of it; started again") == 1  # what reads ran again
    assert shown.count("its process ended in the midst of it") == 2


@tool(effect="writes")
def note(number: int) -> str:
    """Writes a number down.

    Args:
        number: the number.
    """
    return f"noted {number}"


@tool
def twice(number: int) -> int:
    """Doubles a number.

    Args:
        number: the number.
    """
    return 2 * number


@tool(effect="writes", approval=True)
def keep(number: int) -> str:
    """Keeps a number.

    Args:
        number: the number.
    """
    return f"kept {number}"


async def test_the_steps_of_a_plan_stand_behind_its_call():
    store = MemoryStore()
    one = Agent(
        ScriptedModel(["twice(number=2) -> a\nkeep(number=$a)"]),
        tools=[twice, keep],
        protocol="plan",
        store=store,
    )
    await one.run("Double two and keep it", session="s")
    (run,) = await seen(store, "s")
    carrier, step, waits = run.calls
    assert (step.name, step.carrier, step.result.data) == ("twice", carrier.id, 4)
    assert (waits.name, waits.carrier, dict(waits.arguments)) == ("keep", carrier.id, {"number": 4})
    (found,) = await Looking(store).waiting()
    assert found.call.name == "keep"


async def test_what_happened_on_the_way_to_a_reply_is_kept():
    class Busy(ScriptedModel):
        async def complete(self, request):
            error = ModelError("busy", fault=ModelFault.OVERLOADED, retryable=True)
            announce(ModelRetried(model=self.name, error=error, attempt=1, wait_seconds=0.25))
            return await super().complete(request)

    store = MemoryStore()
    usage = Usage(requests=1, input_tokens=10, output_tokens=2)
    cut = ModelOutput(text="half an ans", finish_reason="length", usage=usage)
    await Agent(Busy([cut]), store=store).run("Go", session="s")
    (run,) = await seen(store, "s")
    assert run.turns[0].told == [{"what": "model_retried", "why": "overloaded", "wait": 0.25}]
    assert run.turns[0].ending == "length"


async def test_what_was_undone_is_not_shown():
    store = MemoryStore()
    await agent(store, "One.").run("First", session="s")
    await agent(store, "Two.").run("Second", session="s")
    await Archive(store).undo("s")
    await agent(store, "Three.").run("Third", session="s")
    runs = await seen(store, "s")
    assert [run.words for run in runs] == ["First", "Third"]
    assert (await Looking(store).run("s", runs[1].seq))[1].answer == "Three."
    with pytest.raises(SessionError):
        await Looking(store).run("s", runs[1].seq + 1)


def test_a_long_wait_is_shown_short_and_all_else_in_proportion():
    scale = Scale([(0.0, 2.0), (2.0, 3.0), (1_000.0, 1_001.0)])
    ((start, end, seconds),) = scale.gaps()
    assert seconds == pytest.approx(997)
    assert end - start < WIDTH / 10
    assert scale.at(2.0) == pytest.approx(2 * scale.at(1.0))
    assert scale.at(3.0) - scale.at(2.0) == pytest.approx(scale.at(1_001.0) - scale.at(1_000.0))


moments = st.floats(min_value=0, max_value=1e6, allow_nan=False)


@given(
    st.lists(st.tuples(moments, moments).map(lambda pair: (min(pair), max(pair))), min_size=1, max_size=12)
)
def test_later_is_never_further_left(spans):
    scale = Scale(spans)
    places = [scale.at(moment) for moment in sorted(moment for span in spans for moment in span)]
    assert all(-1e-6 <= place <= WIDTH + 1e-6 for place in places)
    assert all(after >= before - 1e-6 for before, after in pairwise(places))


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ({"card": "[masked]", "n": 1}, {"card": "4111", "n": 1}),
        ({"card": "5500", "n": 2}, {"card": "5500", "n": 2}),
        ({"n": 2}, {"n": 2}),
        ({"card": "[masked]", "n": 2, "new": "[masked]"}, {"card": "4111", "n": 2, "new": "[masked]"}),
    ],
)
def test_what_was_masked_counts_as_it_is_unless_it_was_changed(edited, expected):
    assert unmasked(edited, {"card": "[masked]", "n": 2}, {"card": "4111", "n": 2}) == expected
    assert unmasked(
        {"all": [edited]}, {"all": [{"card": "[masked]", "n": 2}]}, {"all": [{"card": "4111", "n": 2}]}
    ) == {"all": [expected]}
