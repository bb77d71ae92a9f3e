"""The pool of threads: who gets one, what happens to those that do not come back, and that the books are right."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import random
import threading
import time

import pytest

from tests.execution.processes import returned
from toolhand.execution.threads import FIRST_THREADS, AllStuckError, Stopped, Threads, ToolExit

WORD = contextvars.ContextVar("word", default="")


def is_balanced(threads: Threads) -> bool:
    """Whether, with nothing running, every thread is free and no tool has one."""
    lanes = threads._lanes.values()
    return (
        threads._free == threads._threads
        and threads._waiting == 0
        and threads.abandoned == 0
        and all(lane.taken == lane.stuck == 0 and not lane.waiting for lane in lanes)
    )


async def balanced(threads: Threads) -> None:
    for _ in range(500):
        if is_balanced(threads):
            return
        await asyncio.sleep(0.01)
    raise AssertionError({"free": threads._free, "threads": threads._threads, "lanes": threads._lanes})


class Stuck:
    """A function that blocks in C until it is released."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        self.release.wait(20)
        return "released"

    async def entered(self, times: int) -> None:
        """Waits until it has been called so often."""
        for _ in range(1_000):
            if self.calls >= times:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(self.calls)


async def test_values_and_errors_come_back():
    threads = Threads()
    assert await threads.run(lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)
    await balanced(threads)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, StopIteration])
async def test_what_must_not_leave_a_thread_comes_in_a_wrapper(kind):
    threads = Threads()

    def leave():
        raise kind

    with pytest.raises(ToolExit) as caught:
        await threads.run(leave)
    assert isinstance(caught.value.error, kind)
    await balanced(threads)


async def test_context_variables_are_the_callers_and_stay_there():
    threads = Threads()

    def swap(word: str) -> str:
        before = WORD.get()
        WORD.set(word)
        return before

    async def caller(number: int) -> str:
        WORD.set(f"caller {number}")
        found = await threads.run(lambda: swap("tool"))
        assert WORD.get() == f"caller {number}"
        return found

    assert await asyncio.gather(*map(caller, range(30))) == [f"caller {number}" for number in range(30)]


async def test_a_tool_earns_threads_by_returning():
    threads = Threads()
    together = threading.Semaphore(0)
    most_at_once = 0
    at_once = 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal at_once, most_at_once
        with lock:
            at_once += 1
            most_at_once = max(most_at_once, at_once)
        together.acquire(timeout=0.02)
        with lock:
            at_once -= 1

    await asyncio.gather(*[threads.run(work, tool="t") for _ in range(FIRST_THREADS)])
    assert most_at_once <= FIRST_THREADS
    await asyncio.gather(*[threads.run(work, tool="t") for _ in range(200)])
    assert most_at_once > FIRST_THREADS
    assert most_at_once <= threads.most // 2
    await balanced(threads)


async def test_calls_beyond_a_tools_threads_wait_and_a_call_that_is_cancelled_there_never_runs():
    threads, stuck, started = Threads(), Stuck(), []
    running = [asyncio.create_task(threads.run(stuck, tool="t")) for _ in range(FIRST_THREADS)]
    waiting = asyncio.create_task(threads.run(lambda: started.append("ran"), tool="t"))
    await stuck.entered(FIRST_THREADS)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    stuck.release.set()
    assert await asyncio.gather(*running) == ["released"] * FIRST_THREADS
    assert started == []
    await balanced(threads)


