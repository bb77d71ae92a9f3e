"""Runs whose answer is a value of a type."""

from __future__ import annotations

import dataclasses
import json
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from tests.sessions.histories import check_invariants, on_wire
from toolhand import Agent, Limits, Session, tool
from toolhand.core.approvals import Approve
from toolhand.core.errors import ModelError, ModelFault, SettingsError, ToolFailure
from toolhand.core.events import LimitReached, RunFinished, TextDelta
from toolhand.core.messages import Message, Note, RawCall
from toolhand.testing import ScriptedModel


class Weather(BaseModel):
    """The weather of a day."""

    city: str
    degrees: int = Field(ge=-90, le=60)
    sky: Literal["clear", "cloudy", "rain"] = "clear"


@tool
def get_weather(city: str) -> dict[str, object]:
    """The weather now."""
    return {"city": city, "degrees": 21}


GOOD = {"city": "北京", "degrees": 21}


def final(arguments, id_="f1"):
    return RawCall(id=id_, name="final_answer", arguments=json.dumps(arguments, ensure_ascii=False))


def look(id_="c1"):
    return RawCall(id=id_, name="get_weather", arguments='{"city": "北京"}')


def notes(request):
    return [part.text for message in request.messages for part in message.parts if isinstance(part, Note)]


def shown(request):
    return "\n".join(part.text for m in request.messages for part in m.parts if hasattr(part, "text"))


class Late(ScriptedModel):
    """A model that is offered the tool for its answer only at the end, as the embedded one."""

    answers_late = True


# ---------------------------------------------------------------------- by tool
async def test_a_model_with_tools_answers_by_a_tool():
    model = ScriptedModel([look(), final(GOOD)])
    run = await Agent(model, tools=[get_weather], output=Weather).run("北京天气怎么样？")
    assert run.output == Weather(city="北京", degrees=21)
    assert run.stopped == "answered"
    assert json.loads(run.text) == GOOD
    assert [call.name for call in run.calls] == ["get_weather"]
    assert [t.name for t in model.requests[0].tools] == ["get_weather", "final_answer"]
    assert "final_answer" in shown(model.requests[0])
    assert run.messages[-1] == Message(role="assistant", parts=run.messages[-1].parts)
    assert not run.messages[-1].calls  # the next run of the session needs no such tool
    check_invariants(on_wire(run.messages))


async def test_what_is_wrong_goes_back_to_the_model():
    model = ScriptedModel([final({"city": "北京", "degrees": 200}), final(GOOD, "f2")])
    run = await Agent(model, tools=[get_weather], output=Weather).run("天气？")
    assert run.output == Weather(**GOOD)
    result = model.requests[1].messages[-1].results[0]
    assert result.call_id == "f1"
    assert "60" in result.error.sentence
    check_invariants(on_wire(run.messages))


async def test_arguments_are_mended_as_those_of_any_call():
    model = ScriptedModel(
        [
            RawCall(
                id="f", name="final_answer", arguments="{'City': '北京', 'degrees': '二十一', 'sky': 'Rain',}"
            )
        ]
    )
    run = await Agent(model, tools=[get_weather], output=Weather).run("?")
    assert run.output == Weather(city="北京", degrees=21, sky="rain")


@pytest.mark.parametrize(
    "text",
    [
        'Here you are:\n```json\n{"city": "北京", "degrees": "21"}\n```',
        '{"name": "final_answer", "arguments": {"city": "北京", "degrees": 21}}',
        '<tool_call>{"name": "final_answer", "arguments": {"city": "北京", "degrees": 21}}</tool_call>',
        "{'city': '北京', 'degrees': 21}",
    ],
)
async def test_an_answer_in_words_is_read(text):
    run = await Agent(ScriptedModel([text]), tools=[get_weather], output=Weather).run("?")
    assert run.output == Weather(**GOOD)


async def test_an_answer_in_prose_is_asked_for_again_by_the_tool_alone():
    model = ScriptedModel([look(), "It is 21 degrees in Beijing.", final(GOOD)])
    run = await Agent(model, tools=[get_weather], output=Weather).run("How is the weather?")
    assert run.output == Weather(**GOOD)
    assert "no JSON value" in notes(model.requests[2])[-1]
    assert "call final_answer" in notes(model.requests[2])[-1]
    assert (model.requests[2].tool_choice.mode, model.requests[2].tool_choice.names) == (
        "required",
        ("final_answer",),
    )


