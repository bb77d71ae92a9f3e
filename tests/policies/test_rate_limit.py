from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand import ErrorCode, RunContext
from toolhand.core.errors import SettingsError
from toolhand.core.rates import Rate, rates
from toolhand.policies.rate_limit import RateLimit
from toolhand.policies.sharing import Taking
from toolhand.policies.sharing.memory import MemoryState
from toolhand.testing import FakeClock

from .calls import Way, codes, made


async def ok(x: int) -> str:
    return "ok"


async def asked(way, tool, user="", session="", times=1):
    context = RunContext(user=user, session_id=session)
    return codes([await way(tool, context=context, x=i) for i in range(times)])


@pytest.mark.parametrize(
    "text", ["3/minute", "3 per minute", "3/minute/user", "3/60s", "3/1min", "3 / Minutes"]
)
async def test_one_users_limit_is_not_anothers(text):
    way, tool = Way(RateLimit(MemoryState(FakeClock()))), made(ok, rate_limit=text)
    assert await asked(way, tool, "甲", times=5) == [None, None, None, "rate_limited", "rate_limited"]
    assert await asked(way, tool, "乙", times=3) == [None, None, None]


async def test_scopes():
    for scope, expected in [
        ("session", [None, None]),  # another user's session of the same name is another session
        ("everybody", ["rate_limited", "rate_limited"]),
    ]:
        way, tool = Way(RateLimit(MemoryState(FakeClock()))), made(ok, rate_limit=f"1/minute/{scope}")
        assert await asked(way, tool, "a", "s1") == [None]
        assert await asked(way, tool, "b", "s1") + await asked(way, tool, "b", "s2") == expected
        assert await asked(way, tool, "a", "s1") == ["rate_limited"]


async def test_the_window_moves_and_the_error_says_when():
    clock = FakeClock()
    way, tool = Way(RateLimit(MemoryState(clock))), made(ok, rate_limit="2/minute")
    assert (await way(tool, x=1)).ok
    clock.advance(40)
    assert (await way(tool, x=1)).ok
    error = (await way(tool, x=1)).error
    assert error.code is ErrorCode.RATE_LIMITED
    assert error.retryable
    assert error.details["retry_after"] == pytest.approx(20)
    assert "20 seconds" in error.message
    clock.advance(20.01)
    assert codes([await way(tool, x=1), await way(tool, x=1)]) == [None, "rate_limited"]


async def test_a_refused_call_takes_no_place_anywhere():
    clock = FakeClock()
    policy = RateLimit(MemoryState(clock), user="10/minute")
    way, tight, free = Way(policy), made(ok, rate_limit="1/minute"), made(ok)
    await asked(way, tight, "a", times=30)
    assert await asked(way, free, "a", times=10) == [None] * 9 + ["rate_limited"]


async def test_limits_over_all_tools():
    async def other(x: int) -> str:
        return "ok"

    way = Way(RateLimit(MemoryState(FakeClock()), session="3/minute", everybody="5/minute"))
    assert await asked(way, made(ok), "a", "s", 2) + await asked(way, made(other), "a", "s", 2) == [
        None, None, None, "rate_limited",
    ]  # fmt: skip
    assert await asked(way, made(ok), "b", "t", 3) == [None, None, "rate_limited"]


async def test_several_rates_at_once():
    clock = FakeClock()
    way, tool = Way(RateLimit(MemoryState(clock))), made(ok, rate_limit="2/second;3/hour")
    assert await asked(way, tool, times=3) == [None, None, "rate_limited"]
    clock.advance(2)
    assert await asked(way, tool, times=2) == [None, "rate_limited"]


async def test_many_at_once_get_exactly_the_limit():
    way, tool = Way(RateLimit(MemoryState(FakeClock()))), made(ok, rate_limit="10/minute")
    results = await asyncio.gather(*[way(tool, x=i) for i in range(100)])
    assert codes(results).count(None) == 10


def test_what_applies():
    assert not RateLimit().applies(made(ok))
    assert RateLimit().applies(made(ok, rate_limit="1/s"))
    assert RateLimit(user="1/s").applies(made(ok))


@pytest.mark.parametrize(
    "text", ["ten a minute", "0/minute", "5/fortnight", "5", "/minute", "5/minute/planet", "1/0s"]
)
def test_what_is_no_rate_is_said(text):
    with pytest.raises(SettingsError, match="rate|allows nothing"):
        rates(text)


def test_rates_are_read():
    assert rates("") == ()
    assert rates("100/hour; 1000/day/everybody") == (
        Rate(count=100, seconds=3600), Rate(count=1000, seconds=86_400, scope="everybody"),
    )  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.floats(min_value=0.0, max_value=7.0), max_size=40), st.integers(1, 5))
async def test_no_stretch_of_time_holds_more_than_the_limit(pauses, count):
    clock = FakeClock()
    state = MemoryState(clock)
    taken = []
    for pause in pauses:
        clock.advance(pause)
        wait = await state.take([Taking(key="k", count=count, seconds=10)])
        if wait:
            assert 0 < wait <= 10.001
            assert sum(time > clock.now() - 10 for time in taken) >= count
        else:
            taken.append(clock.now())
    for time in taken:
        assert sum(time <= other < time + 10 - 1e-6 for other in taken) <= count


async def test_old_windows_are_dropped():
    clock = FakeClock()
    state = MemoryState(clock)
    for number in range(10_050):
        await state.take([Taking(key=f"user{number}", count=1, seconds=1)])
        clock.advance(0.01)
    assert len(state._windows) < 10_001