async def test_when_a_tools_threads_are_stuck_its_calls_are_refused_and_others_are_not():
    threads, stuck = Threads(), Stuck()
    tasks = [asyncio.create_task(threads.run(stuck, tool="t")) for _ in range(FIRST_THREADS)]
    await stuck.entered(FIRST_THREADS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert threads.abandoned == FIRST_THREADS
    for _ in range(50):
        with pytest.raises(AllStuckError, match="'t'"):
            await threads.run(lambda: 1, tool="t")
    assert threads.alive == FIRST_THREADS
    assert await threads.run(lambda: 1, tool="other") == 1
    stuck.release.set()
    await returned(threads)
    assert await threads.run(lambda: 1, tool="t") == 1
    await balanced(threads)


async def test_the_bound_of_all_threads_makes_calls_wait_and_serves_every_tool():
    threads, stuck = Threads(most=4), Stuck()
    running = [asyncio.create_task(threads.run(stuck, tool=f"t{n}")) for n in range(4)]
    waiting = [asyncio.create_task(threads.run(lambda n=n: n, tool=f"w{n}")) for n in range(20)]
    await stuck.entered(4)
    assert threads.alive == 4
    assert not any(task.done() for task in waiting)
    stuck.release.set()
    await asyncio.gather(*running)
    assert await asyncio.gather(*waiting) == list(range(20))
    await balanced(threads)


class TestStopping:
    async def test_a_loop_is_stopped_and_may_clean_up(self):
        threads, seen = Threads(), []

        def loop() -> None:
            try:
                while True:
                    time.sleep(0.001)
            except BaseException as error:
                seen.append(type(error))
                raise

        task = asyncio.create_task(threads.run(loop))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await returned(threads)
        assert seen == [Stopped]
        await balanced(threads)

    async def test_a_lock_that_was_taken_with_with_is_given_back(self):
        threads, lock = Threads(), threading.Lock()

        def loop() -> None:
            while True:
                with lock:
                    time.sleep(0.0001)

        for _ in range(30):
            task = asyncio.create_task(threads.run(loop))
            await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await returned(threads)
            assert lock.acquire(timeout=1)
            lock.release()
        await balanced(threads)

    async def test_a_stop_never_hits_another_call(self):
        threads = Threads()

        def short() -> str:
            until = time.monotonic() + random.uniform(0, 0.002)
            while time.monotonic() < until:
                pass
            return "done"

        for _ in range(300):
            task = asyncio.create_task(threads.run(short, tool="t"))
            await asyncio.sleep(random.uniform(0, 0.002))
            task.cancel()
            follower = await threads.run(short, tool="t")
            assert follower == "done"
            ended = (await asyncio.gather(task, return_exceptions=True))[0]
            assert ended == "done" or isinstance(ended, asyncio.CancelledError)
        await balanced(threads)

    async def test_a_tool_that_swallowed_the_stop_is_told_again_when_there_are_no_threads_left(self):
        threads = Threads()
        swallowed = []

        begun = []

        def stubborn() -> None:
            begun.append(1)
            while True:
                try:
                    while True:
                        time.sleep(0.001)
                except Stopped:
                    if swallowed.count(threading.get_ident()):
                        raise
                    swallowed.append(threading.get_ident())

        tasks = [asyncio.create_task(threads.run(stubborn, tool="t")) for _ in range(FIRST_THREADS)]
        for _ in range(1_000):
            if len(begun) == FIRST_THREADS:
                break
            await asyncio.sleep(0.005)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(1_000):
            if len(swallowed) == FIRST_THREADS:
                break
            await asyncio.sleep(0.005)
        assert threads.abandoned == FIRST_THREADS
        with pytest.raises(AllStuckError):
            await threads.run(lambda: 1, tool="t")
        await returned(threads)
        await balanced(threads)


async def test_the_books_are_right_after_any_order_of_calls_cancellations_and_errors():
    threads = Threads(most=20)
    rolled = random.Random(4)

    def act(kind: str) -> str:
        if kind == "raise":
            raise ValueError
        if kind == "slow":
            time.sleep(0.003)
        if kind == "busy":
            until = time.monotonic() + 0.003
            while time.monotonic() < until:
                pass
        return kind

    async def call() -> None:
        kind, tool = rolled.choice(["quick", "raise", "slow", "busy"]), rolled.choice("abcd")
        task = asyncio.create_task(threads.run(lambda: act(kind), tool=tool))
        if rolled.random() < 0.5:
            await asyncio.sleep(rolled.uniform(0, 0.02))
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, ValueError, AllStuckError):
            assert await task == kind

    for _ in range(5):
        await asyncio.gather(*[call() for _ in range(150)])
        assert threads.alive <= 20
    await balanced(threads)


def test_a_loop_that_closes_while_a_call_runs_or_waits_leaves_the_books_right():
    threads, stuck, ran = Threads(most=1), Stuck(), []

    async def leave() -> None:
        loop = asyncio.get_running_loop()
        kept.append(loop.create_task(threads.run(stuck)))
        kept.append(loop.create_task(threads.run(lambda: ran.append(1))))
        await stuck.entered(1)

    kept: list[asyncio.Task] = []
    asyncio.run(leave())
    stuck.release.set()
    asyncio.run(balanced(threads))
    assert ran == []
    assert stuck.calls == 1
    assert asyncio.run(threads.run(lambda: 5)) == 5


def test_idle_threads_end(monkeypatch):
    monkeypatch.setattr("toolhand.execution.threads.IDLE_SECONDS", 0.02)
    threads = Threads()
    assert asyncio.run(threads.run(lambda: 1)) == 1
    until = time.monotonic() + 5
    while threads.alive:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert asyncio.run(threads.run(lambda: 2)) == 2


def test_a_forked_copy_of_the_program_starts_with_no_threads():
    threads = Threads()
    asyncio.run(threads.run(lambda: 1))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(threads.alive).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert os.read(reading, 10) == b"0"
    os.close(reading)
