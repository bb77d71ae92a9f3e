"""What every store does, whichever it is."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from toolhand.core.errors import SessionError
from toolhand.core.messages import Message, Text
from toolhand.sessions import AuditQuery, AuditRow, Busy, Entry, Lease
from toolhand.sessions.codec import message_json, written
from toolhand.sessions.holder import new_holder


def said(seq: int, text: str, role: str = "user") -> Entry:
    body = written(message_json(Message(role=role, parts=(Text(text),))))
    return Entry(seq=seq, kind="message", body=body, at=1000.0 + seq)


async def claimed(store, session_id="s", owner="", holder="") -> Lease:
    lease = await store.claim(session_id, owner=owner, holder=holder or new_holder())
    assert isinstance(lease, Lease)
    return lease


async def test_entries_come_back_as_they_were_and_in_order(store):
    lease = await claimed(store)
    assert lease.next_seq == 1
    entries = [
        said(1, "北京天气？\n\u0000 \ud800 'quoted' \"twice\""),
        dataclasses.replace(said(2, "x"), kind="started", call_id="call_1"),
    ]
    await store.append(lease, entries[:1])
    await store.append(lease, entries[1:])
    assert await store.read("s") == entries
    assert await store.read("s", before=2) == entries[:1]
    assert await store.read("s", limit=1) == entries[1:]
    assert await store.read("nothing") == []
    await store.release(lease)
    assert (await claimed(store)).next_seq == 3


async def test_adding_the_same_entries_twice_changes_nothing(store):
    """As when an answer was lost on its way and the write is made again."""
    if store.name == "memory":
        pytest.skip("no answer is lost inside one process")
    lease = await claimed(store)
    await store.append(lease, [said(1, "a")])
    await store.append(lease, [said(1, "a")])
    assert len(await store.read("s")) == 1


async def test_a_session_is_one_users(store):
    await store.release(await claimed(store, owner="ann"))
    for other in ("bob", ""):
        with pytest.raises(SessionError, match="another user"):
            await store.claim("s", owner=other, holder=new_holder())
    assert (await store.find("s")).owner == "ann"
    assert await store.find("t") is None


async def test_one_holder_at_a_time_and_claiming_twice_is_once(store):
    holder = new_holder()
    first = await claimed(store, holder=holder)
    assert await claimed(store, holder=holder) == first
    other = new_holder()
    second = await store.claim("s", owner="", holder=other)
    assert isinstance(second, Busy)
    assert second.holder == holder
    await store.release(first)
    then = await store.claim("s", owner="", holder=other, ticket=second.ticket)
    assert isinstance(then, Lease)
    assert then.epoch > first.epoch


async def test_who_waits_comes_in_turn(store):
    first = await claimed(store)
    one, two = new_holder(), new_holder()
    place = await store.claim("s", owner="", holder=one)
    later = await store.claim("s", owner="", holder=two)
    assert place.ticket < later.ticket
    await store.release(first)
    assert isinstance(await store.claim("s", owner="", holder=two, ticket=later.ticket), Busy)
    assert isinstance(await store.claim("s", owner="", holder=new_holder()), Busy)
    assert isinstance(await store.claim("s", owner="", holder=one, ticket=place.ticket), Lease)


async def test_a_lease_that_ran_out_is_taken_over_and_its_holder_can_add_nothing(store):
    store.lease_seconds = 0.05
    old = await claimed(store, holder="elsewhere|1|1|a")
    await store.append(old, [said(1, "before")])
    assert await store.renew(old)
    await asyncio.sleep(0.1)
    store.lease_seconds = 60.0
    new = await claimed(store, holder="elsewhere|2|1|b")
    assert new.epoch > old.epoch
    with pytest.raises(SessionError, match="taken over"):
        await store.append(old, [said(2, "behind its back")])
    assert not await store.renew(old)
    await store.release(old)  # is not its to give
    assert isinstance(await store.claim("s", owner="", holder="elsewhere|3|1|c"), Busy)
    await store.append(new, [said(2, "after")])
    assert [entry.seq for entry in await store.read("s")] == [1, 2]


async def test_a_lease_that_ran_out_unnoticed_still_holds(store):
    store.lease_seconds = 0.05
    lease = await claimed(store, holder="elsewhere|1|1|a")
    await asyncio.sleep(0.1)
    await store.append(lease, [said(1, "slow, but nobody came")])
    assert await store.renew(lease)


async def test_a_dead_process_of_this_machine_is_seen_at_once(store):
    me = new_holder().split("|")
    await claimed(store, holder="|".join((me[0], "999999999", "1", "x")))
    await claimed(store, holder="|".join((me[0], me[1], "1", "x")))  # the number is mine, the moment is not
    assert isinstance(await claimed(store), Lease)


async def test_many_at_once_each_get_it_once(store):
    order = []

    async def one(number: int) -> None:
        holder, ticket = new_holder(), 0
        while True:
            found = await store.claim("s", owner="", holder=holder, ticket=ticket)
            if isinstance(found, Lease):
                break
            ticket = found.ticket
            await asyncio.sleep(0.001)
        order.append(number)
        await store.append(found, [said(found.next_seq, str(number))])
        await store.release(found)

    await asyncio.gather(*(one(number) for number in range(12)))
    entries = await store.read("s")
    assert [entry.seq for entry in entries] == list(range(1, 13))
    assert len(order) == 12


async def test_call_ids_are_known(store):
    lease = await claimed(store)
    entry = Entry(seq=1, kind="started", body="{}", call_id="call_1")
    await store.append(lease, [entry, said(2, "x")])
    assert await store.known_calls("s", ["call_1", "call_2", ""]) == {"call_1"}
    assert await store.known_calls("t", ["call_1"]) == set()


async def test_sessions_are_listed_the_last_used_first_and_in_pages(store):
    for number in range(5):
        lease = await claimed(store, f"s{number}", owner="ann" if number % 2 else "bob")
        await store.release(lease, title=f"第 {number}", messages=number)
        await asyncio.sleep(0.003)
    found = await store.list()
    assert [summary.id for summary in found] == ["s4", "s3", "s2", "s1", "s0"]
    assert (found[0].title, found[0].messages, found[0].in_use) == ("第 4", 4, False)
    assert [summary.id for summary in await store.list(owner="ann")] == ["s3", "s1"]
    first = await store.list(limit=2)
    assert [summary.id for summary in await store.list(before=first[-1], limit=2)] == ["s2", "s1"]
    lease = await claimed(store, "s0", owner="bob")
    assert (await store.find("s0")).in_use
    await store.release(lease)
    assert (await store.find("s0")).title == "第 0"


async def test_words_are_found_in_chinese_and_english(store):
    for name, owner in (("a", "ann"), ("b", "bob")):
        lease = await claimed(store, name, owner=owner)
        texts = [
            "北京今天的天气怎么样？",
            "It is Sunny in Beijing, 21 °C.",
            "价格是 8812 元",
            'x " OR y* (NEAR',
        ]
        await store.append(lease, [said(n, text) for n, text in enumerate(texts, 1)])
        await store.append(lease, [Entry(seq=5, kind="ended", body='{"text":"北京"}', call_id="c")])
        await store.release(lease)

    async def seqs(text: str, **options: object) -> list[int]:
        return sorted(hit.seq for hit in await store.search(text, owner="ann", **options))

    assert await seqs("天气") == [1]
    assert await seqs("气天") == []
    assert await seqs("sunny") == [2]
    assert await seqs("SUNNY beijing") == [2]
    assert await seqs("Sun") == [2]
    assert await seqs("8812") == [3]
    assert await seqs("今天 怎么样") == [1]
    assert await seqs('" OR') == [4]
    assert await seqs("") == []
    assert await seqs("没有的") == []
    hit = (await store.search("天气", owner="bob"))[0]
    assert (hit.session_id, hit.owner, hit.role) == ("b", "bob", "user")
    assert "今天的天气" in hit.text
    assert len(await store.search("天气")) == 2
    assert len(await store.search("天气", session_id="a")) == 1
    lease = await claimed(store, "a", owner="ann")
    await store.append(lease, [said(6, "后来的天气")])
    await store.release(lease)
    assert await seqs("天气") == [1, 6]


async def test_a_removed_session_is_gone_and_its_name_is_free(store):
    lease = await claimed(store, owner="ann")
    await store.append(lease, [said(1, "secret weather")])
    await store.search("weather")
    await store.remove(lease)
    assert await store.find("s") is None
    assert await store.read("s") == []
    assert list(await store.search("weather")) == []
    with pytest.raises(SessionError):
        await store.append(lease, [said(2, "late")])
    assert (await claimed(store, owner="bob")).next_seq == 1


def row(at: float, **facts: str) -> AuditRow:
    values = {
        "user": "ann",
        "session_id": "s",
        "trace_id": "t",
        "tool": "look",
        "outcome": "ok",
        "body": "{}",
    }
    return AuditRow(at=at, **{**values, **facts})


async def test_the_audit_is_queried_and_shortened(store):
    lease = await claimed(store)
    rows = [
        row(1.0),
        row(2.0, user="bob", outcome="timeout"),
        row(3.0, tool="pay", body='{"x": "价"}'),
        row(4.0, session_id="z"),
    ]
    await store.append(lease, [], rows)

    async def at(**query: object) -> list[float]:
        return [found.at for found in await store.audited(AuditQuery(**query))]

    assert await store.audited(AuditQuery()) == rows
    assert await at(user="bob") == [2.0]
    assert await at(tool="pay") == [3.0]
    assert await at(session_id="z") == [4.0]
    assert await at(outcome="error") == [2.0]
    assert await at(outcome="timeout") == [2.0]
    assert await at(since=2.0, until=4.0) == [2.0, 3.0]
    assert await at(limit=2) == [3.0, 4.0]
    assert await store.forget(3.0) == 2
    assert await at() == [3.0, 4.0]


async def test_a_closed_store_opens_again(store):
    await store.append(await claimed(store), [said(1, "x")])
    await store.close()
    assert len(await store.read("s")) == 1
