from __future__ import annotations

import asyncio
import datetime as dt
import random
import statistics
import time
from dataclasses import replace
from email.utils import format_datetime
from typing import Annotated

import pytest

from toolhand import ErrorCode, Injected, RunContext, ToolFailure, Toolset, tool
from toolhand.core.events import CallRetried
from toolhand.policies.retry import Retry
from toolhand.testing import FakeClock

from .calls import Way, fails_first, made


class HttpError(Exception):
    def __init__(self, status, headers=None):
        super().__init__(f"HTTP {status} of https://key:secret@example.org")
        self.status = status
        self.headers = headers or {}


class Answer:
    def __init__(self, status_code, headers):
        self.status_code = status_code
        self.headers = headers


class ResponseError(Exception):
    def __init__(self, status, headers=None):
        super().__init__("no")
        self.response = Answer(status, headers or {})


def retrying(clock, seed=1, **options):
    return Retry(clock=clock, random=random.Random(seed).random, **options)


@pytest.mark.parametrize(
    "error",
    [ConnectionError, TimeoutError, lambda: HttpError(503), lambda: ResponseError(502), lambda: HttpError(429),
     lambda: OSError(113, "no route"), type("Odd", (Exception,), {"retryable": True})],
)  # fmt: skip
async def test_what_fails_in_passing_is_tried_again(error):
    clock = FakeClock()
    function, runs = fails_first(2, error)
    way = Way(retrying(clock))
    result = await way(made(function, retries=3), x=1)
    assert result.data == "ok after 3"
    assert len(runs) == 3
    assert result.notes["attempts"] == 3
    assert len(result.notes["waits"]) == 2 == len(way.of(CallRetried))
    assert result.notes["seconds"] == pytest.approx(clock.slept)
    assert [event.attempt for event in way.of(CallRetried)] == [1, 2]


@pytest.mark.parametrize(
    "error",
    [ValueError, lambda: HttpError(404), lambda: HttpError(400), lambda: HttpError(501), lambda: ToolFailure("no such order"),
     lambda: ToolFailure("mend it", code=ErrorCode.INVALID_ARGUMENT, retryable=True)],
)  # fmt: skip
async def test_what_will_fail_again_is_not_tried_again(error):
    clock = FakeClock()
    function, runs = fails_first(1, error)
    result = await Way(retrying(clock))(made(function, retries=3), x=1)
    assert not result.ok
    assert len(runs) == 1
    assert clock.waits == []


@pytest.mark.parametrize("rules", [{"effect": "writes"}, {"effect": "destroys"}])
@pytest.mark.parametrize(
    "error", [ConnectionError, TimeoutError, lambda: HttpError(503), lambda: HttpError(500)]
)
async def test_a_writing_tool_is_never_run_twice(rules, error):
    function, runs = fails_first(1, error)
    result = await Way(retrying(FakeClock()))(made(function, retries=3, **rules), x=1)
    assert not result.ok
    assert len(runs) == 1


async def test_a_write_that_lost_contact_has_an_unknown_outcome():
    for error in (TimeoutError, ConnectionResetError, lambda: HttpError(504)):
        function, _ = fails_first(9, error)
        result = await Way()(made(function, effect="writes"), x=1)
        assert result.error.code is ErrorCode.OUTCOME_UNKNOWN
        assert not result.error.retryable
        assert "may have had its effect, or not" in result.error.sentence
    function, _ = fails_first(9, ConnectionRefusedError)
    result = await Way()(made(function, effect="writes"), x=1)
    assert (result.error.code, result.error.retryable) == (ErrorCode.NETWORK, True)


@pytest.mark.parametrize("rules", [{"effect": "writes", "idempotent": True}, {"effect": "reads"}])
async def test_a_repeatable_tool_is(rules):
    function, runs = fails_first(1, TimeoutError)
    assert (await Way(retrying(FakeClock()))(made(function, retries=1, **rules), x=1)).ok
    assert len(runs) == 2


async def test_a_tool_that_hands_on_an_idempotency_key_is_repeatable():
    runs = []

    async def pay(x: int, key: Injected("idempotency_key")) -> str:
        runs.append(key)
        if len(runs) == 1:
            raise TimeoutError
        return "paid"

    context = RunContext(facts={"idempotency_key": "k"})
    result = await Way(retrying(FakeClock()), context=context)(made(pay, retries=1, effect="writes"), x=1)
    assert (result.data, runs) == ("paid", ["k", "k"])


@pytest.mark.parametrize(
    "headers",
    [lambda: {"Retry-After": "7"}, lambda: {"retry-after": "7"},
     lambda: {"RETRY-AFTER": format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=9), usegmt=True)}],
)  # fmt: skip
@pytest.mark.parametrize("kind", [HttpError, ResponseError])
@pytest.mark.parametrize("status", [429, 503])
async def test_what_the_server_asks_for_is_never_undercut(headers, kind, status):
    clock = FakeClock()
    function, _ = fails_first(1, lambda: kind(status, headers()))
    result = await Way(retrying(clock))(made(function, retries=1), x=1)
    assert result.ok
    assert 7 <= clock.waits[0] <= 10


