"""State in this process, with many keys."""

from __future__ import annotations

from toolhand.policies.sharing import Taking, memory
from toolhand.policies.sharing.memory import MemoryState
from toolhand.testing import FakeClock


async def test_past_ten_thousand_live_keys_a_call_costs_what_it_cost_before():
    state = MemoryState()
    sweeps = []
    sweep = state._drop_old_windows
    state._drop_old_windows = lambda now: (sweeps.append(now), sweep(now))
    for number in range(2 * memory.MOST_KEYS + 1000):
        await state.take([Taking(key=f"user {number}", count=5, seconds=3600)])
        await state.claim(f"errand {number}", 3600)
    assert len(sweeps) <= 2
    assert len(state._windows) == 2 * memory.MOST_KEYS + 1000


async def test_what_is_over_is_dropped_in_the_end():
    clock = FakeClock()
    state = MemoryState(clock)
    for number in range(5 * memory.MOST_KEYS):
        await state.take([Taking(key=f"user {number}", count=5, seconds=1)])
        await state.claim(f"errand {number}", 1)
        clock.advance(0.001)
    assert len(state._windows) <= memory.MOST_KEYS + 1
    assert len(state._receipts) <= memory.MOST_KEYS + 1
