"""Stepping down, coming up again, and what a server refuses."""

from __future__ import annotations

import pytest

from toolhand import Agent, tool
from toolhand.core.errors import ModelError, ModelFault, SettingsError
from toolhand.core.events import AskedAgain, SteppedDown, SteppedUp, TextDelta, TurnStarted
from toolhand.core.messages import ModelOutput, Odds, RawCall, Reply, ToolCall, Usage, user
from toolhand.ladder import Ladder, Profile, way_of
from toolhand.ladder.climb import LONGEST_RECOVERY, MOST_SESSIONS
from toolhand.protocols.doubts import Signs, fit_of, sureness, yes_of
from toolhand.testing import ScriptedModel

GOOD = Reply(text="Fine.")
CALLS = Reply(calls=(ToolCall(id="c1", name="get_weather"),))
BAD = Reply()


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: 21 °C"


def climb_of(**settings):
    return Ladder(Profile(rungs=("native", "json", "template"), **settings)).climb("s")


def names(way, replies):
    stood = []
    for reply in replies:
        way.heard(reply)
        stood.append(way.protocol.name)
    return stood


def test_failures_in_a_row_lead_down_and_a_good_reply_forgives_them():
    way = climb_of(failures=2)
    assert names(way, [BAD, GOOD, BAD, BAD]) == ["native", "native", "native", "json"]
    assert names(way, [BAD, CALLS, BAD, BAD, BAD, BAD]) == [
        "json",
        "json",
        "json",
        "template",
        "template",
        "template",
    ]


def test_after_enough_good_replies_the_rung_above_is_tried_and_one_failure_ends_the_trial():
    way = climb_of(failures=2, recovery=3)
    names(way, [BAD, BAD])
    assert names(way, [GOOD] * 3) == ["json", "json", "native"]
    assert names(way, [BAD]) == ["json"]
    assert names(way, [GOOD] * 6) == ["json"] * 5 + ["native"], "the next trial comes twice as late"


def test_a_trial_that_goes_well_is_over():
    way = climb_of(failures=2, recovery=2)
    names(way, [BAD, BAD, GOOD, GOOD])
    assert way.protocol.name == "native"
    assert names(way, [GOOD, GOOD, BAD]) == ["native"] * 3
    assert names(way, [BAD]) == ["json"]


def test_waiting_for_a_trial_has_an_end():
    way = climb_of(failures=1, recovery=1)
    way.heard(BAD)
    for _ in range(40):
        while way.protocol.name != "native":
            way.heard(GOOD)
        way.heard(BAD)
    turns = 0
    while way.protocol.name != "native":
        way.heard(GOOD)
        turns += 1
    assert turns == LONGEST_RECOVERY


def test_sessions_stand_on_their_own_and_the_oldest_are_forgotten():
    ladder = Ladder(Profile(failures=1))
    ladder.climb("a").heard(BAD)
    assert ladder.climb("a").protocol.name == "constrained"
    assert ladder.climb("b").protocol.name == "native"
    for number in range(MOST_SESSIONS):
        ladder.climb(str(number))
    assert ladder.climb("a").protocol.name == "native"


REFUSED = ModelError("no tools", fault=ModelFault.REFUSED, status=400)


def test_what_a_server_refuses_is_refused_for_every_session():
    ladder = Ladder(Profile(rungs=("native", "json")))
    request = ladder.render(
        [user("?")], Agent(ScriptedModel([]), tools=[get_weather]).tools, way_choice(), "en"
    )
    climb = ladder.climb("a")
    assert climb.refused(REFUSED, request) == SteppedDown(
        protocol="native", next_protocol="json", reason="refused"
    )
    assert ladder.climb("b").protocol.name == "native", "it may yet have been the request"
    climb.heard(GOOD)
    assert ladder.climb("b").protocol.name == "json"
    assert ladder.climb("b").refused(REFUSED, request) is None


def way_choice():
    from toolhand.core.tools import ToolChoice  # noqa: PLC0415

    return ToolChoice()


def test_a_refusal_that_no_rung_helps_changes_nothing():
    ladder = Ladder(Profile(rungs=("native", "constrained")))
    tools = Agent(ScriptedModel([]), tools=[get_weather]).tools
    request = ladder.render([user("?")], tools, way_choice(), "en")
    climb = ladder.climb("a")
    assert climb.refused(REFUSED, request)
    assert climb.refused(REFUSED, request) is None
    assert climb.protocol.name == "native"
    assert not ladder.refused_rungs


@pytest.mark.parametrize(
    "error",
    [
        ModelError("busy", fault=ModelFault.OVERLOADED, status=503, retryable=True),
        ModelError("key", fault=ModelFault.KEY, status=401),
        ModelError("gone", status=404),
    ],
)
def test_other_failures_are_no_refusal(error):
    climb = climb_of()
    request = climb.protocol.render(
        [user("?")], Agent(ScriptedModel([]), tools=[get_weather]).tools, way_choice(), "en"
    )
    assert climb.refused(error, request) is None


