"""Calls first: a first reply is calls, and its signs tell whether they are meant."""

from __future__ import annotations

import pytest

from toolhand import Agent, tool
from toolhand.core.events import AskedAgain
from toolhand.core.messages import ModelOutput, Odds
from toolhand.ladder import Ladder, Profile
from toolhand.testing import ScriptedModel

CALL = '{"fits": true, "calls": [{"tool": "get_weather", "args": {"city": "Oslo"}}]}'
TOLD = (Odds("true", {"true": 0.2, "false": 0.8}),)


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"21 °C in {city}"


def word(yes: float) -> ModelOutput:
    return ModelOutput(text="yes", odds=(Odds("yes", {"yes": yes, "no": 1 - yes}),))


def agent(model: ScriptedModel, least_sure: float = 0.3) -> Agent[str]:
    return Agent(
        model, [get_weather], protocol=Ladder(Profile(rungs=("calls_first",), least_sure=least_sure))
    )


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("text", "yes", "is_called"), [("Is it warm in Oslo?", 0.9, True), ("Thanks!", 0.9, False)]
)
async def test_the_first_reply_can_only_call_and_its_signs_decide(streams, text, yes, is_called):
    model = ScriptedModel(
        [ModelOutput(text=CALL, odds=TOLD), word(yes), "21 °C." if is_called else "You are welcome."]
    )
    if streams:
        run = [event async for event in agent(model).stream(text)][-1].run
    else:
        run = await agent(model).run(text)
    assert len(run.calls) == is_called
    assert run.text == ("21 °C." if is_called else "You are welcome.")
    first, _, last = model.requests
    assert list(first.grammar["properties"]) == ["fits", "calls"]
    assert last.grammar is None


async def test_a_server_that_tells_no_odds_is_asked_again_with_the_answer_allowed():
    model = ScriptedModel([CALL, '{"fits": false, "answer": "You are welcome."}'])
    heard = []
    run = await agent(model).run("Thanks!", on_event=heard.append)
    assert (run.text, run.calls) == ("You are welcome.", ())
    assert "anyOf" in model.requests[1].grammar
    assert [event.is_kept for event in heard if isinstance(event, AskedAgain)] == [False]


async def test_without_a_threshold_the_model_may_answer():
    model = ScriptedModel(['{"fits": false, "answer": "You are welcome."}'])
    run = await agent(model, 0.0).run("Thanks!")
    assert run.text == "You are welcome."
    assert "anyOf" in model.requests[0].grammar


async def test_words_in_the_place_of_calls_are_asked_for_calls():
    model = ScriptedModel([ModelOutput(text="It is warm.", odds=TOLD), word(0.95), CALL, "21 °C."])
    run = await agent(model).run("Is it warm in Oslo?")
    assert run.text
