"""What an agent shows its model of a long conversation."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest

from tests.sessions.histories import check_invariants, exchange, on_wire
from toolhand import Agent, History, RunContext, Session, estimate_tokens, tool
from toolhand.core.errors import ModelError, ModelFault, SettingsError
from toolhand.core.events import HistoryTrimmed
from toolhand.core.messages import ModelOutput, Note, RawCall, Usage, user
from toolhand.core.tokens import message_tokens
from toolhand.ladder import Steady
from toolhand.showing import Showing
from toolhand.testing import ScriptedModel


@tool
def look_up(store: int, rows: int = 30) -> list[dict[str, object]]:
    """What is in a store.

    Args:
        store: which.
        rows: how many.
    """
    return [{"id": i, "name": f"item {store}-{i}", "price": i * 1.5} for i in range(rows)]


def reply(request):
    """Calls once for each user message, then answers."""
    if request.messages[-1].role == "tool":
        return "There are things in it."
    return RawCall(id="", name="look_up", arguments=json.dumps({"store": len(request.messages)}))


class Small(ScriptedModel):
    """A model with a context of known size, which refuses what is longer by its own count."""

    def __init__(self, context_tokens, *, counted=1.0, says=True):
        super().__init__(self.answer, name="small")
        if says:
            self.context_tokens = context_tokens
        self.limit, self.counted, self.refused = context_tokens, counted, 0

    def tokens(self, request):
        tools = estimate_tokens(json.dumps([t.description + json.dumps(t.parameters) for t in request.tools]))
        return int((sum(map(message_tokens, request.messages)) + tools) * self.counted)

    def answer(self, request):
        tokens = self.tokens(request)
        if tokens > self.limit:
            self.refused += 1
            raise ModelError("too long", fault=ModelFault.CONTEXT_OVERFLOW, status=400)
        output = reply(request)
        calls = (output,) if isinstance(output, RawCall) else ()
        text = output if isinstance(output, str) else ""
        return ModelOutput(text=text, calls=calls, usage=Usage(requests=1, input_tokens=tokens))


def system_text(request):
    return request.messages[0].text


async def test_a_conversation_may_go_on_for_ever_in_a_small_context():
    model, events = Small(3_000), []
    agent = Agent(model, tools=[look_up])
    for number in range(60):
        run = await agent.run(f"What is in store {number}?", session="s", on_event=events.append)
        assert run.stopped == "answered"
    assert model.refused == 0
    for request in model.requests:
        check_invariants(on_wire(request.messages))
        assert any("What is in store" in m.text for m in request.messages)
    assert model.requests[-2].messages[-1].text == "What is in store 59?"
    trimmed = [event for event in events if isinstance(event, HistoryTrimmed)]
    assert trimmed
    assert trimmed[-1].left_out > 0
    assert trimmed[-1].tokens < 3_000
    assert len(run.messages) == 240  # what is stored is not touched


async def test_most_turns_only_append_to_what_the_server_has_seen():
    model = Small(12_000)
    agent = Agent(model, tools=[look_up])
    for number in range(60):
        await agent.run(f"What is in store {number}?", session="s")
    seen = [request.messages for request in model.requests]
    kept = sum(
        old[0] == new[0] and all(a is b for a, b in zip(old[1:], new[1:], strict=False))
        for old, new in pairwise(seen)
    )
    assert kept >= 0.9 * (len(seen) - 1)


async def test_what_is_left_out_is_said_in_the_system_message_only_then_and_in_the_runs_language():
    model = Small(2_000)
    agent = Agent(model, tools=[look_up])
    for _ in range(20):
        await agent.run("店里有什么？", session="s")
    assert "省略" not in system_text(model.requests[0])
    assert "此前对话的部分内容已省略或缩短" in system_text(model.requests[-1])
    assert not any(isinstance(part, Note) for m in model.requests[-1].messages for part in m.parts)


@pytest.mark.parametrize("counted", [0.7, 1.8])
async def test_what_the_server_counts_corrects_the_estimate(counted):
    model = Small(6_000, counted=counted)
    agent = Agent(model, tools=[look_up])
    for number in range(60):
        await agent.run(f"What is in store {number}?", session="s")
    assert model.refused == 0
    most = max(model.tokens(request) for request in model.requests[20:])
    assert 0.55 * 6_000 < most <= 6_000


async def test_a_model_of_unknown_size_that_refuses_is_shown_less():
    model = Small(2_500, says=False)
    agent = Agent(model, tools=[look_up])
    for number in range(40):
        run = await agent.run(f"What is in store {number}?", session="s")
        assert run.stopped == "answered"
    assert 1 <= model.refused <= 3


async def test_a_refusal_that_trimming_cannot_mend_is_the_callers():
    def refuses(request):
        raise ModelError("too long", fault=ModelFault.CONTEXT_OVERFLOW, status=400)

    model = ScriptedModel(refuses)
    with pytest.raises(ModelError, match="too long"):
        await Agent(model).run("hello")
    assert len(model.requests) <= 2


@pytest.mark.parametrize(
    ("history", "most"), [(History(turns=3), 9), (History(messages=6), 6), (History(tokens=1_000), 40)]
)
async def test_a_user_may_set_the_bound(history, most):
    model = ScriptedModel(reply)
    agent = Agent(model, tools=[look_up], history=history)
    for number in range(12):
        await agent.run(f"What is in store {number}?", session="s")
    assert all(len(on_wire(request.messages)) - 1 <= most for request in model.requests)
    assert all(
        sum(m.role == "assistant" for m in r.messages) <= (history.turns or 99) for r in model.requests
    )


async def test_a_long_session_is_not_gone_through_at_each_turn():
    async def seconds(count):
        """Of showing a session of so many messages: not the first time, when its end is read."""
        session = Session()
        session.append(*(message for number in range(count // 4) for message in exchange(number)))
        agent = Agent(ScriptedModel("x"), history=History(tokens=3_000))
        showing, context = Showing(agent.setup, session, Steady(agent.setup.protocol)), RunContext()
        taken = []
        for number in range(40):
            start = time.thread_time()
            await showing.messages(agent.tools, context)
            taken.append(time.thread_time() - start)
            session.append(user(f"and {number}?"))
        return sorted(taken[1:])[20]

    await seconds(100)
    assert await seconds(40_000) < await seconds(100) * 2 + 0.0002


def test_a_wrong_bound_is_named():
    with pytest.raises(SettingsError, match="history is a History"):
        Agent(ScriptedModel("x"), history=10)


async def test_another_process_shows_a_stored_session_where_it_was_cut(tmp_path):
    def agent(model):
        return Agent(model, tools=[look_up], store=str(tmp_path / "s.db"))

    one = Small(6_000)
    first = agent(one)
    for number in range(30):
        await first.run(f"What is in store {number}?", session="s")
    other = Small(6_000)
    await agent(other).run("What is in store 30?", session="s")
    before, after = one.requests[-1].messages[1:], other.requests[0].messages[1:]
    assert len(before) > 4
    assert after[: len(before)] == before


async def test_the_system_message_of_a_long_stored_session_stays(tmp_path):
    earlier = [{"role": "system", "content": "Answer in rhymes."}]
    for n in range(400):
        earlier += [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": f"a{n}"}]
    store = str(tmp_path / "s.db")
    await Agent(ScriptedModel(["x"]), store=store).run("?", session="s", message_history=earlier)
    model = ScriptedModel(["y"])
    await Agent(model, store=store, history=History(messages=6)).run("and?", session="s")
    assert "Answer in rhymes." in system_text(model.requests[0])
