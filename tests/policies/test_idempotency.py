from __future__ import annotations

import asyncio

import pytest

from toolhand import ErrorCode, Injected, RunContext
from toolhand.core.events import CallFailed
from toolhand.policies.idempotency import Idempotency
from toolhand.policies.retry import Retry
from toolhand.policies.sharing.memory import MemoryState
from toolhand.testing import FakeClock

from .calls import Way, codes, made


class Till:
    def __init__(self):
        self.paid: list[str] = []
        self.error: BaseException | None = None
        self.gate: asyncio.Event | None = None

    def tool(self, **rules):
        async def pay(order: str, amount: float = 1.0) -> dict:
            self.paid.append(order)
            if self.gate is not None:
                await self.gate.wait()
            if self.error is not None:
                raise self.error
            return {"order": order, "number": len(self.paid)}

        return made(
            pay, **{"effect": "writes", "idempotency_key": lambda arguments: arguments["order"], **rules}
        )


@pytest.fixture
def till():
    return Till()


async def test_an_errand_with_a_name_is_done_once(till):
    way = Way(Idempotency())
    results = [
        await way(till.tool(), context=RunContext(session_id=str(i)), order="A1", amount=i) for i in range(3)
    ]
    assert [result.data for result in results] == [{"order": "A1", "number": 1}] * 3
    assert till.paid == ["A1"]
    assert results[0].remark == ""
    assert "not done again" in results[1].remark
    assert (await way(till.tool(), order="A2")).data["number"] == 2


async def test_nobody_gets_another_users_result(till):
    way = Way(Idempotency())
    for user in ("ann", "bob"):
        assert (await way(till.tool(), context=RunContext(user=user), order="A1")).remark == ""
    assert till.paid == ["A1", "A1"]


async def test_it_is_remembered_for_a_day(till):
    clock = FakeClock()
    way = Way(Idempotency(MemoryState(clock)))
    await way(till.tool(), order="A1")
    clock.advance(86_000)
    await way(till.tool(), order="A1")
    assert len(till.paid) == 1
    clock.advance(1000)
    await way(till.tool(), order="A1")
    assert len(till.paid) == 2


async def test_a_failure_is_not_kept(till):
    way = Way(Idempotency())
    till.error = ValueError()
    assert not (await way(till.tool(), order="A1")).ok
    till.error = None
    assert (await way(till.tool(), order="A1")).ok


async def test_an_unknown_outcome_is(till):
    way = Way(Idempotency())
    till.error = TimeoutError()
    assert codes([await way(till.tool(), order="A1") for _ in range(3)]) == ["outcome_unknown"] * 3
    assert till.paid == ["A1"]


async def test_one_that_is_running_is_not_started_again(till):
    way = Way(Idempotency())
    till.gate = asyncio.Event()
    first = asyncio.ensure_future(way(till.tool(), order="A1"))
    await asyncio.sleep(0)
    second = await way(till.tool(), order="A1")
    assert second.error.code is ErrorCode.REPEATED_CALL
    assert second.error.retryable
    till.gate.set()
    assert (await first).ok
    assert (await way(till.tool(), order="A1")).data == (await first).data
    assert till.paid == ["A1"]


async def test_one_that_was_cut_off_is_unknown(till):
    way = Way(Idempotency())
    till.gate = asyncio.Event()
    first = asyncio.ensure_future(way(till.tool(), order="A1"))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await way(till.tool(), order="A1")).error.code is ErrorCode.OUTCOME_UNKNOWN
    assert till.paid == ["A1"]


async def test_one_whose_process_died_is_unknown_after_its_time(till):
    clock = FakeClock()
    state = MemoryState(clock)
    way = Way(Idempotency(state))
    till.gate = asyncio.Event()
    lost = asyncio.ensure_future(way(till.tool(timeout=5), order="A1"))
    await asyncio.sleep(0)
    clock.advance(7)
    assert (await way(till.tool(timeout=5), order="A1")).error.code is ErrorCode.OUTCOME_UNKNOWN
    till.gate.set()
    await lost


async def test_a_tool_gets_a_key_that_stays_the_same():
    keys = []

    async def pay(order: str, amount: float, key: Injected("idempotency_key")) -> str:
        keys.append(key)
        if len(keys) == 1:
            raise ConnectionResetError
        return "paid"

    tool = made(pay, effect="writes", retries=2)
    way = Way(Idempotency(), Retry(clock=FakeClock()))
    context = RunContext(user="ann", session_id="s")
    assert (await way(tool, context=context, order="A1", amount=2)).ok
    resumed = RunContext(user="ann", session_id="s")
    assert (await Way(Idempotency())(tool, context=resumed, amount=2.0, order="A1")).ok
    assert len(keys) == 3
    assert len(set(keys)) == 1
    for other in (RunContext(user="bob", session_id="s"), RunContext(user="ann", session_id="t")):
        await way(tool, context=other, order="A1", amount=2)
    await way(tool, context=context, order="A2", amount=2)
    assert len(set(keys)) == 4


async def test_a_name_that_cannot_be_made_stops_the_call(till):
    way = Way(Idempotency())
    result = await way(till.tool(idempotency_key=lambda arguments: arguments["number"]), order="A1")
    assert result.error.code is ErrorCode.EXECUTION
    assert len(way.of(CallFailed)) == 1
    assert till.paid == []


@pytest.mark.parametrize("name", [None, ""])
async def test_errands_without_a_name_are_not_taken_for_one_errand(till, name):
    way = Way(Idempotency())
    tool = till.tool(idempotency_key=lambda _: name)
    codes = {(await way(tool, order=order)).error.code for order in ("A1", "A2")}
    assert codes == {ErrorCode.EXECUTION}
    assert len(way.of(CallFailed)) == 2
    assert till.paid == []