async def test_an_answer_beside_other_calls_waits_for_their_results():
    model = ScriptedModel([[look(), final({"city": "x", "degrees": 1})], final(GOOD, "f2")])
    run = await Agent(model, tools=[get_weather], output=Weather).run("?")
    assert run.output == Weather(**GOOD)
    results = [result for m in model.requests[1].messages for result in m.results]
    assert [result.name for result in results] == ["get_weather", "final_answer"]
    assert results[0].data == GOOD
    assert "alone" in results[1].error.message
    check_invariants(on_wire(run.messages))


async def test_a_required_call_is_one_of_a_tool_and_not_the_answer():
    model = ScriptedModel([look(), final(GOOD)])
    await Agent(model, tools=[get_weather], output=Weather, tool_choice="required").run("?")
    assert model.requests[0].tool_choice.names == ("get_weather",)
    assert model.requests[1].tool_choice.mode == "auto"


async def test_an_answer_may_be_given_where_no_tool_may_be_called():
    model = ScriptedModel([final(GOOD)])
    run = await Agent(model, tools=[get_weather], output=Weather, tool_choice="none").run("?")
    assert run.output == Weather(**GOOD)
    assert model.requests[0].tool_choice.names == ("final_answer",)


# ---------------------------------------------------------------------- by schema
async def test_without_tools_the_server_is_given_the_schema():
    model = ScriptedModel(['{"city": "北京", "degrees": 21}'])
    run = await Agent(model, output=Weather).run("?")
    assert run.output == Weather(**GOOD)
    assert model.requests[0].grammar["properties"].keys() == {"city", "degrees", "sky"}
    assert model.requests[0].tools == ()
    assert "JSON Schema" in shown(model.requests[0])


@pytest.mark.parametrize("fault", [ModelFault.REFUSED, ModelFault.FAILED])
async def test_a_server_that_refuses_the_schema_is_asked_in_words(fault):
    def reply(request):
        if request.grammar is not None:
            raise ModelError("response_format is not supported", fault=fault, status=400)
        return "```json\n" + json.dumps(GOOD) + "\n```"

    model = ScriptedModel(reply)
    agent = Agent(model, output=Weather)
    assert (await agent.run("?")).output == Weather(**GOOD)
    assert len(model.requests) == 2


async def test_another_failure_of_the_server_is_the_callers():
    def reply(request):
        raise ModelError("no key", fault=ModelFault.KEY, status=401)

    model = ScriptedModel(reply)
    with pytest.raises(ModelError, match="no key"):
        await Agent(model, output=Weather).run("?")
    assert len(model.requests) == 1


async def test_a_small_model_works_as_ever_and_is_forced_at_the_end():
    model = Late([look(), "It is 21 degrees in Beijing.", json.dumps(GOOD)])
    run = await Agent(model, tools=[get_weather], output=Weather).run("How is the weather?")
    assert run.output == Weather(**GOOD)
    assert [t.name for t in model.requests[0].tools] == ["get_weather"]
    assert model.requests[1].grammar is None
    assert model.requests[2].grammar is not None
    assert model.requests[2].tool_choice.mode == "none"
    assert "degrees" in notes(model.requests[2])[-1]


async def test_a_forced_reply_is_an_answer_whatever_it_looks_like():
    class Asked(BaseModel):
        name: str
        arguments: dict[str, str]

    model = Late(["I would call it.", '{"name": "get_weather", "arguments": {"city": "北京"}}'])
    run = await Agent(model, tools=[get_weather], output=Asked).run("Which tool would you call?")
    assert run.output == Asked(name="get_weather", arguments={"city": "北京"})
    assert run.calls == ()


# ---------------------------------------------------------------------- prompted protocols
@pytest.mark.parametrize(
    ("protocol", "reply"),
    [
        ("json", '{"tool": "final_answer", "args": {"city": "北京", "degrees": 21}}'),
        ("react", 'Thought: I know.\nAction: final_answer\nAction Input: {"city": "北京", "degrees": 21}'),
        ("template", "[TOOL: final_answer]\ncity = 北京\ndegrees = 21\n[/TOOL]"),
    ],
)
@pytest.mark.parametrize("tools", [[get_weather], []])
async def test_every_protocol_gives_the_answer_in_its_own_spelling(protocol, reply, tools):
    model = ScriptedModel([reply])
    run = await Agent(model, tools=tools, output=Weather, protocol=protocol).run("天气？")
    assert run.output == Weather(**GOOD)
    assert "final_answer" in shown(model.requests[0])


