"""Listing, reading, exporting, undoing and removing sessions."""

from __future__ import annotations

import datetime as dt
import io
import json

import pytest

from tests.test_agent import asks
from toolhand import Agent, tool
from toolhand.auditing import AuditTrail
from toolhand.core.errors import SessionError
from toolhand.core.messages import user
from toolhand.observability.audit import export_csv, export_jsonl
from toolhand.sessions import Archive, StoredSession
from toolhand.sessions.codec import message_from
from toolhand.sessions.sqlite import SqliteStore
from toolhand.testing import ScriptedModel


@tool(sensitive=["pin"])
def look(city: str, pin: str = "") -> str:
    """Looks."""
    return f"{city}: 21 °C"


async def filled(store, user: str = "ann") -> Archive:
    script = [
        asks(("c1", "look", '{"city": "北京", "pin": "ZX-9917"}'), text="我查一下"),
        "北京 21 度。",
        "好",
    ]
    agent = Agent(ScriptedModel(script), tools=[look], store=store)
    await agent.run("北京天气怎么样？", session="s", user=user)
    await agent.run("谢谢", session="s", user=user)
    return Archive(store)


async def test_a_session_is_listed_read_and_searched(store):
    archive = await filled(store)
    found = [summary async for summary in archive.sessions(user="ann", page=1)]
    assert [(s.id, s.owner, s.title, s.messages, s.in_use) for s in found] == [
        ("s", "ann", "北京天气怎么样？", 6, False)
    ]
    assert [summary async for summary in archive.sessions(user="bob")] == []
    assert [m.role for m in await archive.messages("s", user="ann")] == [
        "user", "assistant", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    hits = await archive.search("天气", user="ann")
    assert [(hit.role, hit.text) for hit in hits] == [("user", "北京天气怎么样？")]
    assert list(await archive.search("天气", user="bob")) == []


async def test_a_session_is_exported_in_two_forms(store):
    archive = await filled(store)
    file = io.StringIO()
    assert await archive.export("s", file) == 6
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [message_from(line, None) for line in lines] == await archive.messages("s")
    file = io.StringIO()
    assert await archive.export("s", file, "openai", user="ann") == 6
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert lines[1]["content"] == "我查一下"
    call = lines[1]["tool_calls"][0]
    assert json.loads(call["function"]["arguments"])["city"] == "北京"
    assert lines[2] == {"role": "tool", "tool_call_id": call["id"], "content": "北京: 21 °C"}
    assert "北京" in file.getvalue()


async def test_others_sessions_and_ones_that_there_are_not_are_refused(store):
    archive = await filled(store)
    for ask in (archive.messages, archive.summary, archive.undo, archive.remove):
        with pytest.raises(SessionError, match="another user"):
            await ask("s", user="bob")
        with pytest.raises(SessionError, match="no session 'nothing'"):
            await ask("nothing")
    with pytest.raises(SessionError, match="another user"):
        await archive.export("s", io.StringIO(), user="bob")


async def test_undoing_and_removing(store):
    archive = await filled(store)
    assert await archive.undo("s", user="ann") == "谢谢"
    assert len(await archive.messages("s")) == 4
    assert (await archive.summary("s")).messages == 4
    await archive.remove("s", user="ann")
    with pytest.raises(SessionError, match="no session"):
        await archive.messages("s")
    assert len(await AuditTrail(store).search()) == 1  # what was done stays accounted for


async def test_the_audit_of_stored_sessions_is_kept_by_itself(store):
    await filled(store)
    trail = AuditTrail(store)
    (record,) = await trail.search(user="ann", tool="look", outcome="ok")
    assert (record.session_id, record.decision, record.attempts, record.turn) == ("s", "allowed", 1, 1)
    assert record.asked == "北京天气怎么样？"
    assert record.raw == "我查一下"
    assert "ZX-9917" not in json.dumps(record.to_json())
    assert record.arguments["city"] == "北京"
    assert record.result == "北京: 21 °C"
    assert await trail.search(user="bob") == []
    now = dt.datetime.now(dt.UTC)
    assert len(await trail.search(since=now - dt.timedelta(hours=1), until=now + dt.timedelta(hours=1))) == 1
    assert await trail.search(until=now - dt.timedelta(hours=1)) == []
    file = io.StringIO()
    assert export_jsonl([record], file) == 1
    assert export_csv([record], file) == 1
    assert await trail.keep_days(1) == 0
    assert await trail.keep_days(-1) == 1
    assert await trail.search() == []


async def test_a_table_of_the_audit_holds_no_formula(store):
    script = [asks(("c1", "look", '{"city": "=HYPERLINK(1)"}')), "ok"]
    await Agent(ScriptedModel(script), tools=[look], store=store).run("=cmd()", session="s", user="@ann")
    file = io.StringIO()
    export_csv(await AuditTrail(store).search(), file)
    assert "\"'=" in file.getvalue() or "'=cmd()" in file.getvalue()
    assert ",=cmd" not in file.getvalue()
    assert ",@ann" not in file.getvalue()


async def test_a_long_session_is_read_page_by_page_with_what_was_undone_left_out(store, monkeypatch):
    """Also where what was undone, or the calls of one reply, lie on both sides of a page's end."""
    monkeypatch.setattr("toolhand.sessions.archive.PAGE", 5)
    script: list = []
    for n in range(12):
        calls = [(f"c{n}-{i}", "look", json.dumps({"city": f"{n}-{i}"})) for i in range(n % 4)]
        script += [asks(*calls), f"answer {n}"] if calls else [f"answer {n}"]
    agent, archive = Agent(ScriptedModel(script), tools=[look], store=store), Archive(store)
    for n in range(12):
        await agent.run(f"question {n}", session="s")
        if n in {3, 4, 8, 11}:
            await archive.undo("s")
        if n == 9:
            await archive.undo("s")
            await archive.undo("s")
    whole = await archive.messages("s")
    assert [m async for m in archive.each_message("s")] == whole
    assert [m.text for m in whole if m.role == "user"] == [f"question {n}" for n in (0, 1, 2, 5, 6, 10)]
    for last in range(1, len(whole) + 2):
        assert [m async for m in archive.each_message("s", last=last)] == whole[-last:], last
    with pytest.raises(SessionError, match="another user"):
        [m async for m in archive.each_message("s", user="bob")]


async def test_an_export_holds_little_of_a_long_session_in_memory(tmp_path):
    import tracemalloc  # noqa: PLC0415 - only here

    store = SqliteStore(tmp_path / "s.db")
    session = StoredSession("s", store)
    async with session.held():
        for n in range(3_000):
            session.append(user(f"{n} " + "x" * 5_000))
            if not n % 200:
                await session.saved()
    tracemalloc.start()
    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        assert await Archive(store).export("s", file) == 3_000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    await store.close()
    assert (tmp_path / "out").stat().st_size > 15_000_000
    assert most < 6_000_000
