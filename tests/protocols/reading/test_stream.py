import codecs
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.reading.cases import load, tools_of, view
from tests.timing import cpu_seconds
from toolhand.protocols.parse import parse, reader

CASES = load()


@settings(max_examples=400, deadline=None)
@given(case=st.sampled_from(CASES), cuts=st.lists(st.integers(0, 400), max_size=12))
def test_any_chunking_gives_the_same_reply(case, cuts):
    text, tools = case["output"], tools_of(case)
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    streaming = reader(tools)
    shown = "".join(streaming.feed(text[begin:end]) for begin, end in pairwise(edges))
    reply = streaming.finish()
    assert view(reply) == view(parse(text, tools))
    assert (reply.text or "").startswith(shown)


@settings(max_examples=200, deadline=None)
@given(
    pieces=st.lists(
        st.sampled_from(
            [
                "Hello there. ",
                "好的，",
                "\n",
                "1 < 2 ",
                "<b>x</b> ",
                "`code` ",
                "[link](u) ",
                "{x} ",
                "a: b\n",
                "```py\nf(1)\n```\n",
            ]
            + [case["output"] for case in CASES[::7]]
        ),
        max_size=6,
    ),
    size=st.integers(1, 9),
)
def test_what_was_shown_begins_the_text(pieces, size):
    text, tools = "".join(pieces), tools_of({"tools": ["find_bus", "save_file", "get_clock"]})
    streaming = reader(tools)
    shown = "".join(streaming.feed(text[at : at + size]) for at in range(0, len(text), size))
    reply = streaming.finish()
    assert view(reply) == view(parse(text, tools))
    assert (reply.text or "").startswith(shown)


def test_plain_prose_is_held_back_by_no_more_than_a_marker():
    streaming = reader(tools_of({"tools": ["find_bus"]}))
    text = "The harbour lies to the north, 1 < 2, and a<tool is no tag; see [1] and {x}. " * 3
    shown = 0
    for at, char in enumerate(text):
        shown += len(streaming.feed(char))
        assert at + 1 - shown <= 60
    assert shown > len(text) - 30


def test_text_goes_on_after_reasoning_and_code():
    streaming = reader(tools_of({"tools": ["find_bus"]}))
    text = "<think>hm</think>Here is the loop:\n```py\nfor x in y:\n    pass\n```\nIt runs over all of y and stops."
    assert streaming.feed(text).endswith("and stops.")


def test_bytes_may_be_cut_inside_a_character():
    text = '好的。<tool_call>\n{"name": "find_bus", "arguments": {"stop": "鼓楼🚌"}}\n</tool_call>'
    decoder = codecs.getincrementaldecoder("utf-8")()
    streaming = reader(tools_of({"tools": ["find_bus"]}))
    for byte in text.encode():
        streaming.feed(decoder.decode(bytes([byte])))
    assert dict(streaming.finish().calls[0].arguments) == {"stop": "鼓楼🚌"}


DAMAGE = [
    "<", "</", ">", "|>", "<|", "[", "]", "{", "}", "```", "\n", "`", '"', "</think>", "<think>", "<tool_call>", "[TOOL_CALLS]",
    "Action:", "好的，", "◁", "｜", "(", ")", "：", ",", "->", "<|im_end|>", "<function=", "\\", "[TOOL: ", "print(", " ", "> ", "/",
]  # fmt: skip


def damaged(text, noise):
    """The text with a few of its characters lost, swapped, or something put between them."""
    for _ in range(noise.choice((1, 1, 2, 3))):
        at, action = noise.randrange(len(text) + 1), noise.randrange(4)
        if action == 0:
            text = text[:at] + text[at + noise.randint(1, 6) :]
        elif action == 1:
            text = text[:at] + noise.choice(DAMAGE) + text[at:]
        elif action == 2:
            text = text[:at]
        else:
            text = text[:at] + text[at + 1 : at + 2] + text[at : at + 1] + text[at + 2 :]
    return text


