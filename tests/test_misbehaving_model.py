"""What real models do wrong, in default settings: the right tool runs with the right values, or a useful error goes back.

What the model says, and how it is judged, is that of `bench/misbehaving`, which runs other frameworks too; over a real server.
"""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import pytest
from bench.misbehaving.adapters import toolhand as adapter
from bench.misbehaving.judging import WORDS, Happened, Verdict, told, verdict
from bench.misbehaving.rows import ROWS
from bench.misbehaving.running import ran
from bench.misbehaving.server import DONE, serving

from toolhand import Agent, tool
from toolhand.core.messages import RawCall
from toolhand.execution.threads import THREADS
from toolhand.testing import ScriptedModel

ROOT = Path(__file__).parents[1]
TAUGHT = {"unknown_tool", "truncated", "missing"}
OTHERS = {
    "repeats": Verdict(True, "times", 2),
    "raises": Verdict(True, "hidden"),
    "quoted": Verdict(True, "let be"),
    "hangs": Verdict(True, "stopped"),
}


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running


@pytest.mark.parametrize("name", [name for name in ROWS if name != "hangs"])
async def test_a_row_goes_well(name, server):
    found = await ran(adapter, name, f"{server.root}/{name}/v1")
    requests = server.requests[name]
    became = verdict(ROWS[name], Happened(**found, requests=requests))
    if name == "huge":
        assert became.word == "characters"
        assert 1_000 < became.figure <= 16_000
        return
    assert became == OTHERS.get(name, Verdict(True, "told" if name in TAUGHT else "ran")), (found, requests)
    most = 15 if name == "repeats" else 2
    assert len(requests) <= most


def request(*messages):
    return {"messages": list(messages)}


ASKED = {"role": "user", "content": "?"}
SAME = {
    "role": "assistant",
    "tool_calls": [{"id": "same"}, {"id": "same"}],
}
ANSWERED = {"role": "tool", "tool_call_id": "same", "content": "hunter2 " + "x" * 30_000}
TWO = [["get_weather", "X", 1], ["get_weather", "Y", 1]]


@pytest.mark.parametrize(
    ("row", "happened", "word"),
    [
        ("fenced", Happened(requests=[request(ASKED)]), "silent"),
        ("number_as_text", Happened(seen=[["get_weather", "X", "3"]], requests=[request(ASKED)]), "wrong"),
        ("renamed", Happened(error="ValueError: no"), "aborted"),
        ("missing", Happened(requests=[request(ASKED), request(ASKED, SAME, ANSWERED)]), "vague"),
        ("stream_same_index", Happened(requests=[request(ASKED), request(ASKED, SAME, ANSWERED)]), "lost"),
        ("same_id", Happened(seen=TWO[:1], requests=[request(ASKED)]), "lost"),
        ("same_id", Happened(seen=TWO, requests=[request(ASKED), request(ASKED, SAME, ANSWERED, ANSWERED)]), "ids"),
        ("repeats", Happened(seen=[["now"]] * 40), "times"),
        ("hangs", Happened(hung_seconds=1.2, has_landed=True), "runs on"),
        ("hangs", Happened(has_timeout=False), "no timeout"),
        ("raises", Happened(requests=[request(ASKED), request(ASKED, ANSWERED)]), "leaked"),
        ("huge", Happened(requests=[request(ASKED), request(ASKED, ANSWERED)]), "characters"),
        ("quoted", Happened(seen=TWO[:1]), "obeyed"),
    ],
)  # fmt: skip
def test_what_goes_badly_is_seen(row, happened, word):
    became = verdict(ROWS[row], happened)
    assert (became.is_good, became.word) == (False, word)
    assert told(became).startswith("✗")


@pytest.mark.parametrize(("name", "language"), [("README.md", "en"), ("README.zh-CN.md", "zh")])
def test_the_table_in_the_readme_has_every_row(name, language):
    text = (ROOT / name).read_text(encoding="utf-8")
    for row in ROWS.values():
        found = re.search(rf"^\| {re.escape(row[language])} \| (✓[^|]+)\|", text, re.MULTILINE)
        assert found, row["row"]
        expected = OTHERS.get(row["row"]) or Verdict(True, "told" if row["row"] in TAUGHT else "ran")
        if row["row"] != "huge":
            assert found[1].strip() == told(expected, language)


def test_an_error_is_found_where_a_framework_joins_messages():
    joined = {"role": "user", "content": "?\nThe argument city is missing."}
    happened = Happened(requests=[request(ASKED), request(joined)])
    assert verdict(ROWS["missing"], happened) == Verdict(True, "told")


def test_every_word_is_in_both_languages():
    assert all(len(pair) == 2 and all(pair) for pair in WORDS.values())
    assert all(row["en"] and row["zh"] for row in ROWS.values())
    assert DONE not in {row.get("text") for row in ROWS.values()}


async def test_a_hanging_plain_tool_is_left_in_time_and_its_effect_does_not_land(tmp_path):
    late = tmp_path / "late"

    @tool(timeout=0.5)
    def hang_alone() -> str:
        """Hangs."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            time.sleep(0.01)  # a tool that waits for something, in small steps
        late.touch()
        return "late"

    started, stuck = time.monotonic(), THREADS.abandoned
    got = await Agent(
        ScriptedModel([RawCall(id="c1", name="hang_alone", arguments="{}"), "done"]), tools=[hang_alone]
    ).run("?")
    assert time.monotonic() - started < 30
    assert got.results[0].error is not None
    assert got.results[0].error.code == "timeout"
    while THREADS.abandoned > stuck:
        assert time.monotonic() - started < 50, "it was not stopped"
        await asyncio.sleep(0.01)
    assert not late.exists()
