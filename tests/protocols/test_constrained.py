"""The schema of a reply, the tools as signatures, and the reading of what was forced."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from itertools import count, pairwise
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timing import cpu_seconds
from toolhand import Toolset, tool
from toolhand.arguments.settings import DEFAULT
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import Message, Sampling, ToolCall, ToolResult, Value, user
from toolhand.core.tools import Tool, ToolChoice
from toolhand.models.local import connect
from toolhand.models.weights import find, pull
from toolhand.protocols.constrained import PROTOCOL, goes_round
from toolhand.protocols.reply_schema import LARGEST, reply_schema
from toolhand.protocols.signatures import signature
from toolhand.toolset import Toolset as Tools

AUTO = ToolChoice()


@tool
def clock() -> str:
    """The time now."""
    return "12:00"


@tool
def set_lamp(room: Literal["attic", "cellar"], level: int = 50) -> str:
    """Sets a lamp.

    Args:
        room: Which room.
        level: How bright, in percent.
    """
    return f"{room} {level}"


@tool
def ship(to: dict[str, str], boxes: list[int]) -> str:
    """Ships boxes."""
    return f"{to} {boxes}"


TOOLS = Toolset([clock, set_lamp, ship])


def reader():
    numbers = count(1)
    return PROTOCOL.reader(TOOLS, lambda: f"c{next(numbers)}", DEFAULT)


def test_a_reply_is_calls_or_an_answer_and_the_decision_comes_first():
    schema = reply_schema(TOOLS, AUTO)
    calls, answer = schema["anyOf"]
    assert list(calls["properties"]) == ["fits", "calls"]
    assert list(answer["properties"]) == ["fits", "answer"]
    lamp = calls["properties"]["calls"]["items"]["anyOf"][1]["properties"]
    assert lamp["tool"] == {"const": "set_lamp"}
    assert lamp["args"]["properties"]["room"]["enum"] == ["attic", "cellar"]
    assert lamp["args"]["required"] == ["room"]
    assert "description" not in json.dumps(schema)


@pytest.mark.parametrize(
    ("choice", "branches", "names"),
    [
        (ToolChoice("required"), {"calls"}, {"clock", "set_lamp", "ship"}),
        (ToolChoice("required", ("clock",)), {"calls"}, {"clock"}),
        (ToolChoice("none"), {"answer"}, set()),
        (ToolChoice("auto", ("ship", "clock")), {"calls", "answer"}, {"clock", "ship"}),
    ],
)
def test_a_choice_leaves_only_what_it_allows(choice, branches, names):
    schema = reply_schema(TOOLS, choice)
    options = schema.get("anyOf", [schema])
    assert {key for option in options for key in option["properties"]} - {"fits"} == branches
    text = json.dumps(schema)
    assert {name for name in TOOLS.names if f'"{name}"' in text} == names


def test_without_tools_nothing_is_forced():
    assert reply_schema(Tools(), AUTO) is None


def test_names_of_parameters_that_are_words_of_json_schema_stay():
    odd = Tool(
        name="odd",
        parameters={
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "a"},
                "properties": {
                    "type": "object",
                    "properties": {"default": {"type": "integer", "default": 3}},
                },
            },
            "required": ["description"],
        },
    )
    arguments = reply_schema(Toolset([odd]), AUTO)["anyOf"][0]["properties"]["calls"]["items"]["properties"][
        "args"
    ]
    assert arguments["properties"]["description"] == {"type": "string"}
    assert arguments["properties"]["properties"]["properties"]["default"] == {"type": "integer"}


def test_a_schema_of_very_many_tools_stays_small():
    many = [replace(set_lamp, name=f"set_lamp_{number}") for number in range(2000)]
    schema = reply_schema(Toolset(many), AUTO)
    assert len(json.dumps(schema)) < LARGEST
    assert "set_lamp_1999" in json.dumps(schema)


def test_a_signature_says_what_the_schema_says():
    assert signature(set_lamp) == (
        "// Sets a lamp.\n"
        'set_lamp(room: "attic" | "cellar" /* Which room. */, level?: integer /* How bright, in percent.; Default 50 */)'
    )
    assert signature(clock) == "// The time now.\nclock()"


def test_a_signature_of_a_type_that_holds_itself_ends():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    nested = Tool(
        name="walk",
        parameters={
            "type": "object",
            "properties": {"node": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": node},
        },
    )
    assert signature(nested).startswith("walk(node?: {next?: {")
    assert len(signature(nested)) < 300


CALLS = '{"fits": true, "calls": [{"tool": "set_lamp", "args": {"room": "attic"}}, {"tool": "clock", "args": {}}]}'
REPLIES = [
    CALLS,
    '{"fits": false, "answer": "It is \\"late\\"\\nand \\u6674 \\ud83d\\ude00 done."}',
    '{"reply": {"fits": false, "answer": "Yes, {so} it is."}}',
    '```json\n{"fits": false, "answer": "In a fence."}\n```',
    '{"fits": false, "answer": "cut of',
    '{"fits": false, "answer": "half an escape \\u67',
    '{"fits": false, "answer": "a lone \\ud83d surrogate"}',
    '{"answer": "without the decision"}',
    "Plain words, as from a server that forces nothing.",
    '{"city": "Rome", "sights": ["Forum"]}',
    '{"fits": false, "answer": "' + "word " * 300 + '"}',
    " " * 500 + '{"fits": false, "answer": "late"}',
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(text=st.sampled_from(REPLIES), cuts=st.lists(st.integers(0, 600), max_size=10))
def test_any_chunking_gives_the_same_reply_and_what_was_shown_begins_it(text, cuts):
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    streaming = reader()
    shown = "".join(streaming.feed(text[begin:end]) for begin, end in pairwise(edges))
    reply, whole = streaming.finish(), reader().read(text)
    assert reply == whole
    assert (reply.text or "").startswith(shown)


@given(answer=st.text(max_size=80), is_ascii=st.booleans())
def test_a_string_is_decoded_as_json_says(answer, is_ascii):
    answer = "Well: " + answer.replace("{", "").replace("<", "").replace("[", "").replace("`", "")
    written = json.dumps({"fits": False, "answer": answer}, ensure_ascii=is_ascii)
    plain = reader().read(answer)
    assert reader().read(written).text == plain.text


def test_calls_are_bound_and_an_answer_is_shown_as_it_comes():
    reply = reader().read(CALLS)
    assert [(call.name, dict(call.arguments)) for call in reply.calls] == [
        ("set_lamp", {"room": "attic"}),
        ("clock", {}),
    ]
    streaming = reader()
    shown = [
        streaming.feed(word)
        for word in ('{"fits": false, "answer": "', "One two three four five six seven ", "eight")
    ]
    assert "One two three" in "".join(shown[:2])
    assert streaming.finish().text == "One two three four five six seven eight"


def test_a_call_that_is_cut_does_not_run():
    reply = reader().read('{"fits": true, "calls": [{"tool": "set_lamp", "args": {"room": "att', (), "length")
    assert not reply.calls
    assert reply.problems[0].code == ErrorCode.TRUNCATED


def test_reading_is_linear():
    def seconds(size: int) -> float:
        text = '{"fits": false, "answer": "' + "\\u6674a\\n" * size + '"}'

        def work() -> None:
            streaming = reader()
            for at in range(0, len(text), 64):
                streaming.feed(text[at : at + 64])
            streaming.finish()

        return cpu_seconds(work)

    assert seconds(80_000) < seconds(20_000) * 12


@pytest.mark.model
def test_the_embedded_model_is_forced_whatever_the_tools_look_like():
    pull(find("local:small"))
    model = connect("small", threads=1)
    many = Toolset([clock, set_lamp, ship, *(replace(set_lamp, name=f"lamp_{n}") for n in range(150))])

    async def ask():
        try:
            texts = []
            for tools, choice in (
                (TOOLS, ToolChoice("required", ("clock",))),
                (TOOLS, ToolChoice("required", ("ship",))),
                (TOOLS, ToolChoice("required", ("set_lamp",))),
                (TOOLS, ToolChoice("none")),
                (many.only("set_lamp", "lamp_7"), ToolChoice("required")),
            ):
                request = PROTOCOL.render([user("Ship 3 and 4 to Rome, attic lamp on!")], tools, choice, "en")
                request = replace(request, sampling=Sampling(max_tokens=80), odds=5)
                texts.append((await model.complete(request), choice))
            return texts
        finally:
            await model.close()

    for output, choice in asyncio.run(ask()):
        value = json.loads(output.text)
        assert value["fits"] is (choice.mode != "none")
        assert "\n" not in output.text.split('"answer"', maxsplit=1)[0], "no tokens are spent on line breaks"
        for call in value.get("calls", ()):
            assert not choice.names or call["tool"] in choice.names
            assert reader().read(output.text).calls or call["tool"] == "lamp_7"
        assert any("true" in odds.likely or "false" in odds.likely for odds in output.odds[:8])


def test_a_model_that_asks_again_for_what_it_has_may_only_answer():
    asked = Message(role="assistant", parts=(ToolCall(id="a", name="look", arguments={"x": 1}),))
    again = Message(role="assistant", parts=(ToolCall(id="b", name="look", arguments={"x": 1}),))
    other = Message(role="assistant", parts=(ToolCall(id="b", name="look", arguments={"x": 2}),))
    got = Message(role="tool", parts=(ToolResult(call_id="a", name="look", outcome=Value(1)),))
    assert goes_round([user("q"), asked, got, again, got])
    assert not goes_round([user("q"), asked, got, other, got])
    assert not goes_round([user("q"), asked, got])
    assert not goes_round([user("q"), asked, got, user("and now?"), again, got])


def invented(*tools: str) -> Message:
    error = ToolError(
        code=ErrorCode.INVALID_ARGUMENT,
        message="Nobody gave it.",
        details={"invented": "x", "tools": list(tools)},
    )
    return Message(role="tool", parts=(ToolResult(call_id="c1", name="ship", outcome=error),))


@pytest.mark.parametrize(
    ("last", "choice", "names"),
    [
        (invented("clock"), AUTO, {"clock"}),
        (invented("clock", "set_lamp", "gone"), AUTO, {"clock", "set_lamp"}),
        (invented("clock"), ToolChoice("auto", ("ship",)), None),
        (invented(), AUTO, None),
        (user("Never mind."), AUTO, None),
    ],
)
def test_after_a_value_that_nobody_gave_only_the_tools_that_tell_it_are_left(last, choice, names):
    asked = Message(role="assistant", parts=(ToolCall(id="c1", name="ship", arguments={}),))
    request = PROTOCOL.render([user("Ship it."), asked, last], TOOLS, choice, "en")
    if names is None:
        assert "anyOf" in request.grammar
        return
    items = request.grammar["properties"]["calls"]["items"]
    options = items.get("anyOf", [items])
    assert {option["properties"]["tool"]["const"] for option in options} == names


@pytest.mark.parametrize(("beside", "is_forced"), [("clock", True), ("set_lamp", False)])
def test_where_the_step_before_was_called_beside_only_the_call_that_lacked_its_value_is_left(
    beside, is_forced
):
    calls = (ToolCall(id="c1", name="ship", arguments={}), ToolCall(id="c2", name=beside, arguments={}))
    ran = ToolResult(call_id="c2", name=beside, outcome=Value("12:00"))
    last = Message(role="tool", parts=(ran, *invented("clock").results))
    history = [user("Ship it."), Message(role="assistant", parts=calls), last]
    grammar = PROTOCOL.render(history, TOOLS, AUTO, "en").grammar
    assert ("anyOf" not in grammar) is is_forced
    if is_forced:
        assert grammar["properties"]["calls"]["items"]["properties"]["tool"] == {"const": "ship"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_follows_a_failure_does_not_speak_of_an_answer(language):
    asked = Message(role="assistant", parts=(ToolCall(id="c1", name="ship", arguments={}),))
    failed = PROTOCOL.render([user("Ship it."), asked, invented("clock")], TOOLS, AUTO, language)
    found = Message(role="tool", parts=(ToolResult(call_id="c1", name="ship", outcome=Value("sent")),))
    told = PROTOCOL.render([user("Ship it."), asked, found], TOOLS, AUTO, language)
    assert "answer" not in failed.messages[-1].text
    assert '"answer"' in told.messages[-1].text
    assert "{" not in told.messages[-1].text  # no answer to copy
