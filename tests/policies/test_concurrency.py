from __future__ import annotations

import asyncio
import threading

import pytest

from toolhand import ErrorCode, RunContext
from toolhand.policies.concurrency import Concurrency
from toolhand.policies.sharing.gate import Gate

from .calls import Way, codes, made


class Busy:
    def __init__(self):
        self.inside = self.most = 0
        self.order: list[int] = []
        self.gate = asyncio.Event()

    def tool(self, **rules):
        async def work(x: int) -> str:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.order.append(x)
            await self.gate.wait()
            await asyncio.sleep(0)
            self.inside -= 1
            return "done"

        return made(work, **rules)


async def test_calls_wait_in_order():
    busy = Busy()
    way, tool = Way(Concurrency()), busy.tool(concurrency=3)
    calls = [asyncio.ensure_future(way(tool, x=i)) for i in range(10)]
    await asyncio.sleep(0.01)
    assert busy.order == [0, 1, 2]
    busy.gate.set()
    assert codes(await asyncio.gather(*calls)) == [None] * 10
    assert busy.order == list(range(10))
    assert busy.most == 3


async def test_waiting_ends_with_the_calls_own_time():
    busy = Busy()
    way, tool = Way(Concurrency()), busy.tool(concurrency=1, timeout=0.05)
    first = asyncio.ensure_future(way(tool, x=1))
    await asyncio.sleep(0)
    result = await way(tool, x=2)
    assert result.error.code is ErrorCode.RATE_LIMITED
    assert result.error.retryable
    assert busy.order == [1]
    busy.gate.set()
    assert (await first).ok
    assert (await way(tool, x=3)).ok


async def test_a_waiting_call_that_is_cancelled_gives_its_place_up():
    busy = Busy()
    way, tool = Way(Concurrency()), busy.tool(concurrency=1)
    calls = [asyncio.ensure_future(way(tool, x=i)) for i in range(3)]
    await asyncio.sleep(0)
    calls[1].cancel()
    busy.gate.set()
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(done[1], asyncio.CancelledError)
    assert busy.order == [0, 2]


async def test_a_session_has_a_bound_of_its_own():
    busy = Busy()
    policy = Concurrency(per_session=2)
    way, tool = Way(policy), busy.tool()
    one, two = RunContext(session_id="1"), RunContext(session_id="2")
    calls = [asyncio.ensure_future(way(tool, context=one, x=i)) for i in range(5)]
    calls += [asyncio.ensure_future(way(tool, context=two, x=9))]
    await asyncio.sleep(0)
    assert sorted(busy.order) == [0, 1, 9]
    busy.gate.set()
    await asyncio.gather(*calls)
    assert policy._gates == {}


async def test_a_place_that_comes_together_with_a_cancellation_is_passed_on():
    for _ in range(20):
        gate = Gate(1)
        assert await gate.enter(None)
        waiting = asyncio.ensure_future(gate.enter(None))
        behind = asyncio.ensure_future(gate.enter(None))
        await asyncio.sleep(0)
        gate.leave()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await behind
        gate.leave()
        assert gate.is_idle


def test_threads_share_a_gate():
    gate = Gate(2)
    inside, most, lock = 0, 0, threading.Lock()

    async def work():
        nonlocal inside, most
        assert await gate.enter(10)
        with lock:
            inside += 1
            most = max(most, inside)
        await asyncio.sleep(0.002)
        with lock:
            inside -= 1
        gate.leave()

    def loop():
        async def several():
            await asyncio.gather(*[work() for _ in range(5)])

        asyncio.run(several())

    threads = [threading.Thread(target=loop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2
    assert gate.is_idle


def test_what_applies():
    busy_rules = {"concurrency": 1}

    async def work(x: int) -> str:
        return "x"

    assert Concurrency().applies(made(work, **busy_rules))
    assert not Concurrency().applies(made(work))


@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.parametrize("most", [1, 2])
async def test_a_tool_that_calls_itself_does_not_wait_for_itself(is_plain, most):
    """However deep, and only where its own calls have every place."""
    seen, tools, way = [], [], Way(Concurrency())

    async def down(x: int) -> str:
        seen.append(x)
        result = await way(tools[0], x=x - 1)
        return result.error.message if result.error is not None else str(result.data)

    def plain(x: int) -> str:
        return asyncio.run(down(x))

    tools.append(made(plain if is_plain else down, concurrency=most))
    for _ in range(2):
        seen.clear()
        result = await asyncio.wait_for(way(tools[0], x=9), 20)  # it would wait for 30 seconds
        assert "from inside itself" in str(result.data)
        assert seen == [9, 8][:most]
