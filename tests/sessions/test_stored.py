"""Sessions in a store: what is kept, what is loaded, what is undone."""

from __future__ import annotations

import asyncio

import pytest

from tests.test_agent import asks, assert_valid
from toolhand import Agent, tool
from toolhand.core.errors import SessionError, ToolFailure
from toolhand.core.messages import (
    Fix,
    Message,
    Note,
    Opaque,
    Text,
    ToolCall,
    ToolError,
    ToolResult,
    Value,
    user,
)
from toolhand.sessions import StoredSession
from toolhand.sessions.stored import MOST_LOADED, PAGE
from toolhand.testing import ScriptedModel


@tool
def look(what: str) -> dict[str, str]:
    """Looks."""
    return {"seen": what, "text": "温度 21 °C"}


def counting(store) -> Agent:
    def reply(request):
        users = [message.text for message in request.messages if message.role == "user"]
        return " / ".join(users)

    return Agent(ScriptedModel(reply), store=store)


async def grown(store, turns: int, name: str = "s") -> StoredSession:
    session = StoredSession(name, store)
    async with session.held():
        for number in range(turns):
            session.append(user(f"问 {number}"))
            made = ToolCall(id=f"c{number}", name="look", arguments={"what": str(number)})
            session.append(Message(role="assistant", parts=(made,)))
            session.append(
                Message(
                    role="tool",
                    parts=(ToolResult(call_id=made.id, name="look", outcome=Value(number)),),
                )
            )
            session.append(Message(role="assistant", parts=(Text(f"答 {number}"),)))
    return session


async def test_another_agent_knows_what_was_said(store):
    await counting(store).run("北京天气怎么样？", session="s")
    run = await counting(store).run("那上海呢？", session="s")
    assert run.output == "北京天气怎么样？ / 那上海呢？"
    assert [message.role for message in run.messages] == ["user", "assistant"] * 2
    assert [message.role for message in run.new_messages] == ["user", "assistant"]


async def test_every_kind_of_part_comes_back_as_it_was(store):
    error = ToolError(code="timeout", message="晚", retryable=True, path="$.a", hint="h", details={"x": [1]})
    fixes = (Fix(kind="k", path="$.a", before="'1'", after=1, cost=3),)
    messages = [
        Message(role="system", parts=(Text("be brief"),)),
        Message(role="user", parts=(Text("a \ud800 \u0000 \U0001f600"), Note("note"))),
        Message(
            role="assistant",
            parts=(
                Opaque(source="m", data={"signature": "x"}),
                Text("t"),
                ToolCall(id="c1", name="look", arguments={"n": 1.5, "中": [None, True]}, fixes=fixes),
                ToolCall(id="c2", name="?", problem=error),
            ),
        ),
        Message(
            role="tool",
            parts=(
                ToolResult(call_id="c1", name="look", outcome=Value({"a": [1, "二"]}), notes={"attempts": 2}),
                ToolResult(call_id="c2", name="?", outcome=error, remark="r"),
            ),
        ),
    ]
    session = StoredSession("s", store)
    async with session.held():
        session.append(*messages)
    again = StoredSession("s", store)
    await again.load()
    assert again.messages == messages
    assert again.first.text == "be brief"
    assert StoredSession("s", store).messages == []  # nothing is loaded yet


async def test_a_long_history_is_loaded_from_its_end_as_far_as_it_is_looked_at(store):
    await grown(store, 400)
    session = StoredSession("s", store)
    await session.load()
    assert session.count == len(session.messages) == 1600
    assert 0 < len(session.recent()) <= PAGE
    assert session.messages[-1].text == "答 399"
    assert len(session.recent()) <= PAGE
    assert session.recent()[0].role != "tool"
    messages = session.messages
    assert messages[0].text == "问 0"
    assert messages[2].results[0].data == 0
    assert len(session.recent()) == 1600
    assert_valid(tuple(messages))
    assert messages[-3:] == (messages[1597], messages[1598], messages[1599])
    assert [m.text for m in messages[8:12:3]] == ["问 2", "答 2"]
    with pytest.raises(IndexError):
        messages[1600]
    newest = session.newest_first()
    assert [next(newest).text, next(newest).role] == ["答 399", "tool"]


async def test_older_messages_can_be_loaded_by_the_page(store):
    await grown(store, 300)
    session = StoredSession("s", store)
    await session.load()
    loaded = [len(session.recent())]
    while await session.load_older():
        loaded.append(len(session.recent()))
        assert session.recent()[0].role != "tool"
    assert loaded[-1] == 1200
    assert len(loaded) > 3
    assert not await session.load_older()


async def test_a_new_call_id_is_none_that_a_call_of_long_ago_has(store):
    await grown(store, 400)
    model = ScriptedModel([asks(("c1", "look", '{"what": "a"}'), ("", "look", '{"what": "b"}')), "done"])
    run = await Agent(model, tools=[look], store=store).run("?", session="s")
    ids = [call.id for call in run.calls]
    assert len(set(ids)) == 2
    assert not set(ids) & {f"c{number}" for number in range(400)}
    assert_valid(tuple(run.messages))


