"""A huge result is masked and shrunk beside the event loop, and comes out as it would in one go."""

from __future__ import annotations

import asyncio
import gc
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand import Toolset, tool
from toolhand.core.largeness import is_large
from toolhand.policies.redaction import redacted_text
from toolhand.policies.redaction.pieces import MOST_AT_ONCE, in_pieces
from toolhand.policies.shrinking.jsontext import loads_in_steps
from toolhand.policies.shrinking.sizes import size

LINE = "2025-01-01 12:00:00 INFO handled by worker 12 in 13 ms, all is well, user bob@example.com\n"
ROWS = [
    {"id": n, "name": "Ann Example", "note": "a line about a caller, 13812345678", "amount": 12.5}
    for n in range(8_000)
]
VALUES = {
    "text": LINE * 8_000,
    "blob": "A" * 50_000_000,
    "rows": ROWS,
    "json": json.dumps(ROWS),
    "csv": "name,phone\n" + "Ann,0571-8899\n" * 60_000,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
async def test_the_loop_stays_free(value):
    async def give() -> object:
        return value

    gaps: list[float] = []

    async def beat() -> None:
        before = time.process_time()
        while True:
            await asyncio.sleep(0.002)
            # In this process's own time: what other programs take of the machine is no fault of ours.
            now = time.process_time()
            gaps.append(now - before)
            before = now

    # A pass of the garbage collector stops the loop for as long as there is something to look at: what earlier tests left, and
    # what this module holds, is not what the call makes.
    gc.collect()
    gc.freeze()
    beating = asyncio.create_task(beat())
    await asyncio.sleep(0.01)
    gaps.clear()
    started = time.process_time()
    result = await Toolset([tool(give, sensitive=["phone"])]).call("give")
    took = time.process_time() - started
    beating.cancel()
    assert result.ok
    assert len(json.dumps(result.data)) < 40_000
    told = json.dumps(result.data)
    assert not any(part in told for part in ("0571-8899", "13812345678", "bob@"))
    # One gap may hold a pass of the garbage collector over what the call makes.
    assert sorted(gaps)[-2] < max(0.1, took / 10), (sorted(gaps)[-5:], took)
    assert max(gaps) < max(0.3, took / 4), (max(gaps), took)


def test_pieces_give_what_the_whole_gives():
    text = "".join(f"{LINE}token={n:032x}, {'x' * (n % 90)} 1381234{n % 10_000:04d}\n" for n in range(3_000))
    assert len(text) > 3 * MOST_AT_ONCE
    whole = "".join(redacted_text(line) for line in text.splitlines(keepends=True))
    assert redacted_text(text) == whole


def test_a_private_key_at_the_end_of_a_piece_is_not_cut_in_two():
    key = (
        "-----BEGIN PRIVATE KEY-----\n"
        + ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC/" * 2 + "\n") * 60
        + "-----END PRIVATE KEY-----\n"
    )
    for shift in range(0, len(key), 512):
        text = "a line\n" * ((MOST_AT_ONCE - shift) // 7) + key + "a line\n" * 30_000
        assert "MIIEvQ" not in redacted_text(text)


def test_a_long_table_is_masked_to_its_end():
    text = "name,password,phone\n" + "ann,hunter2,0571\n" * 20_000
    seen = redacted_text(text, sensitive=frozenset({"phone"}))
    assert "hunter2" not in seen
    assert "0571" not in seen


def test_a_text_without_a_single_break_ends():
    assert in_pieces("A" * 500_000, str) == "A" * 500_000


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=8, deadline=None)
@given(JSON)
def test_a_large_value_has_the_size_and_reading_of_json(value):
    large = [value, {"名": [value] * 6_000}, "ü\n" * 150_000]
    assert is_large(large)
    text = json.dumps(large, ensure_ascii=False)
    assert size(large) == len(text)
    assert loads_in_steps(text) == large
    assert loads_in_steps(json.dumps({"a": {"b": large}}, indent=1)) == {"a": {"b": large}}


@pytest.mark.parametrize("wrong", ["[1, 2", "[1 2]", '{"a" 1}', "{1: 2}", "[1]]", '{"a": 1,}'])
def test_what_is_no_json_is_none_at_any_length(wrong):
    with pytest.raises(ValueError, match="."):
        loads_in_steps(" " * 300_000 + wrong)
