"""A run that is cancelled at any point leaves a valid history, and its session can be used at once."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from tests.test_agent import asks, assert_valid
from toolhand import Agent, tool
from toolhand.core.errors import SettingsError
from toolhand.sessions import StoredSession
from toolhand.sessions.memory import MemoryStore
from toolhand.sessions.sqlite import SqliteStore
from toolhand.testing import ScriptedModel


class Points:
    """Counts the points that a run comes through, and cancels it at one of them."""

    def __init__(self, target: int) -> None:
        self.target, self.count = target, 0
        self.task: asyncio.Task[Any] | None = None

    def come(self) -> None:
        self.count += 1
        if self.count == self.target and self.task is not None:
            self.task.cancel()


class Counting:
    """A store whose every call is a point before and one after it."""

    def __init__(self, store: Any, points: Points) -> None:
        self._store, self._points = store, points

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def passed(*args: Any, **options: Any) -> Any:
            self._points.come()
            try:
                return await found(*args, **options)
            finally:
                self._points.come()

        return passed


class Model(ScriptedModel):
    def __init__(self, points: Points, replies: list[Any]) -> None:
        super().__init__(replies)
        self._points = points

    async def complete(self, request):
        self._points.come()
        await asyncio.sleep(0)
        output = await super().complete(request)
        self._points.come()
        await asyncio.sleep(0)
        return output


def script() -> list[Any]:
    return [
        asks(("c1", "pay", '{"amount": 1}'), ("c2", "look", '{"what": "a"}'), text="moment"),
        asks(("c3", "pay", '{"amount": 2}')),
        "done",
    ]


def tools(points: Points, paid: list[int]) -> list[Any]:
    @tool(effect="writes")
    async def pay(amount: int) -> str:
        """Pays."""
        points.come()
        await asyncio.sleep(0)
        paid.append(amount)
        points.come()
        await asyncio.sleep(0)
        return f"paid {amount}"

    @tool
    async def look(what: str) -> str:
        """Looks."""
        points.come()
        await asyncio.sleep(0)
        return what

    return [pay, look]


async def cancelled_at(store: Any, target: int, name: str, how: str) -> int:
    """One run that is cancelled at a point; how many points there were, or 0 if it was not reached."""
    points, paid = Points(target), []
    counting = Counting(store, points)
    agent = Agent(Model(points, script()), tools=tools(points, paid), store=counting)

    async def go() -> None:
        if how == "stream":
            async for _ in agent.stream("pay", session=name):
                points.come()
        else:
            await agent.run("pay", session=name, on_event=lambda event: points.come())

    points.task = asyncio.ensure_future(go())
    try:
        await asyncio.wait_for(asyncio.shield(points.task), 20)
        was_cancelled = False
    except asyncio.CancelledError:
        was_cancelled = True
    await asyncio.gather(points.task, return_exceptions=True)
    before = list(paid)

    session = StoredSession(name, store)
    await session.load()
    if session.count:
        assert_valid(tuple(session.messages))
    told = {
        result.call_id: result.error.code if result.error else "ok"
        for message in session.messages
        for result in message.results
    }
    for call_id, amount in (("c1", 1), ("c3", 2)):
        if before.count(amount):
            assert told.get(call_id) in ("ok", "outcome_unknown"), (target, told)
        elif told.get(call_id) == "ok":
            raise AssertionError(f"{call_id} was never done, and says ok")

    again = Agent(ScriptedModel(["fine"]), tools=tools(Points(0), paid), store=store)
    run = await asyncio.wait_for(again.run("and now?", session=name), 20)
    assert run.output == "fine"
    assert_valid(tuple(run.messages))
    assert paid == before  # what was cancelled is not made up for
    if session.count:
        with pytest.raises(SettingsError):
            await again.resume(name)
    return points.count if was_cancelled else 0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "how"), [("sqlite", "run"), ("memory", "stream")])
async def test_at_every_point(kind, how, tmp_path):
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "s.db")
    cancelled = 0
    for target in range(1, 400):
        reached = await cancelled_at(store, target, f"s{target}", how)
        cancelled += bool(reached)
        if not reached and target > 20 and cancelled < target - 3:
            break
    assert cancelled > 30  # else the points have got lost
    await store.close()
