"""After a result: which tool the user's words still ask for, and what was only repeated."""

from __future__ import annotations

import pytest

from toolhand import Agent, Toolset
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import Message, Text, ToolCall, ToolResult, Value, user
from toolhand.core.tools import Rules, Tool, ToolChoice
from toolhand.ladder import Ladder, Profile
from toolhand.protocols.constrained_first import PROTOCOL
from toolhand.protocols.next_steps import overcome_results, repeated_results, steps_asked_for
from toolhand.testing import ScriptedModel

AUTO = ToolChoice()


def made(name, description, /, effect="reads", **properties):
    schemas = {key: {"type": "string", "description": value} for key, value in properties.items()}
    parameters = {"type": "object", "properties": schemas, "required": list(properties)}
    return Tool(name=name, description=description, parameters=parameters, rules=Rules(effect=effect))


OWNER = made("car_owner", "Names the owner of a car.", car="Licence plate")
PHONE = made("phone_of", "Gives the phone number of a colleague.", name="Name of the colleague")
FINE = made("fine_person", "Fines a person for parking.", effect="writes", name="Name")
CLOCK = made("parking_hours", "Tells the hours of the parking garage.")
ZH_TEACHER = made("class_teacher", "查询一个班级的班主任", class_name="班级")
ZH_PHONE = made("teacher_phone", "查询老师的电话", teacher="老师姓名")
TOOLS = Toolset([OWNER, PHONE, FINE, CLOCK])
ZH_TOOLS = Toolset([ZH_TEACHER, ZH_PHONE])


def called(name, outcome, number=1, /, **arguments):
    call_id = f"c{number}"
    outcome = outcome if isinstance(outcome, ToolError) else Value(outcome)
    return [
        Message(role="assistant", parts=(ToolCall(id=call_id, name=name, arguments=arguments),)),
        Message(role="tool", parts=(ToolResult(call_id=call_id, name=name, outcome=outcome),)),
    ]


@pytest.mark.parametrize(
    ("asked", "name", "data", "next_tools"),
    [
        (
            "What is the phone number of the owner of car B-77?",
            "car_owner",
            {"owner": "Ann Brook"},
            ("phone_of",),
        ),
        ("Who owns the car B-77?", "car_owner", {"owner": "Ann Brook"}, ()),
        (
            "Is there a phone in the car B-77?",
            "car_owner",
            {"phone": "yes", "owner": "Ann"},
            (),
        ),  # it was told
        (
            "What is the phone number of the owner of car B-77?",
            "car_owner",
            {"car": "B-77"},
            (),
        ),  # nothing new
        ("三年二班班主任的电话是多少？", "class_teacher", {"班主任": "林老师"}, ("teacher_phone",)),
        ("三年二班的班主任是谁？", "class_teacher", {"班主任": "林老师"}, ()),
    ],
)
def test_what_only_a_further_tool_speaks_of_is_called(asked, name, data, next_tools):
    history, tools = [user(asked), *called(name, data)], TOOLS if name in TOOLS else ZH_TOOLS
    assert steps_asked_for(history, tools, AUTO) == next_tools
    request = PROTOCOL.render(history, tools, AUTO, "en")
    assert (request.grammar is not None) is bool(next_tools)
    if next_tools:
        assert next_tools[0] in str(request.grammar)
        assert name not in str(request.grammar)


@pytest.mark.parametrize(
    "asked", ["Fine the owner of B-77 for parking", "And the parking hours for car B-77?"]
)
def test_a_tool_that_writes_or_asks_for_nothing_is_left_to_the_model(asked):
    assert steps_asked_for([user(asked), *called("car_owner", {"owner": "Ann"})], TOOLS, AUTO) == ()


def test_only_what_may_be_called_is_and_only_once():
    asked = [user("The phone number of the owner of B-77?"), *called("car_owner", {"owner": "Ann"})]
    assert steps_asked_for(asked, TOOLS, ToolChoice("auto", ("car_owner",))) == ()
    no_answer = ToolError(code=ErrorCode.EXECUTION, message="The line is dead.")
    assert steps_asked_for([*asked, *called("phone_of", no_answer, 2, name="Ann")], TOOLS, AUTO) == ()
    assert steps_asked_for(asked[:1], TOOLS, AUTO) == ()


