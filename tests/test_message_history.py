"""Conversations that come from elsewhere."""

from __future__ import annotations

import pytest

from tests.sessions.histories import check_invariants, on_wire
from toolhand import Agent, tool
from toolhand.core.errors import SettingsError
from toolhand.core.events import HistoryHealed
from toolhand.core.messages import RawCall
from toolhand.histories import HistoryError, to_anthropic, to_openai
from toolhand.testing import ScriptedModel


@tool
def add(x: int) -> int:
    """Adds."""
    return x + 1


def asking(*calls):
    entries = [{"id": i, "type": "function", "function": {"name": "add", "arguments": a}} for i, a in calls]
    return {"role": "assistant", "content": None, "tool_calls": entries}


EARLIER = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "1 + 1?"},
    asking(("call_1", '{"x": 1}')),
    {"role": "tool", "tool_call_id": "call_1", "content": "2"},
    {"role": "assistant", "content": "2"},
]


async def test_a_conversation_goes_on_here():
    events = []
    model = ScriptedModel([RawCall(id="call_1", name="add", arguments='{"x": 2}'), "3"])
    run = await Agent(model, tools=[add]).run("and 2 + 1?", message_history=EARLIER, on_event=events.append)
    assert run.output == "3"
    assert len(run.messages) == 9
    assert len(run.new_messages) == 4
    assert not any(isinstance(event, HistoryHealed) for event in events)
    first = model.requests[0].messages
    assert "Be brief." in first[0].text
    assert [m.role for m in first] == ["system", "user", "assistant", "tool", "assistant", "user"]
    check_invariants(to_openai(run.messages))  # also the id that the provider gave again
    assert to_openai(run.messages)[:5] == EARLIER


async def test_what_is_damaged_is_mended_and_said_so():
    events = []
    damaged = [
        {"role": "tool", "tool_call_id": "gone", "content": "?"},
        *EARLIER[1:3],
        asking(("call_1", "{")),
    ]
    run = await Agent(ScriptedModel(["ok"]), tools=[add]).run(
        "go on", message_history=damaged, on_event=events.append
    )
    (healed,) = [event for event in events if isinstance(event, HistoryHealed)]
    assert [repair.kind for repair in healed.repairs] == [
        "orphan_result_dropped",
        "missing_result_filled",
        "arguments_unreadable",
        "id_replaced",
        "missing_result_filled",
    ]
    check_invariants(on_wire(run.messages))


async def test_what_cannot_be_mended_is_refused_before_anything_runs():
    model = ScriptedModel(["ok"])
    unclear = [EARLIER[1], asking(("a", '{"x":1}'), ("b", '{"x":2}')), {"role": "tool", "content": "2"}]
    with pytest.raises(HistoryError, match="message 2 of the history"):
        await Agent(model, tools=[add]).run("go on", message_history=unclear)
    assert model.requests == []


async def test_a_named_session_begins_with_it_once():
    agent = Agent(ScriptedModel(["a", "b"]), tools=[add], store="memory")
    await agent.run("go on", message_history=EARLIER, session="s")
    assert (await agent.run("and on", session="s")).output == "b"
    with pytest.raises(SettingsError, match="has a history of its own"):
        await agent.run("go on", message_history=EARLIER, session="s")


async def test_anthropics_shape_goes_in_and_comes_out():
    run = await Agent(ScriptedModel(["ok"]), tools=[add]).run(
        "go on", message_history=to_anthropic(EARLIER)["messages"]
    )
    made = to_anthropic(run.messages)
    assert [turn["role"] for turn in made["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]


async def test_a_text_is_no_list_of_messages():
    with pytest.raises(SettingsError, match="a list of messages"):
        await Agent(ScriptedModel(["ok"])).run("go on", message_history="hello")
