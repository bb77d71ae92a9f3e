"""State that several processes share: in PostgreSQL, in Redis where one is installed, on a double that runs Redis' scripts."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import time

import pytest

from tests.sessions.conftest import postgres  # noqa: F401 - a fixture
from toolhand import RunContext
from toolhand.core.errors import MissingExtraError
from toolhand.core.tools import Breaker
from toolhand.policies.circuit_breaker import CircuitBreaker
from toolhand.policies.concurrency import Concurrency
from toolhand.policies.idempotency import Idempotency
from toolhand.policies.rate_limit import RateLimit
from toolhand.policies.sharing import Taking
from toolhand.policies.sharing.redis import RedisState

from .calls import Way, codes, made


async def until(is_so, *, not_before: float = 0.0, most: float = 10.0) -> None:
    """Waits, on Redis' own clock and therefore for real, until something is so, and not a moment earlier than it may be."""
    begun = time.monotonic()
    while not is_so():
        assert time.monotonic() - begun < most, "it never came to be so"
        await asyncio.sleep(0.005)
    assert time.monotonic() - begun >= not_before, "it came to be so too early"


class Server:
    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process = None

    def start(self):
        self._process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no", "--dir", "/tmp"],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("redis-server did not start")

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture
def server():
    if not shutil.which("redis-server"):
        pytest.skip("no redis-server here")
    pytest.importorskip("redis")
    found = Server()
    found.start()
    yield found
    found.stop()


@pytest.fixture(params=["double", "server", "postgres"])
async def states(request):
    """Two states as two processes have them."""
    if request.param == "double":
        fakeredis = pytest.importorskip("fakeredis")
        pytest.importorskip("lupa")
        backend = fakeredis.FakeServer()

        def connect(url, **options):
            return fakeredis.FakeAsyncRedis(server=backend)

        made_states = [RedisState("redis://double", connect=connect) for _ in range(2)]
    elif request.param == "postgres":
        from toolhand.policies.sharing.postgres import PostgresState  # noqa: PLC0415 - where its driver is installed

        url = request.getfixturevalue("postgres").database()
        made_states = [PostgresState(url, timeout=10) for _ in range(2)]
    else:
        made_states = [RedisState(request.getfixturevalue("server").url, timeout=5) for _ in range(2)]
    yield made_states
    for state in made_states:
        assert not state.is_alone, "the server was not used"
        await state.close()


async def test_a_circuit_is_shared(states):
    ill = True
    runs = 0

    async def crm(x: int) -> str:
        nonlocal runs
        runs += 1
        if ill:
            raise ConnectionError
        return "well"

    tool = made(crm, breaker=Breaker(failures=3, cooldown=0.3))
    policies = [CircuitBreaker(state) for state in states]
    one, two = (Way(policy) for policy in policies)
    assert (
        codes([await way(tool, x=1) for way in (one, two, one, two, one)])
        == ["network"] * 3 + ["circuit_open"] * 2
    )
    assert runs == 3
    for policy in policies:
        assert policy.circuit("crm").state == "open"
        assert not policy.offers(tool, RunContext())
    refused = await two(tool, x=1)
    left = refused.error.details["retry_after"]
    assert 0 < left <= 0.3
    await until(lambda: policies[0].circuit("crm").state == "half_open", not_before=left - 0.1)
    await until(lambda: policies[1].circuit("crm").state == "half_open")
    results = await asyncio.gather(*[way(tool, x=1) for way in (one, two) * 10])
    assert runs == 4
    assert codes(results).count("network") == 1
    ill = False
    refused = [await way(tool, x=1) for way in (one, two)]
    assert codes(refused) == ["circuit_open"] * 2  # the failed probe has opened it for both
    await asyncio.sleep(max(result.error.details["retry_after"] for result in refused) + 0.01)
    results = await asyncio.gather(*[way(tool, x=1) for way in (one, two) * 10])
    assert None in codes(results)
    assert codes([await one(tool, x=1), await two(tool, x=1)]) == [None, None]
    assert [policy.circuit("crm").state for policy in policies] == ["closed", "closed"]