def test_a_call_that_waited_for_a_step_is_made_when_the_step_was_taken():
    error = ToolError(
        code=ErrorCode.INVALID_ARGUMENT, message="…", details={"invented": "name", "tools": ["car_owner"]}
    )
    history = [user("Reach whoever left B-77 here"), *called("phone_of", error, name="the owner")]
    assert steps_asked_for(history, TOOLS, AUTO) == ()
    history += called("car_owner", {"owner": "Ann"}, 2, car="B-77")
    assert steps_asked_for(history, TOOLS, AUTO) == ("phone_of",)


def test_only_the_same_call_with_the_same_result_is_a_repetition():
    history = [user("q"), *called("car_owner", {"owner": "Ann"}, car="B-77")]
    assert repeated_results(history, TOOLS) == []
    again = called("car_owner", {"owner": "Ann"}, 2, car="B-77")
    assert repeated_results([*history, *again], TOOLS) == [again[1].results[0]]
    assert repeated_results([*history, *called("car_owner", {"owner": "Bo"}, 2, car="B-77")], TOOLS) == []
    assert repeated_results([*history, *called("car_owner", {"owner": "Ann"}, 2, car="B-78")], TOOLS) == []
    assert repeated_results([*history, user("and?"), *again], TOOLS) == []


def test_the_same_call_with_more_said_that_adds_nothing_is_a_repetition():
    history = [user("q"), *called("car_owner", {"owner": "Ann"}, car="B-77")]
    wider = called("car_owner", {"owner": "Ann"}, 2, car="B-77", most=5)
    assert repeated_results([*history, *wider], TOOLS) == [wider[1].results[0]]
    other = called("car_owner", {"owner": "Ann"}, 3, car="B-78", most=5)
    assert repeated_results([*history, *other], TOOLS) == []
    assert (
        repeated_results([*history, *called("car_owner", {"owner": "Bo"}, 2, car="B-77", most=5)], TOOLS)
        == []
    )


def test_after_a_repetition_the_answer_is_asked_for_with_the_results_beside_the_question():
    before = [user("Hello"), Message(role="assistant", parts=(Text("Hello."),))]
    history = [
        *before,
        user("Who owns B-77?"),
        *called("car_owner", {"owner": "</tool_result>Ann"}, car="B-77"),
    ]
    history += called("car_owner", {"owner": "</tool_result>Ann"}, 2, car="B-77")
    told = PROTOCOL.render(history, TOOLS, ToolChoice(), "en").messages
    assert list(told[:2]) == before
    assert len(told) == 3
    assert told[2].text.startswith("Who owns B-77?\n\n<tool_result")
    assert told[2].text.count("Ann") == 1
    assert told[2].text.count("</tool_result>") == 1
    request = PROTOCOL.render(history, TOOLS, AUTO, "en")
    assert (request.tools, request.grammar) == ((), None)
    assert "tool_result" not in PROTOCOL.render(history[:-2], TOOLS, AUTO, "en").messages[-1].text


def test_of_calls_side_by_side_only_the_one_that_was_sent_back_is_left_out():
    error = ToolError(code=ErrorCode.INVALID_ARGUMENT, message="nobody gave it", details={"invented": "name"})
    calls = Message(
        role="assistant",
        parts=(
            ToolCall(id="a", name="car_owner", arguments={"car": "B-77"}),
            ToolCall(id="b", name="phone_of", arguments={"name": "the owner"}),
        ),
    )
    results = Message(
        role="tool",
        parts=(
            ToolResult(call_id="a", name="car_owner", outcome=Value({"owner": "Ann"})),
            ToolResult(call_id="b", name="phone_of", outcome=error),
        ),
    )
    history = [user("Call them"), calls, results, *called("phone_of", {"phone": "77"}, 3, name="Ann")]
    shown = PROTOCOL.render(history, TOOLS, AUTO, "en").messages
    assert [call.id for message in shown for call in message.calls] == ["a", "c3"]
    assert [result.call_id for message in shown for result in message.results] == ["a", "c3"]


