"""Runs that come again and again: when they are due, that they are made once, and what is refused."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from toolhand import Agent
from toolhand.core.errors import SettingsError
from toolhand.durable import Schedule, ledger_of
from toolhand.durable.agents import load_work
from toolhand.durable.listing import list_runs
from toolhand.durable.schedules import Recurring
from toolhand.testing import ScriptedModel


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def test_the_moments_are_those_of_its_time_zone():
    daily = Schedule("0 8 * * mon-fri", "report", timezone="Asia/Shanghai")
    assert daily.last(at("2026-11-30T00:00:00+00:00")) == at("2026-11-30T08:00:00+08:00")  # a Monday
    assert daily.last(at("2026-11-29T23:59:59+00:00")) == at("2026-11-27T08:00:00+08:00")
    assert daily.next(at("2026-11-30T00:00:00+00:00")) == at("2026-12-01T08:00:00+08:00")
    assert Schedule("@hourly", "x").last(at("2026-01-01T10:59:00+00:00")) == at("2026-01-01T10:00:00+00:00")


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 * * * *", ["01:00+0200", "02:00+0200", "02:00+0100", "03:00+0100"]),
        ("30 2 * * *", ["02:30+0200"]),  # a day's is made once
    ],
)
def test_what_comes_hourly_comes_in_the_hour_that_clocks_have_twice(cron, expected):
    schedule = Schedule(cron, "x", timezone="Europe/Berlin")
    start = at("2026-10-24T23:00:00+00:00")
    moments = [schedule.last(start + dt.timedelta(minutes=minute)) for minute in range(0, 200, 5)]
    assert list(dict.fromkeys(f"{moment:%H:%M%z}" for moment in moments if moment >= start)) == expected
    assert schedule.next(moments[-1]) > moments[-1] >= schedule.next(start) > start


@pytest.mark.parametrize(
    ("cron", "options", "said"),
    [
        ("every day", {}, "no line of cron"),
        ("61 * * * *", {}, "no line of cron"),
        ("* * * * * *", {}, "no line of cron"),
        ("0 8 30 2 *", {}, "a day that never comes"),
        ("0 8 * * *", {"timezone": "Asia/Nowhere"}, "no time zone"),
        ("0 8 * * *", {"run_id": "a"}, "but run_id and at"),
        ("0 8 * * *", {"sesion": "a"}, "takes what Agent.submit takes"),
    ],
)
def test_what_cannot_be_is_refused(cron, options, said):
    with pytest.raises(SettingsError, match=said):
        Schedule(cron, "report", **options)


async def test_each_moment_is_submitted_once_by_however_many_workers(store):
    agent = Agent(ScriptedModel(["ok"]), store=store)
    now = at("2026-11-30T08:00:01+00:00")
    schedules = {"daily": Schedule("0 8 * * *", "report", session="reports", user="ann")}
    ledger = ledger_of(store)
    first, second = (Recurring(ledger, {"": agent}, schedules, now=lambda: now) for _ in range(2))
    for recurring in (first, second, first):
        await recurring.submit_due()
    rows = await list_runs(ledger)
    assert [(row.id, row.text, row.session_id, row.user) for row in rows] == [
        ("daily@2026-11-30T08:00+0000", "report", "reports", "ann")
    ]
    now = at("2026-12-01T08:30:00+00:00")  # no worker was there, and it is too late by now
    await first.submit_due()
    now = at("2026-12-02T08:04:00+00:00")
    await first.submit_due()
    assert [row.id[:16] for row in await list_runs(ledger)] == ["daily@2026-12-02", "daily@2026-11-30"]


async def test_both_of_an_hour_that_clocks_have_twice_are_submitted(store):
    agent = Agent(ScriptedModel([]), store=store)
    schedules = {"often": Schedule("0 * * * *", "x", timezone="Europe/Berlin")}
    moments = iter([at("2026-10-25T00:01:00+00:00"), at("2026-10-25T01:01:00+00:00")])
    recurring = Recurring(ledger_of(store), {"": agent}, schedules, now=lambda: next(moments))
    await recurring.submit_due()
    await recurring.submit_due()
    ids = [row.id for row in await list_runs(ledger_of(store))]
    assert ids == ["often@2026-10-25T02:00+0100", "often@2026-10-25T02:00+0200"]


async def test_what_is_refused_stops_nothing_else(store, caplog):
    agent = Agent(ScriptedModel(["ok"]), store=store)
    await agent.submit("mine", session="s", user="bob")
    schedules = {name: Schedule("@daily", "x", session=name, user="ann") for name in ("s", "t")}
    recurring = Recurring(
        ledger_of(store), {"": agent}, schedules, now=lambda: at("2026-11-30T00:00:00+00:00")
    )
    await recurring.submit_due()
    assert "the schedule s cannot be kept" in caplog.text
    assert [row.session_id for row in await list_runs(ledger_of(store), user="ann")] == ["t"]


async def test_a_worker_keeps_what_its_file_holds(store, works, tmp_path):
    path = tmp_path / "reports.py"
    path.write_text(
        "from toolhand import Agent\nfrom toolhand.durable import Schedule\nfrom toolhand.testing import ScriptedModel\n"
        "agent = Agent(ScriptedModel(lambda request: 'done'))\n"
        "often = Schedule('* * * * *', 'report', late_seconds=600)\n"
    )
    agents, schedules = load_work(str(path))
    assert list(schedules) == ["often"]
    works(agents, store=store, schedules=schedules)
    ledger = ledger_of(store)
    while not (rows := await list_runs(ledger, states=["finished"])):  # noqa: ASYNC110 - a worker does it
        await asyncio.sleep(0.02)
    assert rows[0].id.startswith("often@")
    with pytest.raises(SettingsError, match="'often' is for the agent"):
        Recurring(ledger, {"other": agents[""]}, schedules)