async def test_what_is_undone_counts_no_longer_and_stays_in_the_log(store):
    agent = counting(store)
    await agent.run("一", session="s")
    await agent.run("二", session="s")
    session = StoredSession("s", store)
    async with session.held():
        assert await session.undo() == "二"
        assert [message.text for message in session.messages] == ["一", "一"]
        session.append(user("三"), Message(role="assistant", parts=(Text("3"),)))
        assert await session.undo() == "三"
        assert await session.undo() == "一"
        with pytest.raises(SessionError, match="undone"):
            await session.undo()
    assert (await counting(store).run("四", session="s")).output == "四"
    kinds = [entry.kind for entry in await store.read("s")]
    assert kinds.count("undone") == 3
    assert kinds.count("message") == 8
    again = counting(store).session("s")
    assert [message.text for message in again.messages] == ["四", "四"]


async def test_undoing_in_a_long_history_needs_no_more_than_its_end(store):
    await grown(store, 400)
    session = StoredSession("s", store)
    async with session.held():
        for number in range(399, 250, -1):
            assert await session.undo() == f"问 {number}"
    again = StoredSession("s", store)
    await again.load()
    assert again.count == 251 * 4
    assert again.messages[-1].text == "答 250"
    assert again.messages[0].text == "问 0"


async def test_a_cached_session_sees_what_others_added(store):
    one, two = counting(store), counting(store)
    await one.run("一", session="s")
    await two.run("二", session="s")
    assert (await one.run("三", session="s")).output == "一 / 二 / 三"
    assert [m.text for m in two.session("s").messages if m.role == "user"] == ["一", "二", "三"]


async def test_what_is_kept_in_memory_is_bounded(store):
    session = await grown(store, MOST_LOADED // 4 + 50)
    assert len(session.recent()) <= MOST_LOADED // 2
    assert session.messages[0].text == "问 0"
    async with session.held():
        session.append(user("neu"))
    assert session.messages[-1].text == "neu"


async def test_a_session_that_is_handed_over_is_its_users(store):
    agent = counting(store)
    assert (await agent.run("one", session=agent.session("new"), user="ann")).stopped == "answered"
    assert (await agent.run("two", session=StoredSession("new", store), user="ann")).text == "one / two"
    for other in ("bob", ""):
        with pytest.raises(SessionError, match="another user"):
            await agent.run("three", session=StoredSession("new", store), user=other)


async def test_only_a_holder_may_add(store):
    session = StoredSession("s", store)
    with pytest.raises(SessionError, match="held"):
        session.append(user("x"))


async def test_a_run_of_one_session_waits_for_another_agents_and_not_for_ever(store):
    store.wait_seconds = 0.3
    inside, go = asyncio.Event(), asyncio.Event()

    class Waits(ScriptedModel):
        async def complete(self, request):
            inside.set()
            await go.wait()
            return await super().complete(request)

    first = asyncio.ensure_future(Agent(Waits(["a"]), store=store).run("1", session="s"))
    await inside.wait()
    with pytest.raises(SessionError, match="in use for 0.3 seconds by this process"):
        await counting(store).run("2", session="s")
    go.set()
    await first
    assert (await counting(store).run("3", session="s")).output == "1 / 3"


async def test_a_run_that_was_taken_over_ends_with_an_error_and_adds_nothing(store):
    store.lease_seconds = 0.3
    inside, go = asyncio.Event(), asyncio.Event()

    @tool(effect="writes")
    async def freeze() -> str:
        """Freezes."""
        inside.set()
        await go.wait()
        return "late"

    model = ScriptedModel([asks(("c1", "freeze", "{}")), "never said"])
    frozen = Agent(model, tools=[freeze], store=store)
    task = asyncio.ensure_future(frozen.run("1", session="s"))
    await inside.wait()
    held = next(iter(frozen._cache._sessions.values()))
    # It stops beating, as a frozen process does, and its lease runs out.
    for beat in asyncio.all_tasks():
        if "_beating" in repr(beat.get_coro()):
            beat.cancel()
    await asyncio.sleep(0.4)
    assert held._lease is not None
    run = await Agent(ScriptedModel(["checked"]), tools=[freeze], store=store).resume("s")
    assert run.results[0].error.code == "outcome_unknown"
    go.set()
    with pytest.raises(SessionError, match="taken over"):
        await task
    assert "never said" not in [message.text for message in counting(store).session("s").messages]
    assert_valid(tuple(counting(store).session("s").messages))


async def test_a_tool_may_not_ask_its_own_session(store):
    made = {}

    @tool
    async def ask() -> str:
        """Asks."""
        try:
            return (await made["agent"].run("?", session="s")).output
        except SessionError as error:
            raise ToolFailure(str(error)) from error

    made["agent"] = Agent(ScriptedModel([asks(("c1", "ask", "{}")), "ok"]), tools=[ask], store=store)
    run = await asyncio.wait_for(made["agent"].run("?", session="s"), 10)
    assert run.output == "ok"
    assert not run.results[0].ok
