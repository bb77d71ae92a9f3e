"""A turn costs the same at message 40 and at message 4,000, counted in what the store is asked for; `bench/sessions.py` has times."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.sessions.test_stored import grown, look
from tests.test_agent import asks
from toolhand import Agent
from toolhand.sessions.memory import MemoryStore
from toolhand.sessions.trimming import History
from toolhand.testing import ScriptedModel


class Counting:
    """A store that counts what it is asked for."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.asked: dict[str, int] = {}
        self.entries, self.written = 0, 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def counted(*args: Any, **options: Any) -> Any:
            self.asked[name] = self.asked.get(name, 0) + 1
            if name == "append":
                self.written += sum(len(entry.body) for entry in args[1])
            given = await found(*args, **options)
            if name == "read":
                self.entries += len(given)
            return given

        return counted


async def turn(agent: Agent) -> None:
    await agent.run("and now?", session="s")


async def costs(messages: int) -> tuple[Any, Any]:
    """What a turn asks of the store in a new process, and after that."""
    kept = MemoryStore()
    await grown(kept, messages // 4)
    store = Counting(kept)

    def reply(request):
        return "ok" if request.messages[-1].results else asks(("c", "look", '{"what": "a"}'))

    agent = Agent(ScriptedModel(reply), tools=[look], store=store, history=History(messages=30))
    await turn(agent)
    first = (dict(store.asked), store.entries, store.written)
    store.asked, store.entries, store.written = {}, 0, 0
    await turn(agent)
    return first, (dict(store.asked), store.entries, store.written)


async def test_a_turn_asks_the_store_for_the_same_however_long_the_history_is():
    short_new, short = await costs(40)
    for messages in (400, 4_000):
        new, after = await costs(messages)
        looked_up = after[0].pop("known_calls")  # an id of long ago is looked up, in an index
        assert looked_up <= 2
        assert after[0] == short[0]
        assert after[1] == short[1] == 0  # nothing is read again
        assert after[2] == pytest.approx(short[2], abs=60)  # numbers in it have more digits
        assert new[1] <= 300
        assert new[2] == pytest.approx(short_new[2], abs=60)
