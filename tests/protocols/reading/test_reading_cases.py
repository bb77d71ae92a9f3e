import pytest

from tests.protocols.reading.cases import load, squeezed, tools_of, view
from toolhand.protocols.parse import parse, reader

CASES = load()


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_is_read_as_meant(case):
    reply = parse(case["output"], tools_of(case))
    expect = case["expect"]
    assert [{"name": call.name, "arguments": dict(call.arguments)} for call in reply.calls] == expect["calls"]
    assert repr([list(call.arguments.values()) for call in reply.calls]) == repr(
        [
            [call["arguments"][key] for key in found.arguments]
            for call, found in zip(expect["calls"], reply.calls, strict=True)
        ]
    ), "3 is not 3.0 and not True"
    if "error" in expect:
        assert reply.problems
        assert reply.problems[0].code in expect["error"].split("|")
    if "text" in expect:
        assert squeezed(reply.text) == squeezed(expect["text"])


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_does_not_depend_on_the_cuts(case):
    tools, text = tools_of(case), case["output"]
    whole = view(parse(text, tools))
    for size in (1, 2, 5, 13):
        streaming = reader(tools)
        shown = "".join(streaming.feed(text[at : at + size]) for at in range(0, len(text), size))
        reply = streaming.finish()
        assert view(reply) == whole, f"in pieces of {size}"
        assert (reply.text or "").startswith(shown), f"in pieces of {size}"


def test_ids_are_unique():
    case = next(case for case in CASES if len(case["expect"]["calls"]) > 1)
    reply = parse(case["output"], tools_of(case))
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    assert all(call.id for call in reply.calls)


def test_a_broken_call_keeps_its_name_and_its_problem():
    reply = parse(
        '<tool_call>{"name": "find_bus", "arguments": {}}</tool_call>', tools_of({"tools": ["find_bus"]})
    )
    (broken,) = reply.broken
    assert broken.name == "find_bus"
    assert broken.problem is reply.problems[0]


def test_a_call_cut_by_the_limit_is_truncated():
    text = '{"tool": "find_bus", "args": {"stop": "Rye"}'
    tools = tools_of({"tools": ["find_bus"]})
    assert len(parse(text, tools).calls) == 1
    reply = parse(text, tools, finish_reason="length")
    assert not reply.calls
    assert reply.problems[0].code == "truncated"