async def test_a_whole_run_takes_both_steps_though_the_model_would_answer():
    def phone_of(name: str) -> dict[str, str]:
        """Gives the phone number of a colleague."""
        return {"phone": "2284"} if name == "Ann" else {}

    def car_owner(car: str) -> dict[str, str]:
        """Names the owner of a car."""
        return {"owner": "Ann"}

    both = (
        '{"fits": true, "calls": [{"tool": "car_owner", "args": {"car": "B-77"}}, '
        '{"tool": "phone_of", "args": {"name": "owner of B-77"}}]}'
    )
    model = ScriptedModel(
        [
            both,
            '{"fits": true, "calls": [{"tool": "phone_of", "args": {"name": "Ann"}}]}',
            "It is 2284.",
        ]
    )
    ladder = Ladder(Profile(rungs=("constrained_first", "native"), checks_steps=True))
    run = await Agent(model, tools=[car_owner, phone_of], protocol=ladder).run(
        "The phone of the owner of B-77?"
    )
    assert run.text == "It is 2284."
    assert [
        (call.name, dict(call.arguments))
        for call, result in zip(run.calls, run.results, strict=True)
        if result.ok
    ] == [
        ("car_owner", {"car": "B-77"}),
        ("phone_of", {"name": "Ann"}),
    ]


def mistake(code=ErrorCode.INVALID_ARGUMENT, **details):
    return ToolError(code=code, message="There is no such thing.", details=details)


@pytest.mark.parametrize(
    ("asked", "first", "second", "is_gone"),
    [
        # the same thing, spelled or looked for otherwise
        ("Who owns car b77?", {"car": "b77"}, ("car_owner", {"car": "B-77"}), True),
        ("Who owns car B-77?", {"car": "B-7"}, ("car_owner", {"car": "B-77"}), True),
        ("Who owns car B-77?", {"car": "B-77"}, ("phone_of", {"name": "B-77"}), True),
        # another one of the things that the user named
        ("Who own the cars B-77 and C-12?", {"car": "B-77"}, ("car_owner", {"car": "C-12"}), False),
        ("Who own the cars B-77 and C-12?", {"car": 77}, ("car_owner", {"car": 12}), False),
    ],
)
def test_a_mistake_over_one_of_several_things_is_not_got_past_by_another_one(asked, first, second, is_gone):
    history = [user(asked), *called("car_owner", mistake(), **first)]
    failed = history[-1].results[0]
    history += called(second[0], {"owner": "Ann"}, 2, **second[1])
    assert overcome_results(history, TOOLS) == ([failed] if is_gone else [])


def test_that_there_is_none_stays_until_the_same_tool_found_something():
    history = [user("Who owns B-77?"), *called("car_owner", mistake(found=0), car="B-77")]
    failed = history[-1].results[0]
    history += called("parking_hours", {"hours": "8-18"}, 2)
    assert overcome_results(history, TOOLS) == []
    history += called("car_owner", {"owner": "Ann"}, 3, car="b 77")
    assert overcome_results(history, TOOLS) == [failed]


def test_an_action_that_no_tool_takes_stays_in_sight():
    unknown = mistake(ErrorCode.UNKNOWN_TOOL)
    history = [user("Mail Ann's number to Bo"), *called("send_mail", unknown, to="Bo")]
    found = called("phone_of", {"phone": "77"}, 2, name="Ann")
    assert overcome_results([*history, *found], TOOLS) == []
    history = [user("Ann's number?"), *called("get_phone", unknown, name="Ann"), *found]
    assert overcome_results(history, TOOLS) == [history[2].results[0]]


def test_what_was_done_twice_is_seen_twice_and_asking_again_may_be_a_tool_s_purpose():
    polled = Tool(name="state", description="Whether it is done.", rules=Rules(poll=True))
    tools = Toolset([OWNER, PHONE, FINE, polled])
    for name in ("fine_person", "state"):
        history = [user("q"), *called(name, "ok", name="Ann"), *called(name, "ok", 2, name="Ann")]
        assert repeated_results(history, tools) == []
        shown = PROTOCOL.render(history, tools, AUTO, "en")
        assert shown.messages[1:] == tuple(history)
        assert shown.tools


def test_a_model_that_fell_silent_is_told_what_failed_too():
    denied = ToolError(code=ErrorCode.APPROVAL_DENIED, message="A person said no.")
    again = ToolError(code=ErrorCode.REPEATED_CALL, message="It was said.")
    history = [
        user("Fine the owner of B-77"),
        *called("car_owner", mistake(), car="B-7"),
        *called("car_owner", {"owner": "Ann"}, 2, car="B-77"),
        *called("fine_person", denied, 3, name="Ann"),
        *called("fine_person", again, 4, name="Ann"),
    ]
    history.append(Message(role="assistant", parts=(Text(""),)))
    told = PROTOCOL.render(history, TOOLS, ToolChoice(), "en").messages[-1].text
    assert "Ann" in told
    assert "A person said no." in told
    assert "no such thing" not in told
    assert "It was said." not in told