async def test_a_small_model_is_forced_by_a_call_where_calls_are_text():
    model = Late(["It is 21 degrees.", '{"tool": "final_answer", "args": {"city": "北京", "degrees": 21}}'])
    run = await Agent(model, tools=[get_weather], output=Weather, protocol="json").run("天气？")
    assert run.output == Weather(**GOOD)
    assert "final_answer" not in shown(model.requests[0])
    assert "final_answer" in shown(model.requests[1])


async def test_without_tools_the_constrained_protocol_forces_the_answer_itself():
    model = ScriptedModel([json.dumps(GOOD)])
    run = await Agent(model, output=Weather, protocol="constrained").run("天气？")
    assert run.output == Weather(**GOOD)
    assert model.requests[0].grammar["properties"].keys() == {"city", "degrees", "sky"}
    assert "final_answer" not in shown(model.requests[0])


# ---------------------------------------------------------------------- how it ends
async def test_when_no_answer_is_right_the_run_ends_and_keeps_the_text():
    model = ScriptedModel(lambda request: "I really cannot say.")
    run = await Agent(model, tools=[get_weather], output=Weather).run("?")
    assert run.output is None
    assert run.stopped == "output_invalid"
    assert run.text == "I really cannot say."
    assert len(model.requests) == 3
    check_invariants(on_wire(run.messages))


async def test_a_wrong_call_may_be_the_last_word_too():
    model = ScriptedModel(lambda request: final({"city": "北京"}))
    run = await Agent(model, output=Weather, tools=[get_weather], limits=Limits(repairs=2)).run(
        "?", session=(session := Session())
    )
    assert (run.output, run.stopped, len(model.requests)) == (None, "output_invalid", 2)
    assert json.loads(run.text) == {"city": "北京"}
    check_invariants(on_wire(run.messages))
    assert not session.is_under_way


async def test_other_calls_between_two_wrong_answers_begin_the_count_anew():
    bad = {"city": "北京"}
    model = ScriptedModel([final(bad), look("c1"), final(bad), look("c2"), final(GOOD)])
    run = await Agent(model, tools=[get_weather], output=Weather, limits=Limits(repairs=2)).run("?")
    assert run.output == Weather(**GOOD)


async def test_at_a_limit_the_best_answer_has_the_type_too():
    model = ScriptedModel([look("c1"), look("c2"), final(GOOD)])
    events = []
    run = await Agent(model, tools=[get_weather], output=Weather, limits=Limits(turns=2)).run(
        "?", on_event=events.append
    )
    assert (run.output, run.stopped) == (Weather(**GOOD), "turn_limit")
    assert model.requests[2].tool_choice.names == ("final_answer",)
    assert LimitReached(limit="turn_limit") in events


async def test_at_a_limit_only_the_answer_counts():
    model = ScriptedModel([look("c1"), [look("c2"), final(GOOD)]])
    run = await Agent(model, tools=[get_weather], output=Weather, limits=Limits(turns=1)).run("?")
    assert (run.output, run.stopped) == (Weather(**GOOD), "turn_limit")
    assert len(run.calls) == 1
    check_invariants(on_wire(run.messages))


async def test_at_a_limit_a_wrong_answer_is_none():
    model = ScriptedModel([look("c1"), "No idea."])
    run = await Agent(model, tools=[get_weather], output=Weather, limits=Limits(turns=1)).run("?")
    assert (run.output, run.stopped, run.text) == (None, "turn_limit", "No idea.")


async def test_a_run_that_waits_for_a_person_has_no_value_yet():
    @tool(approval=True, effect="writes")
    def book(city: str) -> str:
        """Books."""
        return "booked"

    model = ScriptedModel([RawCall(id="b", name="book", arguments='{"city": "北京"}'), final(GOOD)])
    agent = Agent(model, tools=[book], output=Weather)
    run = await agent.run("?", session=(session := Session()))
    assert (run.output, run.stopped) == (None, "approval")
    resumed = await agent.resume(session, {run.pending[0].approval_id: Approve()})
    assert resumed.output == Weather(**GOOD)


async def test_an_empty_reply_is_no_answer():
    model = ScriptedModel(["", final(GOOD)])
    run = await Agent(model, tools=[get_weather], output=Weather).run("?")
    assert run.output == Weather(**GOOD)


