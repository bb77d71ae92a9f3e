"""What real models do wrong, in default settings: the right tool runs with the right values, or a useful error goes back."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from toolhand import Agent, Limits, Run, tool
from toolhand.core.jsonable import result_text
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.execution.threads import THREADS
from toolhand.models.deltas import StreamedOutput
from toolhand.testing import ScriptedModel

seen: list[Any] = []


@tool
def get_weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    seen.append((city, days))
    return f"{city} {days}"


@tool
def tag(labels: list[str]) -> str:
    """Tags something."""
    seen.append(labels)
    return ",".join(labels)


@tool
def now() -> str:
    """The time."""
    seen.append("now")
    return "12:00"


@tool
def database(query: str) -> str:
    """Asks the database."""
    raise ValueError(f"db down: password=hunter2 for {query}")


@tool
def report() -> str:
    """A report."""
    return "x" * 400_000


TOOLS = [get_weather, tag, now, database, report]


@pytest.fixture(autouse=True)
def _nothing_seen():
    seen.clear()


async def run(*replies: Any, **options: Any) -> tuple[Run, ScriptedModel]:
    model = ScriptedModel([*replies, "done"])
    return await Agent(model, tools=TOOLS, **options).run("What is the weather?"), model


def call(name: str, arguments: str, id_: str = "c1") -> ModelOutput:
    return ModelOutput(calls=(RawCall(id=id_, name=name, arguments=arguments),), finish_reason="tool_calls")


RUN_AT_ONCE = {
    "name typo of a reading tool": (call("get_wether", '{"city": "X"}'), [("X", 1)]),
    "python literals, unquoted key, trailing comma": (
        call("get_weather", "{'city': 'X', days: 3,}"),
        [("X", 3)],
    ),
    "number as text": (call("get_weather", '{"city": "X", "days": "3"}'), [("X", 3)]),
    "number in Chinese": (call("get_weather", '{"city": "X", "days": "三"}'), [("X", 3)]),
    "list as text": (call("tag", json.dumps({"labels": '["a","b"]'})), [["a", "b"]]),
    "renamed argument": (call("get_weather", '{"location": "X"}'), [("X", 1)]),
    "fenced JSON": ('```json\n{"name": "get_weather", "arguments": {"city": "X"}}\n```', [("X", 1)]),
    "Hermes tags": (
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "X"}}\n</tool_call>',
        [("X", 1)],
    ),
    "ReAct text": ('Thought: I need it\nAction: get_weather\nAction Input: {"city": "X"}', [("X", 1)]),
}


@pytest.mark.parametrize("name", RUN_AT_ONCE)
async def test_the_right_call_runs_without_another_turn(name):
    reply, expected = RUN_AT_ONCE[name]
    got, model = await run(reply)
    assert seen == expected
    assert got.output == "done"
    assert len(model.requests) == 2


TAUGHT = {
    "truncated arguments": (call("get_weather", '{"city": "X", "da'), []),
    "missing argument": (call("get_weather", "{}"), ["city", "missing"]),
    "unknown tool": (call("launch", "{}"), ["launch", "get_weather"]),
    "unreadable value": (call("get_weather", '{"city": "X", "days": "many"}'), ["days", "integer", "many"]),
}


@pytest.mark.parametrize("name", TAUGHT)
async def test_a_useful_error_goes_back(name):
    reply, words = TAUGHT[name]
    got, model = await run(reply)
    assert seen == []
    told = result_text(model.requests[1].messages[-1].results[0])
    assert all(word in told for word in words), told
    assert got.output == "done"


@pytest.mark.parametrize("ids", [("same", "same"), ("", "")])
async def test_two_calls_with_equal_or_empty_ids(ids):
    calls = tuple(
        RawCall(id=id_, name="get_weather", arguments=json.dumps({"city": c}))
        for id_, c in zip(ids, "XY", strict=True)
    )
    got, model = await run(ModelOutput(calls=calls))
    assert sorted(seen) == [("X", 1), ("Y", 1)]
    sent = [result.call_id for result in model.requests[1].messages[-1].results]
    assert len(set(sent)) == 2
    assert all(sent)
    assert [result.data for result in got.results] == ["X 1", "Y 1"]


async def test_the_same_call_forty_times_is_cut_short():
    model = ScriptedModel(
        lambda request: "enough" if request.tool_choice.mode == "none" else call("now", "{}")
    )
    got = await Agent(model, tools=TOOLS, limits=Limits(turns=40)).run("What time is it?")
    assert len(seen) <= 5
    assert got.output == "enough"
    assert len(model.requests) < 15


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
    got = await Agent(ScriptedModel([call("hang_alone", "{}"), "done"]), tools=[hang_alone]).run("?")
    assert time.monotonic() - started < 30
    assert got.results[0].error is not None
    assert got.results[0].error.code == "timeout"
    while THREADS.abandoned > stuck:
        assert time.monotonic() - started < 50, "it was not stopped"
        await asyncio.sleep(0.01)
    assert not late.exists()


async def test_an_exceptions_text_does_not_reach_the_model():
    got, model = await run(call("database", '{"query": "x"}'))
    assert "hunter2" not in repr(model.requests) + repr(got)
    assert got.output == "done"


async def test_four_hundred_thousand_characters_become_sixteen_thousand():
    got, model = await run(call("report", "{}"))
    assert len(result_text(model.requests[1].messages[-1].results[0])) <= 16_000
    assert got.output == "done"


def streamed(*deltas: dict[str, Any]) -> ModelOutput:
    reading = StreamedOutput(())
    for delta in deltas:
        reading.feed({"choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]})
    reading.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return reading.finish()


@pytest.mark.parametrize("index", [{"index": 0}, {}])
async def test_streamed_calls_with_equal_or_missing_index(index):
    deltas = [
        {**index, "id": id_, "function": {"name": "get_weather", "arguments": json.dumps({"city": city})}}
        for id_, city in (("a", "X"), ("b", "Y"))
    ]
    await run(streamed(*deltas))
    assert sorted(seen) == [("X", 1), ("Y", 1)]