async def test_many_that_are_limited_at_once_do_not_come_back_at_once():
    clock = FakeClock()

    async def api(x: int) -> str:
        raise ToolFailure("busy", code=ErrorCode.RATE_LIMITED, retryable=True, details={"retry_after": 2})

    way = Way(retrying(clock, seed=7))
    await asyncio.gather(*[way(made(api, retries=1), x=i) for i in range(20)])
    assert len(clock.waits) == 20
    assert min(clock.waits) >= 2
    assert len({round(wait, 3) for wait in clock.waits}) >= 15


async def test_an_hour_is_not_waited_for():
    clock = FakeClock()
    function, runs = fails_first(9, lambda: HttpError(429, {"Retry-After": "3600"}))
    result = await Way(retrying(clock))(made(function, retries=3), x=1)
    assert result.error.code is ErrorCode.RATE_LIMITED
    assert result.error.details["retry_after"] == 3600
    assert (len(runs), clock.waits) == (1, [])
    function, runs = fails_first(1, lambda: HttpError(429, {"Retry-After": "90"}))
    assert (await Way(retrying(clock))(made(function, retries=1, longest_wait=100), x=1)).ok


async def test_the_wait_grows_and_is_spread_over_all_of_it():
    clock = FakeClock()
    waits = []
    for seed in range(60):
        function, _ = fails_first(9, ConnectionError)
        result = await Way(retrying(clock, seed, first_wait=1.0, longest_backoff=4.0))(
            made(function, retries=4), x=1
        )
        waits.append(result.notes["waits"])
    by_attempt = list(zip(*waits, strict=True))
    for attempt, most in zip(by_attempt, (1, 2, 4, 4), strict=True):
        assert max(attempt) <= most
        assert min(attempt) < most * 0.2
        assert statistics.mean(attempt) == pytest.approx(most / 2, rel=0.3)


async def test_the_last_error_is_kept_and_retries_are_bounded():
    clock = FakeClock()
    function, runs = fails_first(99, ConnectionError)
    result = await Way(retrying(clock))(made(function, retries=2), x=1)
    assert result.error.code is ErrorCode.NETWORK
    assert len(runs) == 3
    assert result.notes["attempts"] == 3
    assert result.notes["exception"] == "ConnectionError"


async def test_no_wait_passes_the_deadline():
    clock = FakeClock()
    context = RunContext(deadline=clock.now() + 3)
    function, runs = fails_first(99, lambda: HttpError(503, {"Retry-After": "2"}))
    way = Way(retrying(clock), context=context)
    result = await way(made(function, retries=50), x=1)
    assert result.error.code is ErrorCode.UPSTREAM
    assert len(runs) <= 2
    assert clock.now() <= context.deadline


async def test_it_costs_nothing_where_nothing_is_retried():
    policy = Retry()
    function, _ = fails_first(0, ValueError)
    assert not policy.applies(made(function))
    assert not policy.applies(made(function, retries=2, effect="writes"))
    assert policy.applies(made(function, retries=2))


async def test_no_word_of_the_exception_reaches_the_model():
    for status in (404, 429, 500):
        function, _ = fails_first(9, lambda status=status: HttpError(status))
        for language in ("en", "zh"):
            result = await Way(context=RunContext(language=language))(made(function), x=1)
            assert "secret" not in repr(result)
            assert (str(status) in result.error.message) == (status != 429)


async def test_an_exception_with_broken_attributes_is_only_an_error():
    class Odd(Exception):
        @property
        def status(self):
            raise RuntimeError("no status for you")

    function, _ = fails_first(9, Odd)
    assert (await Way()(made(function), x=1)).error.code is ErrorCode.EXECUTION
    bad = replace(made(function), name="bad")
    assert (await Way()(bad, x=1)).name == "bad"


async def test_a_write_with_an_idempotency_key_may_run_again_after_its_time():
    """The service behind it sees that it is the same errand: giving up leaves nothing unknown, in a process neither."""

    async def pay(order: str, key: Annotated[str, Injected("idempotency_key")]) -> str:
        await asyncio.sleep(5)
        return order

    def pay_plainly(order: str, key: Annotated[str, Injected("idempotency_key")]) -> str:
        time.sleep(5)
        return order

    for function, isolation in ((pay, None), (pay_plainly, "process")):
        made = tool(function, effect="writes", timeout=0.2, isolation=isolation)
        result = await Toolset([made]).call(made.name, {"order": "A1"})
        assert (result.error.code, result.error.retryable) == (ErrorCode.TIMEOUT, True)
        without = tool(made, effect="writes", name="without")
        without = replace(without, injected={"key": "given"})
        result = await Toolset([without]).call("without", {"order": "A1"}, given="k")
        assert (result.error.code, result.error.retryable) == (ErrorCode.OUTCOME_UNKNOWN, False)