def assert_promise(text, tools):
    """What is shown does not depend on how the text was cut, and begins what is said in the end."""
    by_character, at_once = reader(tools), reader(tools)
    shown = "".join(by_character.feed(char) for char in text)
    assert at_once.feed(text) == shown
    reply = by_character.finish()
    assert (reply.text or "").startswith(shown)
    assert view(reply) == view(parse(text, tools))


@settings(max_examples=400, deadline=None)
@given(case=st.sampled_from(CASES), noise=st.randoms(use_true_random=False))
def test_a_damaged_text_keeps_the_promise(case, noise):
    assert_promise(damaged(case["output"], noise), tools_of(case))


@pytest.mark.parametrize(
    "text",
    [
        "<｜l]▁>",
        "<tool/use_tool>",
        "<|STAR```T_ACTION|>>",
        "Here </think>is the tool that you asked for",
        "The next bus lea</think>ves at 10",
        "[TOOL<ction_start|><|plugni|>",
        '<tool_call "arguments": {"pad": 39}}ool_calls>',
        '<tool<tool_call>{"name": "get_clock"}</tool_call>',
        'Sure, _code\nprint(default_api.find_bus(stop="Rye"))\n```',
        'a<tooTOOL_CALL: {"name": "find_bus", "arguments": {"stop": "Rye"}}',
        "</longcat_tool_call\n\n[find_bus(stop=1)]",
        '```jso": 1}\n```\n<think>hm</think>\nBoth lamps are on.',
        "<|start_ehader_id|>assistant<|end",
    ],
)
def test_damaged_markers_keep_the_promise(text):
    assert_promise(text, tools_of({"tools": ["find_bus", "save_file", "get_clock"]}))


def test_what_is_shown_before_a_lone_end_of_reasoning_stays_said():
    tools = tools_of({"tools": ["find_bus"]})
    assert (
        parse("The bus leaves at ten.</think> No, at eleven.", tools).text
        == "The bus leaves at ten.\nNo, at eleven."
    )
    assert parse("I need the time</think> It is eleven.", tools).text == "It is eleven."


@pytest.mark.parametrize("blank", [" ", "\t", "> ", "* ", "_", " \n"])
def test_a_long_run_before_a_word_is_read_in_linear_time(blank):
    tools = tools_of({"tools": ["find_bus"]})
    parse(blank * 10 + '{"a": 1}', tools)
    taken = cpu_seconds(lambda: parse(blank * 2000 + '{"a": 1} x: y', tools), times=1)
    assert taken < 1.5  # it was minutes when the blanks were tried in every division


@pytest.mark.parametrize(
    ("lead", "said"),
    [("好的，我来查。", "好的，我来查。"), ("Sure: ", "Sure:"), ("\ufeff", None), ("- ", "-")],
)
@pytest.mark.parametrize("word", ["", "json", "tool_code"])
def test_a_fence_may_begin_behind_words(lead, said, word):
    call = "find_bus(stop='Rye')" if word == "tool_code" else "{'tool': 'find_bus', 'args': {stop: 'Rye',}}"
    tools = tools_of({"tools": ["find_bus"]})
    for ending in ("", "\nDone."):
        text = f"{lead}```{word}\n{call}\n```{ending}"
        reply = parse(text, tools)
        assert [dict(call.arguments) for call in reply.calls] == [{"stop": "Rye"}]
        assert (reply.text or "") == ((said or "") + ending).strip()
        assert_promise(text, tools)


def test_marks_of_a_fence_in_prose_begin_none():
    tools = tools_of({"tools": ["find_bus"]})
    for text in (
        "Look at ``` and\nsee {'tool': 'x'}.",
        "Write ```\nagain.",
        "A fence is ```json\nand no more.",
    ):
        assert parse(text, tools).text == text
        assert_promise(text, tools)
