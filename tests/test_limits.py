"""What a run is bounded by beside turns and calls: tokens and money; and what it counts."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from toolhand import Agent, Limits, tool
from toolhand.core.errors import SettingsError
from toolhand.core.events import ModelReplied, TextDelta
from toolhand.core.messages import ModelOutput, RawCall, Usage
from toolhand.testing import ScriptedModel

MILLION = 1_000_000


@tool
def look_up(n: int) -> int:
    """Looks something up."""
    return n * 2


def reply(request):
    """Calls for ever, with other arguments each time, and answers when it may not."""
    usage = Usage(requests=1, input_tokens=100_000, output_tokens=10_000)
    if request.tool_choice.mode == "none":
        return ModelOutput(text="about 7", usage=usage)
    call = RawCall(id="", name="look_up", arguments=f'{{"n": {len(request.messages)}}}')
    return ModelOutput(calls=(call,), usage=usage)


@pytest.fixture
def priced(tmp_path, monkeypatch):
    """A model with a price: 2 a million in, 10 a million out, so 0.3 a turn."""
    file = tmp_path / "facts.toml"
    file.write_text('[shop]\ncurrency = "CNY"\n"m" = { input = 2.0, output = 10.0 }\n')
    monkeypatch.setenv("TOOLHAND_FACTS", str(file))
    return ScriptedModel(reply, name="shop:m")


async def test_a_run_says_what_it_cost(priced):
    events = []
    run = await Agent(priced, tools=[look_up], limits=Limits(turns=3)).run("?", on_event=events.append)
    assert run.usage.cost == pytest.approx(4 * 0.3)
    assert run.usage.currency == "CNY"
    replied = [event.usage.cost for event in events if isinstance(event, ModelReplied)]
    assert replied == [pytest.approx(0.3)] * 4


async def test_money_is_a_limit(priced):
    run = await Agent(priced, tools=[look_up], limits=Limits(cost=0.85)).run("?")
    assert (run.stopped, run.output) == ("cost_limit", "about 7")
    assert len(priced.requests) == 4
    assert run.usage.cost == pytest.approx(1.2)


async def test_a_limit_of_money_for_a_model_without_a_price_is_refused_before_anything_runs():
    model = ScriptedModel(reply, name="shop:unknown")
    with pytest.raises(SettingsError, match="needs the price of 'shop:unknown'"):
        await Agent(model, tools=[look_up], limits=Limits(cost=1)).run("?")
    assert model.requests == []


async def test_without_a_price_there_is_no_cost():
    run = await Agent(ScriptedModel(reply, name="shop:unknown"), tools=[look_up], limits=Limits(turns=1)).run(
        "?"
    )
    assert run.usage.cost is None


async def test_tokens_are_a_limit():
    model = ScriptedModel(reply)
    run = await Agent(model, tools=[look_up], limits=Limits(tokens=250_000)).run("?")
    assert (run.stopped, len(model.requests)) == ("token_limit", 4)


def test_costs_add_up_also_where_some_are_not_known():
    known = Usage(requests=1, cost=0.5, currency="USD")
    assert (Usage() + known + Usage(requests=1)).cost == 0.5
    assert (known + known).cost == 1.0
    assert (Usage() + Usage()).cost is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"turns": 0},
        {"turns": None},
        {"calls": -1},
        {"tokens": 1.5},
        {"cost": "1"},
        {"seconds": -1},
        {"repairs": 0},
        {"turns": True},
        {"cost": float("nan")},
    ],
)
def test_a_limit_that_is_none_is_refused(wrong):
    with pytest.raises(SettingsError, match=r"Limits\("):
        Limits(**wrong)


@pytest.mark.parametrize("text", ["", "perhaps 7"])
async def test_a_run_ends_at_its_limit_though_the_model_still_calls(text):
    def stubborn(request):
        call = RawCall(id="", name="look_up", arguments=f'{{"n": {len(request.messages)}}}')
        return ModelOutput(text=text, calls=(call,))

    agent = Agent(ScriptedModel(stubborn), tools=[look_up], limits=Limits(turns=2), store="memory")
    events = [event async for event in agent.stream("find it", session="s")]
    run = events[-1].run
    assert run.stopped == "turn_limit"
    assert run.output == (text or "No answer was found before the run's limit (turn_limit) was reached.")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)).endswith(run.output)
    assert (run.messages[-1].role, run.messages[-1].text) == ("assistant", run.output)
    with pytest.raises(SettingsError, match="come to its end"):
        await agent.resume("s")


def test_a_limit_that_does_not_exist_is_named_with_the_one_that_was_meant():
    with pytest.raises(SettingsError, match=r"'turn'.*'turns'"):
        Limits(turn=3)
    with pytest.raises(SettingsError, match="seconds"):
        Limits(zzz=3)
    assert replace(Limits(turns=3), calls=1) == Limits(turns=3, calls=1)
    assert "turns" in inspect.signature(Limits).parameters