@pytest.mark.parametrize(
    "settings",
    [{"rungs": ()}, {"failures": 0}, {"recovery": 0}, {"least_sure": 1.0}, {"rungs": ("nothing_such",)}],
)
def test_a_profile_that_cannot_be_is_refused(settings):
    with pytest.raises(SettingsError):
        Ladder(Profile(**settings))


def test_one_protocol_for_all_turns_is_never_left():
    from toolhand.protocols.json import PROTOCOL  # noqa: PLC0415

    way = way_of(PROTOCOL, "s")
    assert way.heard(BAD) is None
    assert way.protocol is PROTOCOL
    assert not way.checks_values


async def test_a_run_steps_down_visibly_and_answers():
    script = [
        "",
        "",
        '{"fits": true, "calls": [{"tool": "get_weather", "args": {"city": "Oslo"}}]}',
        "21 °C in Oslo.",
    ]
    agent = Agent(ScriptedModel(script), tools=[get_weather])
    events = []
    run = await agent.run("Oslo?", session="s", on_event=events.append)
    assert run.output == "21 °C in Oslo."
    assert [event.protocol for event in events if isinstance(event, TurnStarted)] == ["native"] * 2 + [
        "constrained"
    ] * 2
    assert [event.reason for event in events if isinstance(event, SteppedDown)] == ["unusable"]


async def test_a_step_is_remembered_in_the_session_and_coming_up_is_tried():
    agent = Agent(ScriptedModel(["", "", *["Hello."] * 12]), tools=[get_weather])
    events = []
    for _ in range(9):
        await agent.run("Hi", session="s", on_event=events.append)
    stood = [event.protocol for event in events if isinstance(event, TurnStarted)]
    assert stood == ["native"] * 2 + ["constrained"] * 8 + ["native"]
    assert [event.next_protocol for event in events if isinstance(event, SteppedUp)] == ["native"]
    events.clear()
    await agent.run("Hi", session="other", on_event=events.append)
    assert [event.protocol for event in events if isinstance(event, TurnStarted)] == ["native"]


async def test_a_server_without_tools_is_asked_otherwise_at_once():
    agent = Agent(ScriptedModel([REFUSED, REFUSED, "Hello.", "Hello again."]), tools=[get_weather])
    events = []
    run = await agent.run("Hi", on_event=events.append)
    assert run.output == "Hello."
    assert [event.next_protocol for event in events if isinstance(event, SteppedDown)] == [
        "constrained",
        "json",
    ]
    assert (await agent.run("Hi")).output == "Hello again."


CALL = '{"fits": true, "calls": [{"tool": "get_weather", "args": {"city": "Oslo"}}]}'
ANSWER = '{"fits": false, "answer": "No tool for that."}'


def output(text, fit):
    odds = (
        Odds('{"', {}),
        Odds("fits", {}),
        Odds('":', {}),
        Odds(" true", {" true": fit, " false": 1 - fit, " 1": 0.0}),
    )
    return ModelOutput(text=text, odds=odds, usage=Usage(requests=1, input_tokens=10))


def word(yes):
    return ModelOutput(text="yes", odds=(Odds("yes", {"yes": yes, "no": 1 - yes}),), usage=Usage(requests=1))


