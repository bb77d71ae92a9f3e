"""Constrained until a call has had a result, native from there on, and constrained again for the user's next words."""

from __future__ import annotations

import json

import pytest

from toolhand import Agent, Toolset, tool
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import TextDelta
from toolhand.core.messages import Message, Note, Text, ToolCall, ToolResult, Value, system, user
from toolhand.core.tools import ToolChoice
from toolhand.ladder import Ladder, Profile
from toolhand.protocols.constrained import PROTOCOL as CONSTRAINED
from toolhand.protocols.constrained_first import PROTOCOL
from toolhand.protocols.next_steps import has_result, opens_a_step
from toolhand.testing import ScriptedModel

AUTO = ToolChoice()


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"21 °C in {city}"


TOOLS = Toolset([get_weather])
ASKED = user("How warm is it in Oslo?")
CALLED = Message(role="assistant", parts=(ToolCall(id="c1", name="get_weather", arguments={"city": "Oslo"}),))


def told(outcome):
    return Message(role="tool", parts=(ToolResult(call_id="c1", name="get_weather", outcome=outcome),))


FAILED = told(ToolError(code=ErrorCode.INVALID_ARGUMENT, message="No such city.", retryable=True))
FOUND = told(Value("21 °C"))


@pytest.mark.parametrize(
    ("history", "is_native"),
    [
        ([ASKED], False),
        ([ASKED, CALLED, FAILED], False),
        ([ASKED, CALLED, FOUND], True),
        ([ASKED, CALLED, FOUND, Message(role="user", parts=(Note("Go on."),))], True),
        ([ASKED, CALLED, FOUND, CALLED, FAILED], True),
        ([ASKED, CALLED, FOUND, Message(role="assistant", parts=(Text("21."),)), user("And Rome?")], False),
    ],
)
def test_a_result_is_where_it_turns(history, is_native):
    assert has_result(history) is is_native
    request = PROTOCOL.render(history, TOOLS, AUTO, "en")
    if not is_native:
        assert request == CONSTRAINED.render(history, TOOLS, AUTO, "en")
        return
    assert request.grammar is None
    assert [item.name for item in request.tools] == ["get_weather"]
    assert request.messages[1:] == tuple(history)
    assert "values found" in request.messages[0].text


@tool
def parcel_state(parcel_no: str) -> str:
    """Where a parcel is.

    Args:
        parcel_no: 运单号
    """
    return parcel_no


@pytest.mark.parametrize(
    ("data", "opens"),
    [
        ({"parcel_no": "P-7"}, True),
        ([{"运单号": "P-7", "city": "Oslo"}], True),
        ({"parcels": [{"Parcel_No": "P-7"}]}, True),
        ({"parcel_no": None}, False),
        ({"city": "Oslo"}, False),
        ("P-7", False),
    ],
)
def test_an_id_that_a_further_tool_asks_for_is_decided_on_under_the_schema(data, opens):
    tools = Toolset([get_weather, parcel_state])
    history = [ASKED, CALLED, told(Value(data))]
    assert opens_a_step(history, tools) is opens
    request = PROTOCOL.render(history, tools, AUTO, "en")
    assert (request.grammar is not None) is opens
    went_on = Message(
        role="assistant", parts=(ToolCall(id="c2", name="parcel_state", arguments={"parcel_no": "P-7"}),)
    )
    there = ToolResult(call_id="c2", name="parcel_state", outcome=Value({"parcel_no": "P-7", "at": "home"}))
    then = [*history, went_on, Message(role="tool", parts=(there,))]
    assert not opens_a_step(then, tools)
    assert PROTOCOL.render(then, tools, AUTO, "en").grammar is None


def test_what_was_sent_back_as_invented_is_not_shown_once_the_step_before_it_was_taken():
    error = ToolError(
        code=ErrorCode.INVALID_ARGUMENT, message="Nobody gave it.", details={"invented": "city"}
    )
    history = [ASKED, CALLED, told(error), CALLED, FOUND]
    request = PROTOCOL.render(history, TOOLS, AUTO, "en")
    assert request.messages[1:] == (ASKED, CALLED, FOUND)