# ---------------------------------------------------------------------- validators, sessions, streams
async def test_a_validator_sends_its_words_back():
    async def plausible(weather):
        if weather.degrees > 50:
            raise ToolFailure("That is hotter than any place on earth: look again.")

    model = ScriptedModel([final({"city": "北京", "degrees": 55}), final(GOOD, "f2")])
    run = await Agent(model, tools=[get_weather], output=Weather, output_validator=plausible).run("?")
    assert run.output == Weather(**GOOD)
    assert "hotter than any place" in model.requests[1].messages[-1].results[0].error.message


async def test_the_next_run_of_the_session_goes_on():
    session = Session()
    model = ScriptedModel([look(), final(GOOD), "It is colder there."])
    await Agent(model, tools=[get_weather], output=Weather).run("?", session=session)
    run = await Agent(model, tools=[get_weather]).run("And in Harbin?", session=session)
    assert run.output == "It is colder there."
    check_invariants(on_wire(model.requests[-1].messages))


async def test_one_run_may_have_a_type_of_its_own():
    agent = Agent(ScriptedModel(["42", "plain words"]))
    assert (await agent.run("?", output=int)).output == 42
    assert (await agent.run("?")).output == "plain words"


async def test_str_is_what_it_is_anyway():
    run = await Agent(ScriptedModel(["words"]), output=str).run("?")
    assert (run.output, run.stopped) == ("words", "answered")


async def test_a_stream_ends_with_the_value_and_shows_no_half_of_it():
    model = ScriptedModel(["I look first.", json.dumps(GOOD)], chunk_size=3)
    events = [event async for event in Agent(model, output=Weather).stream("?")]
    assert not any(isinstance(event, TextDelta) for event in events)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].run.output == Weather(**GOOD)


async def test_words_come_in_the_runs_language():
    model = ScriptedModel(["二十一度。", final(GOOD)])
    await Agent(model, tools=[get_weather], output=Weather).run("北京天气怎么样？")
    assert "调用 final_answer" in shown(model.requests[0])
    assert "没有可以作为答案的 JSON 值" in notes(model.requests[1])[-1]
    assert not any(word in notes(model.requests[1])[-1] for word in ("Give", "There is"))


@pytest.mark.parametrize(
    "wrong", [{"output": lambda: 1}, {"output": int, "output_validator": [3]}, {"output_validator": len}]
)
def test_what_cannot_be_is_refused_at_once(wrong):
    with pytest.raises(SettingsError, match="output"):
        Agent(ScriptedModel("x"), **wrong)


async def test_dataclasses_and_lists_of_them():
    @dataclasses.dataclass
    class Point:
        x: int

    model = ScriptedModel([final({"answer": [{"x": "1"}, {"x": 2}]})])
    run = await Agent(model, tools=[get_weather], output=list[Point]).run("?")
    assert run.output == [Point(1), Point(2)]


async def test_what_a_plan_returns_is_the_answer():
    model = ScriptedModel(['get_weather(city="北京") -> w\nreturn $w'])
    run = await Agent(model, tools=[get_weather], output=Weather, protocol="plan").run("天气？")
    assert run.output == Weather(**GOOD)


async def test_a_wrong_plan_answer_goes_back():
    model = ScriptedModel(
        ['get_weather(city="北京") -> w\nreturn "nothing"', 'get_weather(city="上海") -> w\nreturn $w']
    )
    run = await Agent(model, tools=[get_weather], output=Weather, protocol="plan").run("天气？")
    assert run.output == Weather(city="上海", degrees=21)


# ---------------------------------------------------------------------- the embedded model
class Bill(BaseModel):
    """A bill that was read."""

    number: str
    total: float


@pytest.mark.model
async def test_the_embedded_model_reads_a_text():
    agent = Agent("local:small", output=Bill)
    run = await agent.run("Bill B-17: three lamps, 120.50 euros in all. Give its number and its total.")
    await agent.close()
    assert run.stopped == "answered"
    assert isinstance(run.output, Bill)
    assert run.output.total == 120.5


@pytest.mark.model
async def test_the_embedded_model_answers_from_a_tools_result():
    agent = Agent("local:small", tools=[get_weather], output=Weather)
    run = await agent.run("北京现在多少度？")
    await agent.close()
    assert {call.name for call in run.calls} == {"get_weather"}  # so small a model may ask more than once
    assert isinstance(run.output, Weather)
    assert run.output.degrees == 21
