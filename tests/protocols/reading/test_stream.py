import codecs
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.reading.cases import load, tools_of, view
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
