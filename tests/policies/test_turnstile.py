"""The turnstile: one at a time in order of arrival, over loops and threads, whoever is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import random
import threading

import pytest

from toolhand.core.errors import SettingsError
from toolhand.policies.sharing.turnstile import Turnstile


async def test_they_come_through_in_the_order_in_which_they_came():
    turnstile, seen = Turnstile(), []

    async def one(number: int) -> None:
        async with turnstile:
            seen.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(number) for number in range(20)))
    assert seen == list(range(20))
    assert turnstile.is_idle


@pytest.mark.parametrize("seed", range(3))
def test_cancelled_waiters_in_several_loops_never_let_two_in(seed):
    turnstile, inside, most, errors = Turnstile(), [0], [0], []
    mutex = threading.Lock()

    async def one() -> None:
        async with turnstile:
            with mutex:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            try:
                await asyncio.sleep(0)
            finally:
                with mutex:
                    inside[0] -= 1

    async def crowd(rng: random.Random) -> None:
        for _ in range(40):
            tasks = [asyncio.ensure_future(one()) for _ in range(8)]
            for task in rng.sample(tasks, 5):
                await asyncio.sleep(0)
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def thread(number: int) -> None:
        try:
            asyncio.run(crowd(random.Random(seed * 10 + number)))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=thread, args=(number,)) for number in range(4)]
    for started in threads:
        started.start()
    for started in threads:
        started.join(60)
    assert errors == []
    assert most == [1]
    assert turnstile.is_idle


async def test_a_place_that_was_passed_over_is_not_passed_on_twice():
    """The holder skips a waiter that is being cancelled, before that waiter's own task has noticed."""
    turnstile = Turnstile()
    order = []
    passage = await turnstile.enter()

    async def wait(name: str) -> None:
        async with turnstile:
            order.append(f"{name} in")
            await asyncio.sleep(0.01)
            order.append(f"{name} out")

    tasks = [asyncio.create_task(wait(name), context=contextvars.Context()) for name in "abc"]
    await asyncio.sleep(0)
    tasks[0].cancel()
    turnstile._waiting[0][0].cancel()  # what the cancellation does a moment later
    turnstile.leave(passage)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["b in", "b out", "c in", "c out"]


async def test_whoever_is_inside_is_told_and_a_task_that_outlives_its_passage_is_outside_again():
    turnstile = Turnstile(("it would wait for itself", "它会等待自己"))
    go = asyncio.Event()

    async def later() -> str:
        await go.wait()
        async with turnstile:
            return "through"

    async with turnstile:
        with pytest.raises(SettingsError, match="wait for itself"):
            async with turnstile:
                pass
        task = asyncio.ensure_future(later())
    go.set()
    assert await asyncio.wait_for(task, 5) == "through"


def test_a_passage_ends_with_its_loop():
    """Whoever was inside when his loop was closed never comes back: one who waits, and one who comes later, go on."""
    turnstile, order = Turnstile(), []
    waits = threading.Event()

    async def inside(name: str) -> None:
        passage = await turnstile.enter()
        try:
            order.append(name)
            if name == "lost":
                waits.set()
                await asyncio.Event().wait()
        finally:
            turnstile.leave(passage)

    def cut() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(inside("lost"))
        loop.run_until_complete(asyncio.sleep(0.3))
        task._log_destroy_pending = False
        loop.close()
        order.append("closed")
        kept.append(task)  # not even collected

    kept: list[object] = []
    first = threading.Thread(target=cut)
    first.start()
    assert waits.wait(30)
    asyncio.run(asyncio.wait_for(inside("waiting"), 30))
    first.join(30)
    assert order == ["lost", "closed", "waiting"]
    cut()
    asyncio.run(asyncio.wait_for(inside("later"), 30))
    assert order[-3:] == ["lost", "closed", "later"]
    for task in kept:  # what it does when it is collected at last is nothing to the others
        with contextlib.suppress(RuntimeError):
            task.get_coro().close()
    assert turnstile.is_idle