def test_a_mistake_that_was_got_past_is_not_shown_but_what_stands_is():
    past = PROTOCOL.render([ASKED, CALLED, FAILED, CALLED, FOUND], TOOLS, AUTO, "en")
    assert past.messages[1:] == (ASKED, CALLED, FOUND)
    last = PROTOCOL.render([ASKED, CALLED, FOUND, CALLED, FAILED], TOOLS, AUTO, "en")
    assert last.messages[1:] == (ASKED, CALLED, FOUND, CALLED, FAILED)
    refused = told(ToolError(code=ErrorCode.APPROVAL_DENIED, message="No."))
    history = [ASKED, CALLED, refused, CALLED, FOUND]
    assert PROTOCOL.render(history, TOOLS, AUTO, "en").messages[1:] == tuple(history)
    history = [ASKED, CALLED, FAILED, CALLED, FOUND]
    writing = Toolset([tool(get_weather.function, effect="writes")])
    assert PROTOCOL.render(history, writing, AUTO, "en").messages[1:] == tuple(history)


def test_a_model_that_fell_silent_is_told_the_results_beside_the_question():
    silent = Message(role="assistant", parts=(Text(""),))
    again = Message(role="user", parts=(Note("Your reply was empty."),))
    request = PROTOCOL.render([ASKED, CALLED, FOUND, silent, again], TOOLS, AUTO, "en")
    assert [message.role for message in request.messages] == ["user"]
    assert not request.tools
    assert request.messages[0].text.startswith(ASKED.text)
    assert "21 °C" in request.messages[0].text


@pytest.mark.parametrize(("language", "word"), [("en", "values found"), ("zh", "数值")])
def test_a_users_instructions_stay_first(language, word):
    request = PROTOCOL.render([system("Be brief."), ASKED, CALLED, FOUND], TOOLS, AUTO, language)
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "tool"]
    assert request.messages[0].text.startswith("Be brief.\n\n")
    assert word in request.messages[0].text


def test_a_call_that_is_required_is_forced_with_results_too():
    request = PROTOCOL.render([ASKED, CALLED, FOUND], TOOLS, ToolChoice("required"), "en")
    assert request.grammar is not None


@pytest.mark.parametrize("streams", [False, True])
async def test_a_whole_run_and_the_users_next_words(streams):
    model = ScriptedModel(
        [
            '{"fits": true, "calls": [{"tool": "get_weather", "args": {"city": "Oslo"}}]}',
            "It is 21 °C in Oslo.",
            '{"fits": false, "answer": "You are welcome."}',
        ]
    )
    ladder = Ladder(Profile(rungs=("constrained_first", "native"), least_sure=0.3))
    agent = Agent(model, [get_weather], protocol=ladder, store="memory")
    runs = []
    for text in ("How warm is it in Oslo?", "Thanks."):
        if streams:
            events = [event async for event in agent.stream(text, session="s")]
            runs.append(events[-1].run)
        else:
            runs.append(await agent.run(text, session="s"))
    assert [run.text for run in runs] == ["It is 21 °C in Oslo.", "You are welcome."]
    first, second, third = model.requests
    assert (first.odds, second.odds, third.odds) == (20, 0, 20)
    assert [bool(request.tools) for request in model.requests] == [False, True, False]


@pytest.mark.parametrize("placeholder", ["your words", "“你的回答”"])
@pytest.mark.parametrize("streams", [False, True])
async def test_the_prompts_own_words_are_no_answer_to_a_failed_call(placeholder, streams):
    @tool
    def score(name: str) -> int:
        """The score of a pupil."""
        return {}[name]

    said = json.dumps({"fits": False, "answer": placeholder}, ensure_ascii=False)
    model = ScriptedModel(
        [
            '{"fits": true, "calls": [{"tool": "score", "args": {"name": "Bo"}}]}',
            said,
            "I could not find it out.",
        ]
    )
    ladder = Ladder(Profile(rungs=("constrained_first", "native"), least_sure=0.3))
    agent = Agent(model, [score], protocol=ladder, store="memory")
    if streams:
        events = [event async for event in agent.stream("What is the score of Bo?")]
        run = events[-1].run
        assert placeholder not in "".join(event.text for event in events if isinstance(event, TextDelta))
    else:
        run = await agent.run("What is the score of Bo?")
    assert run.text == "I could not find it out."
    assert model.requests[-1].grammar is None
    assert all(placeholder not in message.text for message in run.messages)
