from __future__ import annotations

import asyncio
import time

import pytest

from toolhand.testing import FakeClock


async def test_time_jumps_to_the_first_who_wakes():
    clock = FakeClock()
    start, order = clock.now(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        order.append((seconds, round(clock.now() - start, 6)))

    began = time.monotonic()
    await asyncio.gather(*[sleeper(seconds) for seconds in (3600, 1, 60, 1)])
    assert order == [(1, 1), (1, 1), (60, 60), (3600, 3600)]
    assert clock.slept == 3662
    assert time.monotonic() - began < 5


async def test_a_sleeper_can_be_cancelled():
    clock = FakeClock()
    task = asyncio.ensure_future(clock.sleep(5))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await clock.sleep(1)
    assert len(clock.waits) == 2


def test_time_stands_still_by_itself():
    clock = FakeClock()
    now = clock.now()
    clock.advance(2.5)
    assert clock.now() == now + 2.5