def doubting():
    return Ladder(Profile(rungs=("constrained",), least_sure=0.5))


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("text", "fit", "yes", "is_called"),
    [
        ("The weather in Oslo?", 0.95, None, True),
        ("The weather in Oslo?", 0.7, 0.9, True),
        ("The weather in Oslo?", 0.7, 0.6, False),
        ("What is love?", 0.7, 0.3, False),
        ("What is love?", 0.95, 0.6, False),
    ],
)
async def test_a_call_that_is_not_sure_to_be_meant_becomes_an_answer(streams, text, fit, yes, is_called):
    script = [output(CALL, fit), *([] if yes is None else [word(yes)]), ANSWER]
    model = ScriptedModel(script)
    agent = Agent(model, tools=[get_weather], protocol=doubting())
    events = []
    if streams:
        events = [event async for event in agent.stream(text)]
    else:
        await agent.run(text, on_event=events.append)
    run = events[-1].run
    assert run.output == "No tool for that."
    assert len(run.calls) == is_called
    assert run.usage.requests == (2 + (yes is not None) if is_called else 3)
    again = [event for event in events if isinstance(event, AskedAgain)]
    assert [event.is_kept for event in again] == ([] if yes is None else [is_called])
    if yes is not None:
        question = model.requests[1]
        assert question.grammar is None
        assert question.sampling.max_tokens == 1
        assert "yes or no" in question.messages[0].text
    if not is_called:
        plain = model.requests[2]
        assert (plain.grammar, plain.tools) == (None, ())
        assert [message.text for message in plain.messages][1:] == [text]
        assert "cannot look them up" in plain.messages[0].text


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("fit", "yes", "is_called"),
    [(0.4, 0.95, True), (0.4, 0.3, False), (0.1, 0.7, False), (0.01, None, False)],
)
async def test_an_answer_that_is_not_sure_to_be_meant_becomes_a_call(streams, fit, yes, is_called):
    doubted = '{"fits": false, "answer": "It is warm."}'
    script = [output(doubted, fit), *([] if yes is None else [word(yes)]), *([CALL] if is_called else [])]
    model = ScriptedModel([*script, '{"fits": false, "answer": "21 degrees."}'])
    agent = Agent(model, tools=[get_weather], protocol=doubting())
    events = []
    if streams:
        events = [event async for event in agent.stream("The weather in Oslo?")]
    else:
        await agent.run("The weather in Oslo?", on_event=events.append)
    run = events[-1].run
    assert len(run.calls) == is_called
    assert run.text == ("21 degrees." if is_called else "It is warm.")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) in ("", run.text)
    again = [event for event in events if isinstance(event, AskedAgain)]
    assert [event.is_kept for event in again] == ([] if yes is None else [not is_called])
    if is_called:
        assert list(model.requests[2].grammar["properties"]) == ["fits", "calls"]
        assert model.requests[2].messages == model.requests[0].messages


async def test_a_call_that_replaces_an_answer_is_made_of_what_was_said():
    asks = '{"fits": false, "answer": "In which city?"}'
    model = ScriptedModel([output(asks, 0.4), word(0.95), CALL.replace("Oslo", "Paris")])
    heard = []
    run = await Agent(model, tools=[get_weather], protocol=doubting()).run(
        "How is the weather?", on_event=heard.append
    )
    assert run.text == "In which city?"
    assert not run.calls
    assert [event.is_kept for event in heard if isinstance(event, AskedAgain)] == [True]
    assert run.usage.requests == 3


async def test_once_results_have_come_nobody_doubts():
    second = CALL.replace("Oslo", "Rome")
    model = ScriptedModel([output(CALL, 0.95), output(second, 0.1), ANSWER])
    run = await Agent(model, tools=[get_weather], protocol=doubting()).run("Oslo, and then?")
    assert len(run.calls) == 2


async def test_a_server_that_tells_no_odds_is_not_asked_twice():
    model = ScriptedModel([CALL, ANSWER])
    run = await Agent(model, tools=[get_weather], protocol=doubting()).run("What is love?")
    assert len(run.calls) == 1


def test_how_sure_it_was_is_read_from_the_word_of_the_decision():
    assert fit_of(
        (Odds('{"fits', {}), Odds('":', {}), Odds(" false", {" true": 0.2, "true": 0.1, " false": 0.3}))
    ) == (pytest.approx(0.5))
    assert fit_of(()) is None
    assert fit_of((Odds("true", {}),)) is None
    assert fit_of((Odds('{"answer": "', {"x": 1.0}),)) is None
    assert yes_of((Odds("Yes", {"Yes": 0.5, " yes": 0.1, "No": 0.2, "Maybe": 0.2}),)) == pytest.approx(0.75)
    assert yes_of(()) is None


@pytest.mark.parametrize(
    "weaker", [{"yes": 0.6}, {"share": 0.5}, {"share": None}, {"taken": 1}, {"has_choice": False}]
)
def test_each_sign_counts(weaker):
    signs = {"yes": 0.9, "share": 1.0, "taken": 3, "has_choice": True}
    assert 0 < sureness(Signs(**signs | weaker)) < sureness(Signs(**signs)) < 1


def test_what_nobody_said_a_word_of_is_not_meant_however_sure_the_model_was():
    assert sureness(Signs(yes=1.0, share=0.0, taken=0, has_choice=True)) < 0.1


@pytest.mark.parametrize("others", [0, 1])
async def test_a_single_tool_has_to_fit_better_than_one_that_was_chosen(others):
    @tool
    def get_time(city: str) -> str:
        """What time it is in a city."""
        return "12:00"

    model = ScriptedModel([output(CALL, 0.7), word(0.75), ANSWER])
    run = await Agent(model, [get_weather, get_time][: 1 + others], protocol=doubting()).run(
        "The weather in Oslo?"
    )
    assert len(run.calls) == others


def test_a_structured_call_from_a_server_that_forces_nothing_counts():
    reply = Reply(calls=(ToolCall(id="c", name="get_weather"),))
    assert climb_of().heard(reply) is None
    assert RawCall(id="c", name="get_weather").arguments is None
