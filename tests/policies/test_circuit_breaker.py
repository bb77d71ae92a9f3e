from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand import ErrorCode, RunContext, ToolError, ToolFailure
from toolhand.core.events import CircuitChanged
from toolhand.core.tools import Breaker
from toolhand.execution.threads import FIRST_THREADS, Threads
from toolhand.policies import offered
from toolhand.policies.circuit_breaker import CircuitBreaker
from toolhand.policies.sharing.circuits import Circuits
from toolhand.policies.sharing.memory import MemoryState
from toolhand.policies.timeout import timeout
from toolhand.testing import FakeClock

from .calls import Way, bound, codes, made

MEASURE = Breaker(failures=3, cooldown=60)


class Service:
    """A tool that is ill or well."""

    def __init__(self):
        self.error: BaseException | None = ConnectionError("refused")
        self.runs = 0
        self.gate: asyncio.Event | None = None

    def tool(self, **rules):
        async def crm(x: int) -> str:
            """Looks up a customer."""
            self.runs += 1
            if self.gate is not None:
                await self.gate.wait()
            if self.error is not None:
                raise self.error
            return "found"

        return made(crm, **{"breaker": MEASURE, **rules})


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def policy(clock):
    return CircuitBreaker(MemoryState(clock))


async def test_it_opens_after_failures_in_a_row_and_says_until_when(policy):
    service = Service()
    crm, way = service.tool(), Way(policy)
    results = [await way(crm, x=i) for i in range(5)]
    assert codes(results) == ["network"] * 3 + ["circuit_open"] * 2
    assert service.runs == 3
    error = results[-1].error
    assert not error.retryable
    assert 59 <= error.details["retry_after"] <= 60
    assert "60 seconds" in error.message
    assert (policy.circuit("crm").state, policy.circuit("crm").failures) == ("open", 3)
    assert not offered([policy], crm, RunContext())
    assert [(e.name, e.state) for e in way.of(CircuitChanged)] == [("crm", "open")]


async def test_a_success_sets_the_count_to_zero(policy):
    service = Service()
    crm, way = service.tool(), Way(policy)
    for _ in range(4):
        await way(crm, x=1)
        await way(crm, x=1)
        service.error = None
        assert (await way(crm, x=1)).ok
        service.error = ConnectionError()
    assert policy.circuit("crm").state == "closed"
    assert policy.circuit("crm").failures == 0


