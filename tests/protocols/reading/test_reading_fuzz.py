import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.reading.cases import all_tools, load
from tests.timing import cpu_seconds
from toolhand.protocols.parse import parse

CASES = load()
SEEDS = [case["output"] for case in CASES]
MARKS = "<>{}[]()\"'`:=,|\\/\n $-#*>｛｝【】：“”「」✿◁▷"


@settings(max_examples=500, deadline=None)
@given(seed=st.sampled_from(SEEDS), noise=st.randoms(use_true_random=False))
def test_a_damaged_text_never_raises(seed, noise):
    chars = list(seed)
    for _ in range(noise.randint(1, 6)):
        at = noise.randrange(len(chars) + 1)
        action = noise.randrange(4)
        if action == 0 and chars:
            del chars[at : at + noise.randint(1, 8)]
        elif action == 1:
            chars[at:at] = noise.choice(MARKS)
        elif action == 2:
            other = noise.choice(SEEDS)
            begin = noise.randrange(len(other) + 1)
            chars[at:at] = other[begin : begin + 30]
        else:
            chars = chars[:at]
    reply = parse("".join(chars), all_tools())
    for call in reply.calls:
        assert call.name in all_tools()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes_call_nothing(data):
    reply = parse(data.decode("utf-8", "replace"), all_tools())
    assert reply.calls == ()


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=MARKS + "abtool_cx1", max_size=300))
def test_random_marks_call_nothing(text):
    assert parse(text, all_tools()).calls == ()


HOSTILE = {
    "nested braces": "{",
    "open objects": '{"a":',
    "open calls": '{"tool":"find_bus","args":{',
    "unclosed quotes": '{"',
    "repeated tags": '<tool_call>{"name":',
    "plain tags": "<a",
    "thoughts": "<think>",
    "action lines": "Action:\n",
    "actions": "Action: find_bus\n",
    "names": "find_bus(\n",
    "fences": "```json\n{",
    "backticks": "``` ",
    "pairs": "<arg_key>a</arg_key><arg_value>",
    "blocks": "[TOOL: find_bus]\n",
    "backslashes": "\\",
    "spaces": " ",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_cost_is_linear(name):
    unit = HOSTILE[name]

    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        return cpu_seconds(lambda: parse(text, all_tools()))

    short, long = seconds(40_000), seconds(160_000)
    assert long < 9 * short + 0.15  # 4 times the text; quadratic would be 16 times


def test_many_tools_cost_nothing_extra():
    rng = random.Random(7)
    text = " ".join(f"tool_{rng.randrange(10_000)}(" for _ in range(20_000))
    begin = time.process_time()
    parse(text, all_tools())
    assert time.process_time() - begin < 2
