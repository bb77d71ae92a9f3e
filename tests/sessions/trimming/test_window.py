"""What is shown from turn to turn: the same beginning as long as possible, and a turn's cost that does not grow."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sessions.histories import check_invariants, exchange, on_wire, valid_histories
from toolhand.core.messages import user
from toolhand.sessions.trimming import Bounds, History, Window, trim


def starts_with(longer, shorter):
    return len(longer) >= len(shorter) and all(a is b for a, b in zip(longer, shorter, strict=False))


async def turns(window, bounds, count, *, rows=20, keep=0.6):
    """What is shown at each of many exchanges, and how long it took."""
    shown, seconds = [], []
    for number in range(count):
        messages = exchange(number, rows=rows)
        window.extend(messages[:1])
        start = time.thread_time()
        shown.append(await window.fit(bounds, keep))
        seconds.append(time.thread_time() - start)
        window.extend(messages[1:])
    return shown, seconds


@pytest.mark.parametrize(("rows", "least"), [(5, 190), (20, 170)])
async def test_of_200_turns_most_only_append(rows, least):
    window = Window()
    shown, _ = await turns(window, Bounds(tokens=8_000), 200, rows=rows)
    kept = sum(starts_with(new, old) for old, new in pairwise(shown))
    assert kept >= least
    assert window.cuts == 199 - kept
    assert window.has_left_out
    for messages in shown[::20]:
        check_invariants(on_wire(messages))


async def test_a_turn_costs_the_same_at_any_length():
    _, seconds = await turns(Window(), Bounds(tokens=4_000), 2_500)  # 10,000 messages
    early, late = sorted(seconds[50:250]), sorted(seconds[2_300:])
    assert late[100] < early[100] * 3  # a cost that grows would be some 15 times as high


@settings(deadline=None)
@given(valid_histories(), st.integers(30, 400))
async def test_a_window_stays_valid_turn_by_turn(messages, most):
    window, bounds = Window(), Bounds(tokens=most)
    for index, message in enumerate(messages):
        window.extend([message])
        if message.role in ("user", "tool"):
            shown = await window.fit(bounds, 0.6)
            check_invariants(on_wire(shown))
            opened = [m for m in messages[: index + 1] if m.role == "user" and m.text]
            assert any(m is opened[-1] for m in shown)


async def test_a_stored_session_is_read_from_its_end_only_as_far_as_needed():
    messages = [message for number in range(500) for message in exchange(number)]
    read = 0

    def newest_first():
        nonlocal read
        for message in reversed(messages):
            read += 1
            yield message

    window = Window()
    window.begin(newest_first(), len(messages), Bounds(tokens=4_000), 0.6)
    window.extend([user("and now?")])
    shown = await window.fit(Bounds(tokens=4_000), 0.6)
    assert read < 60
    assert window.has_left_out
    assert 1_500 < window.tokens < 4_000
    check_invariants(on_wire(shown))
    assert shown[0].text.startswith("What is in store")


async def test_a_short_stored_session_is_read_whole():
    messages = exchange(1)
    window = Window()
    window.begin(reversed(messages), len(messages), Bounds(), 0.6)
    assert await window.fit(Bounds(), 0.6) == messages
    assert not window.has_left_out


async def test_one_long_exchange_is_read_whole():
    messages = [*exchange(1), *exchange(2, steps=30)]
    window = Window()
    window.begin(reversed(messages), len(messages), Bounds(tokens=1_000), 0.6)
    shown = await window.fit(Bounds(tokens=1_000), 0.6)
    assert shown[0] is messages[4]
    check_invariants(on_wire(shown))


async def test_results_may_be_told_in_short_by_a_function_that_asks_somebody():
    asked = []

    async def summarise(text: str) -> str:
        asked.append(text)
        return f"a table of {text.count('price')} things"

    window = Window()
    window.extend([message for number in range(4) for message in exchange(number, rows=60)])
    window.extend([user("and now?")])
    shown = await window.fit(Bounds(tokens=5_500), 0.6, summarise)
    assert shown[2].results[0].data == "a table of 60 things"
    assert 1 <= len(asked) <= 4
    assert await window.fit(Bounds(tokens=5_500), 0.6, summarise) == shown
    assert len(asked) <= 4


async def test_a_summary_that_cannot_be_had_leaves_the_rule():
    def summarise(text: str) -> str:
        raise RuntimeError("no model today")

    window = Window()
    window.extend([message for number in range(4) for message in exchange(number, rows=60)])
    shown = await window.fit(Bounds(tokens=5_500), 0.6, summarise)
    assert "rows left out" in str(shown[2].results[0].data)


async def test_the_window_and_the_pure_function_agree():
    messages = [message for number in range(30) for message in exchange(number)]
    window = Window()
    window.extend(messages)
    assert await window.fit(Bounds(tokens=3_000), 0.6) == trim(messages, History(tokens=3_000))


@pytest.mark.parametrize("keep", [0.4, 0.8, 1.0])
async def test_the_smaller_the_part_that_is_kept_the_fewer_the_cuts(keep):
    window = Window()
    await turns(window, Bounds(tokens=8_000), 100, keep=keep)
    assert window.cuts <= {0.4: 12, 0.8: 40, 1.0: 100}[keep]


@given(valid_histories(), st.integers(40, 900))
async def test_another_process_shows_the_same(messages, most):
    window, bounds = Window(), Bounds(tokens=most)
    for message in messages:
        window.extend([message])
        shown = await window.fit(bounds, 0.6)
    other = Window()
    other.restore(window.view, messages[window.view.start :])
    # What was squeezed because nothing else was left is whole again, and is squeezed again.
    assert [m.role for m in await other.fit(bounds, 0.6)] == [m.role for m in shown]
    assert other.view == window.view
    assert other.seen == len(messages)


async def test_a_restored_window_goes_on_without_a_cut():
    messages = [message for number in range(60) for message in exchange(number)]
    window, bounds = Window(), Bounds(tokens=3_000)
    for message in messages:
        window.extend([message])
        await window.fit(bounds, 0.6)
    other = Window()
    other.restore(window.view, messages[window.view.start :])
    for one in (window, other):
        one.extend([user("and now?")])
    assert await other.fit(bounds, 0.6) == await window.fit(bounds, 0.6)
    assert other.cuts == 0


async def test_a_history_is_estimated_once_it_may_come_near_its_bound_and_cut_where_it_always_was():
    history, window, known, counted = History(tokens=2_000), Window(), [], []
    while not window.cuts:
        messages = exchange(len(counted), rows=5)
        known += messages
        window.extend(messages)
        shown = await window.fit(Bounds(tokens=history.tokens), history.keep)
        counted.append(window.is_counted)
    assert not counted[0]
    assert counted[-1]
    assert on_wire(shown) == on_wire(trim(known, history))


async def test_messages_that_are_not_estimated_yet_count_when_somebody_asks():
    window, told = Window(), Window()
    for number in range(3):
        window.extend(exchange(number))
        told.extend(exchange(number))
        assert told.tokens > 0
    assert not window.is_counted
    assert window.tokens == told.tokens
    assert window.is_counted


@pytest.mark.parametrize("bounds", [Bounds(turns=2), Bounds(messages=3), Bounds(turns=2, tokens=10**9)])
async def test_other_bounds_than_tokens_are_looked_at_in_each_turn(bounds):
    window = Window()
    for number in range(4):
        window.extend(exchange(number))
    assert len(await window.fit(bounds, 1.0)) < 4 * len(exchange(0))