async def test_half_open_lets_exactly_one_of_many_through(policy, clock):
    service = Service()
    crm, way = service.tool(), Way(policy)
    for i in range(3):
        await way(crm, x=i)
    clock.advance(61)
    assert policy.circuit("crm").state == "half_open"
    assert offered([policy], crm, RunContext())
    service.runs, service.gate, service.error = 0, asyncio.Event(), None
    calls = [asyncio.ensure_future(way(crm, x=i)) for i in range(50)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert service.runs == 1
    service.gate.set()
    results = await asyncio.gather(*calls)
    assert codes(results).count(None) == 1
    assert codes(results).count("circuit_open") == 49
    assert policy.circuit("crm").state == "closed"
    assert (await way(crm, x=1)).ok
    assert [e.state for e in way.of(CircuitChanged)] == ["open", "closed"]


async def test_a_probe_that_fails_opens_it_for_another_cooldown(policy, clock):
    service = Service()
    crm, way = service.tool(), Way(policy)
    for i in range(3):
        await way(crm, x=i)
    for _ in range(3):
        clock.advance(61)
        assert codes([await way(crm, x=1), await way(crm, x=1)]) == ["network", "circuit_open"]
    assert service.runs == 6


async def test_a_probe_that_is_cancelled_leaves_the_next_one_to_try(policy, clock):
    service = Service()
    crm, way = service.tool(), Way(policy)
    for i in range(3):
        await way(crm, x=i)
    clock.advance(61)
    service.gate = asyncio.Event()
    probe = asyncio.ensure_future(way(crm, x=1))
    await asyncio.sleep(0)
    assert (await way(crm, x=1)).error.code is ErrorCode.CIRCUIT_OPEN
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    service.gate, service.error = None, None
    assert (await way(crm, x=1)).ok


async def test_a_probe_that_never_ends_gives_way_to_another(policy, clock):
    service = Service()
    crm, way = service.tool(timeout=5), Way(policy)
    for i in range(3):
        await way(crm, x=i)
    clock.advance(61)
    service.gate = asyncio.Event()
    hanging = asyncio.ensure_future(way(crm, x=1))
    await asyncio.sleep(0)
    clock.advance(7)
    service.error = None
    gate, service.gate = service.gate, None
    assert (await way(crm, x=1)).ok
    service.error = ConnectionError()
    gate.set()
    await hanging  # an old probe's end says nothing about now
    assert policy.circuit("crm").state == "closed"


@pytest.mark.parametrize(
    "error",
    [
        ToolFailure("no such customer"),
        ToolFailure("limit", code=ErrorCode.RATE_LIMITED),
        asyncio.CancelledError(),
    ],
)
async def test_what_is_not_the_tools_illness_is_not_counted(policy, error):
    service = Service()
    service.error = error
    crm, way = service.tool(), Way(policy)
    for i in range(10):
        await way(crm, x=i)
    assert policy.circuit("crm").state == "closed"
    assert service.runs == 10


async def test_arguments_that_do_not_fit_are_not_counted(policy):
    service = Service()
    crm, way = service.tool(), Way(policy)
    for _ in range(10):
        assert (await way(crm, x="none")).error.code is ErrorCode.INVALID_ARGUMENT
    assert policy.circuit("crm").failures == 0


@pytest.mark.parametrize(
    "error", [RuntimeError(), TimeoutError(), ToolFailure("down", code=ErrorCode.UPSTREAM), SystemExit(1)]
)
async def test_what_is_its_illness_is(policy, error):
    service = Service()
    service.error = error
    crm, way = service.tool(), Way(policy)
    for i in range(4):
        await way(crm, x=i)
    assert policy.circuit("crm").state == "open"


async def test_tools_with_one_upstream_fail_together(policy):
    service, other = Service(), Service()
    first, way = service.tool(upstream="erp"), Way(policy)
    for i in range(3):
        await way(first, x=i)
    other.error = None
    assert (await way(other.tool(upstream="erp"), x=1)).error.code is ErrorCode.CIRCUIT_OPEN
    assert (await way(other.tool(upstream="shop"), x=1)).ok
    assert policy.circuit("erp").state == "open"


async def test_the_words_come_in_chinese(policy):
    crm = Service().tool()
    way = Way(policy, context=RunContext(language="zh"))
    results = [await way(crm, x=i) for i in range(4)]
    assert "已暂停使用" in results[-1].error.sentence


@settings(deadline=None)
@given(st.lists(st.sampled_from(["well", "ill", "neither", "wait", "call", "long"]), max_size=60))
def test_no_order_of_events_lets_two_probes_in(steps):
    now = [0.0]
    circuits = Circuits(lambda: now[0])
    measure = Breaker(failures=2, cooldown=10)
    running: list = []
    for step in steps:
        if step == "wait":
            now[0] += 4
        elif step == "long":
            now[0] += 11
        elif step == "call":
            admission = circuits.admit("t", probe_seconds=1000)
            if admission.is_admitted:
                running.append(admission)
        elif running:
            circuits.settle("t", measure, running.pop(0), step)
        assert sum(bool(admission.probe) for admission in running) <= 1
        state = circuits.circuit("t")
        assert (state.retry_after > 0) == (state.state == "open")
        assert state.retry_after <= 10


async def test_waiting_for_a_thread_says_nothing_about_the_tool(policy, monkeypatch):
    """Calls that could not start, as other calls had the threads, leave the circuit closed; those that hang open it."""
    monkeypatch.setattr(
        "toolhand.execution.invoke.THREADS", Threads()
    )  # another tool "slow" may have got more of them
    go, begun = threading.Event(), threading.Semaphore(0)

    def slow(x: int) -> str:
        begun.release()
        go.wait(60)
        return "ok"

    way = Way(policy, timeout)
    patient = made(slow, timeout=120, breaker=Breaker(failures=3))
    hasty = made(slow, timeout=0.05, breaker=Breaker(failures=3))
    fills = [asyncio.ensure_future(way(patient, x=n)) for n in range(FIRST_THREADS)]
    for _ in fills:
        await asyncio.to_thread(begun.acquire)
    late = await asyncio.gather(*(way(hasty, x=n) for n in range(6)))
    assert codes(late) == ["timeout"] * 6
    assert all(result.error.details["not_started"] for result in late)
    assert policy.circuit("slow").state == "closed"
    go.set()
    assert codes(await asyncio.gather(*fills)) == [None] * FIRST_THREADS


@pytest.mark.parametrize("shows_errors", [None, True, False])
async def test_a_reading_tools_own_sentence_about_what_was_asked_closes_it_to_nobody(policy, shows_errors):
    async def book(title: str) -> str:
        """Looks up a book."""
        if title != "Emma":
            raise LookupError(f"no book is called {title}")
        return "found"

    reads = made(book, breaker=MEASURE, shows_errors=shows_errors)
    way = Way(policy)
    results = [await way(reads, title=f"x{i}") for i in range(6)]
    assert codes(results) == ["execution"] * 6
    assert all(("no book" in r.error.message) is (shows_errors is not False) for r in results)
    assert policy.circuit("book").failures == 0
    assert (await way(reads, title="Emma")).ok


async def test_a_library_s_value_error_and_a_writing_tools_still_count(policy):
    async def parse(x: str) -> int:
        """Parses."""
        return int(x)

    async def write(x: str) -> int:
        """Writes."""
        raise ValueError(f"no place for {x}")

    way = Way(policy)
    for made_tool in (made(parse, breaker=MEASURE), made(write, breaker=MEASURE, effect="writes")):
        found = codes([await way(made_tool, x=f"a{i}") for i in range(4)])
        assert found == ["execution"] * 3 + ["circuit_open"]


async def test_without_a_breaker_a_tool_has_no_circuit(policy):
    service = Service()
    crm, way = service.tool(breaker=None), Way(policy)
    assert codes([await way(crm, x=i) for i in range(8)]) == ["network"] * 8
    assert codes([await policy(bound(crm, x=1), RunContext(), _fails)]) == ["network"]
    assert offered([policy], crm, RunContext())
    assert not policy.applies(crm)
    assert policy.circuit("crm").failures == 0


async def _fails(call, context):
    return call.answer(ToolError(code=ErrorCode.NETWORK, message="gone"))


async def test_the_default_is_the_policys_own_measure(clock):
    service = Service()
    policy = CircuitBreaker(MemoryState(clock), breaker=Breaker(failures=2))
    crm, way = service.tool(breaker="default"), Way(policy)
    assert codes([await way(crm, x=i) for i in range(3)]) == ["network"] * 2 + ["circuit_open"]
