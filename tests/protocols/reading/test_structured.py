import pytest

from tests.protocols.reading.cases import tools_of
from toolhand.core.messages import RawCall
from toolhand.protocols.parse import reader

TOOLS = tools_of({"tools": ["find_bus", "get_clock", "order_food", "move_blind"]})


def finish(*calls, finish_reason="tool_calls", text=""):
    streaming = reader(TOOLS)
    streaming.feed(text)
    return streaming.finish(
        [RawCall(id=id_, name=name, arguments=arguments) for id_, name, arguments in calls], finish_reason
    )


@pytest.mark.parametrize("raw", ["", "  ", "null", None, "{}", "None"])
def test_empty_arguments_are_none(raw):
    (call,) = finish(("a", "get_clock", raw)).calls
    assert call.arguments == {}


@pytest.mark.parametrize(
    "name", ["find_bus<|channel|>commentary", "functions.find_bus", "default_api:find_bus", "FindBus"]
)
def test_names_are_cleaned(name):
    (call,) = finish(("a", name, '{"stop": "Rye"}')).calls
    assert call.name == "find_bus"


def test_ids_become_unique():
    reply = finish(("a", "get_clock", ""), ("a", "get_clock", ""), ("", "get_clock", ""))
    ids = [call.id for call in reply.calls]
    assert ids[0] == "a"
    assert len(set(ids)) == 3
    assert all(ids)


@pytest.mark.parametrize(
    "raw",
    [
        "{'stop': 'Rye',}",
        '{stop: "Rye"}',
        '{"stop": "Rye"',
        '"{\\"stop\\": \\"Rye\\"}"',
        '```json\n{"stop": "Rye"}\n```',
        '{"stop": "Rye"}{"stop": "Rye"}',
    ],
)
def test_arguments_are_mended(raw):
    (call,) = finish(("a", "find_bus", raw)).calls
    assert dict(call.arguments) == {"stop": "Rye"}
    assert call.fixes


def test_what_cannot_be_mended_says_where():
    reply = finish(("a", "move_blind", '{"percent": 2, "window": }'))
    assert not reply.calls
    assert reply.broken[0].id == "a"
    assert reply.problems[0].code == "invalid_json"
    assert "window" in reply.problems[0].message


def test_two_different_objects_are_not_one_call():
    assert finish(("a", "find_bus", '{"stop": "A"}{"stop": "B"}')).problems[0].code == "invalid_json"


@pytest.mark.parametrize(
    "raw",
    [
        '{"dishes": ["soup", "rice"',
        '{"dishes": ["soup"], "address": "5 Hi',
        '{"dishes": ["a"], "address": "b"',
    ],
)
def test_a_cut_call_never_runs_at_the_limit(raw):
    reply = finish(("a", "order_food", raw), finish_reason="length")
    assert not reply.calls
    assert reply.problems[0].code == "truncated"


def test_the_same_call_in_the_text_is_one_call():
    text = '<tool_call>{"name": "find_bus", "arguments": {"stop": "Rye"}}</tool_call>'
    assert len(finish(("a", "find_bus", '{"stop": "Rye"}'), text=text).calls) == 1