async def test_a_rate_limit_is_shared(states):
    async def ok(x: int) -> str:
        return "ok"

    tool = made(ok, rate_limit="10/minute;100/hour")
    ways = [Way(RateLimit(state)) for state in states]
    results = await asyncio.gather(*[way(tool, x=number) for number in range(15) for way in ways])
    assert codes(results).count(None) == 10
    error = (await ways[0](tool, x=1)).error
    assert 55 < error.details["retry_after"] <= 60


async def test_all_places_or_none(states):
    tight, wide = Taking(key="tight", count=1, seconds=60), Taking(key="wide", count=3, seconds=60)
    assert await states[0].take([tight]) == 0
    for _ in range(5):
        assert await states[1].take([wide, tight]) > 0
    assert [await states[0].take([wide]) for _ in range(3)] == [0, 0, 0]
    assert await states[1].take([wide]) > 0
    moving = Taking(key="moving", count=1, seconds=0.2)
    assert await states[0].take([moving]) == 0
    left = await states[0].take([moving])
    assert 0 < left <= 0.2
    begun = time.monotonic()
    while (await states[1].take([moving])) > 0:
        assert time.monotonic() - begun < 5
        await asyncio.sleep(0.005)
    assert time.monotonic() - begun >= left - 0.05


async def test_an_errand_is_shared(states):
    paid = []

    async def pay(order: str) -> str:
        paid.append(order)
        await asyncio.sleep(0.01)
        return "付款成功"

    tool = made(pay, effect="writes", idempotency_key=lambda arguments: arguments["order"])
    one, two = (Way(Idempotency(state)) for state in states)
    assert sorted(map(str, codes(await asyncio.gather(one(tool, order="A1"), two(tool, order="A1"))))) == [
        "None", "repeated_call",
    ]  # fmt: skip
    assert (await two(tool, order="A1")).data == "付款成功"
    assert paid == ["A1"]


async def test_a_bound_of_calls_at_once_is_shared(states):
    inside, most, both = 0, 0, asyncio.Event()

    async def work(x: int) -> str:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        if inside == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 30)
        await asyncio.sleep(0.01)
        inside -= 1
        return "done"

    tool = made(work, concurrency=2)
    ways = [Way(Concurrency(shared=state)) for state in states]
    results = await asyncio.gather(*[way(tool, x=number) for number in range(4) for way in ways])
    assert codes(results) == [None] * 8
    assert most == 2
    place = await states[0].enter("work", 1, 0.1)  # of a process that dies with it
    assert place
    assert await states[1].enter("work", 1, 60) is None
    begun = time.monotonic()
    while (other := await states[1].enter("work", 1, 60)) is None:
        assert time.monotonic() - begun < 10
        await asyncio.sleep(0.01)
    await states[1].leave("work", other)
    assert await states[0].enter("work", 1, 0.1)


async def test_without_redis_a_process_counts_for_itself_and_comes_back(server, monkeypatch, caplog):
    monkeypatch.setattr("toolhand.policies.sharing.redis.SECONDS_ALONE", 0.1)
    state = RedisState(server.url, timeout=0.2)

    async def ok(x: int) -> str:
        return "ok"

    way, tool = Way(RateLimit(state), CircuitBreaker(state)), made(ok, rate_limit="2/minute")
    assert codes([await way(tool, x=1)]) == [None]
    server.stop()
    assert codes([await way(tool, x=1) for _ in range(3)]) == [None, None, "rate_limited"]
    assert state.is_alone
    assert "counts for itself" in caplog.text
    server.start()
    await until(lambda: not state.is_alone)
    assert codes([await way(tool, x=1) for _ in range(3)]) == [None, None, "rate_limited"]
    assert not state.is_alone
    await state.close()


async def test_a_server_that_was_never_there_stops_nothing():
    pytest.importorskip("redis")
    state = RedisState("redis://127.0.0.1:1/0")
    assert await state.take([Taking(key="k", count=1, seconds=60)]) == 0
    assert await state.take([Taking(key="k", count=1, seconds=60)]) > 0
    assert state.is_alone
    await state.close()


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[redis\]'"):
        RedisState("redis://x")
