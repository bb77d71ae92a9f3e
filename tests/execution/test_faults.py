"""What tools do wrong, on real processes and threads: the call ends with a right result, nothing is left over, the next one works."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tests.execution import faulty_tools
from tests.execution.processes import Calls, in_process, in_thread, isolated, nothing_left, returned, workers
from toolhand import tool
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode
from toolhand.core.events import CallFailed
from toolhand.execution.stopping import STUBBORN
from toolhand.execution.threads import THREADS
from toolhand.execution.workers.pool import PROCESSES

HANGING = [
    faulty_tools.hang_sleeping,
    faulty_tools.hang_busy,
    faulty_tools.hang_deaf,
    faulty_tools.hang_in_c,
    faulty_tools.hang_in_re,
    faulty_tools.hang_swallowing,
    faulty_tools.detach_and_hang,
    faulty_tools.detach_deeply_and_hang,
    faulty_tools.shell_and_hang,
    faulty_tools.run_away,
]


def named(function) -> str:
    return function.__name__


@pytest.fixture
async def sound():
    """After the test nothing is left over, and the next call works."""
    await in_process(faulty_tools.quick)
    yield
    await nothing_left()
    assert (await in_process(faulty_tools.quick, {"n": 7}, timeout=5)).data == 7


class TestHangingInAProcess:
    @pytest.mark.parametrize("function", HANGING, ids=named)
    async def test_it_is_ended_with_all_its_children_and_nothing_lands_later(self, function, tmp_path, sound):
        flag = tmp_path / "late"
        started = time.monotonic()
        result = await in_process(function, {"path": str(flag)}, timeout=0.3)
        assert time.monotonic() - started < faulty_tools.late_seconds()
        assert (result.error.code, result.error.retryable) == (ErrorCode.TIMEOUT, True)
        await nothing_left()  # whoever could write later is gone
        assert not flag.exists()

    @pytest.mark.parametrize(
        "function", [faulty_tools.hang_sleeping, faulty_tools.detach_and_hang], ids=named
    )
    async def test_a_writing_tool_is_stopped_and_its_outcome_is_unknown(self, function, tmp_path, sound):
        flag = tmp_path / "late"
        result = await in_process(function, {"path": str(flag)}, timeout=0.3, effect="writes")
        assert (result.error.code, result.error.retryable) == (ErrorCode.OUTCOME_UNKNOWN, False)
        assert "will do nothing more" in result.error.sentence
        await nothing_left()
        assert not flag.exists()

    async def test_cancelling_the_run_ends_it_as_well(self, tmp_path, sound):
        flag = tmp_path / "late"
        task = asyncio.create_task(in_process(faulty_tools.detach_and_hang, {"path": str(flag)}))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await nothing_left()
        assert not flag.exists()

    async def test_a_daemon_that_a_call_leaves_behind_ends_with_the_call(self, tmp_path, sound):
        flag = tmp_path / "late"
        result = await in_process(faulty_tools.detach_and_return, {"path": str(flag)})
        assert result.data == "done"
        await nothing_left()
        assert not flag.exists()


class TestCrashing:
    @pytest.mark.parametrize(
        ("function", "cause"),
        [
            (faulty_tools.crash_by_segfault, "SIGSEGV"),
            (faulty_tools.crash_by_exit, "status 3"),
            (faulty_tools.crash_by_abort, "SIGABRT"),
        ],
        ids=["segfault", "exit", "abort"],
    )
    async def test_the_interpreter_ends(self, function, cause, sound):
        events = []
        tools = Calls(isolated(function))
        error = (await tools(function.__name__, context=RunContext(emit=events.append))).error
        assert (error.code, error.retryable) == (ErrorCode.EXECUTION, False)
        assert "ended unexpectedly" in error.message
        assert cause in str(next(event.exception for event in events if isinstance(event, CallFailed)))
        writing = await in_process(function, effect="writes")
        assert writing.error.code is ErrorCode.OUTCOME_UNKNOWN

    async def test_what_it_had_detached_ends_too(self, tmp_path, sound):
        flag = tmp_path / "late"
        result = await in_process(faulty_tools.crash_after_detaching, {"path": str(flag)})
        assert result.error.code is ErrorCode.EXECUTION
        await nothing_left()
        assert not flag.exists()

    async def test_a_child_that_comes_back_does_not_answer_for_its_parent(self, sound):
        for _ in range(5):
            assert (await in_process(faulty_tools.child_comes_back)).data == "parent"

    async def test_it_closes_its_own_channel(self, sound):
        assert (await in_process(faulty_tools.close_everything)).error.code is ErrorCode.EXECUTION

    async def test_it_fills_memory(self):
        async with workers(most=1, memory_mb=256):
            for _ in range(2):
                error = (await in_process(faulty_tools.fill_memory, timeout=20)).error
                assert error.code is ErrorCode.EXECUTION
                assert "more memory" in error.message
            assert (await in_process(faulty_tools.quick)).data == 1


class TestOutput:
    async def test_flooding_stdout_and_stderr_fills_nothing(self, sound, capfd):
        assert (await in_process(faulty_tools.flood, timeout=20)).data == "done"
        assert capfd.readouterr() == ("", "")

    async def test_stdin_is_empty(self, sound):
        assert (await in_process(faulty_tools.read_stdin)).data == "<>"

    async def test_a_result_that_is_too_large_is_refused(self):
        def large(megabytes: int) -> str:
            return "x" * (megabytes * 2**20)

        async with workers(most=1, result_mb=2):
            assert len((await in_process(large, {"megabytes": 1})).data) == 2**20
            assert (await in_process(large, {"megabytes": 3})).error.code is ErrorCode.RESULT_TOO_LARGE


@pytest.mark.parametrize("run", [in_thread, in_process], ids=["thread", "process"])
class TestBothWays:
    async def test_results_that_explode_when_they_are_serialised(self, run, sound):
        assert (await run(faulty_tools.explode_when_shown)).ok
        assert (await run(faulty_tools.exit_when_shown)).error.code is ErrorCode.EXECUTION
        assert len((await run(faulty_tools.huge_when_shown, timeout=20)).data) == 5_000_000
        assert len((await run(faulty_tools.endless, timeout=20)).data) == 10_001
        started = time.monotonic()
        assert (await run(faulty_tools.never_yields, timeout=0.3)).error.code is ErrorCode.TIMEOUT
        assert time.monotonic() - started < 20

    @pytest.mark.parametrize(
        "name",
        ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "StopIteration", "RecursionError", "Unsayable"],
    )
    async def test_whatever_is_raised_becomes_an_error_without_its_text(self, run, name, sound):
        error = (await run(faulty_tools.raise_exception, {"name": name})).error
        assert error.code is ErrorCode.EXECUTION
        assert "hunter2" not in error.sentence

    async def test_a_tool_that_cancels_itself_does_not_cancel_the_run(self, run, sound):
        error = (await run(faulty_tools.raise_exception, {"name": "CancelledError"})).error
        assert error.code is ErrorCode.CANCELLED

    async def test_cancellation_in_each_phase(self, run, sound):
        for seconds in (0.0, 0.0005, 0.002, 0.01, 0.05):
            before = len(STUBBORN)
            tasks = [
                asyncio.create_task(run(function, arguments))
                for _ in range(5)
                for function, arguments in (
                    (faulty_tools.quick, {}),
                    (faulty_tools.sometimes_hang, {"n": 0}),
                )
            ]
            await asyncio.sleep(seconds)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) or end.data == 1 for end in ended)
            await returned(THREADS)
            assert len(STUBBORN) == before
            assert (await run(faulty_tools.quick, {"n": 3})).data == 3


class TestThreads:
    @pytest.mark.parametrize(
        "function",
        [faulty_tools.hang_sleeping, faulty_tools.hang_busy],
        ids=named,
    )
    async def test_a_hanging_function_is_stopped_at_its_next_step_and_does_not_write(
        self, function, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("LATE_SECONDS", "4")  # a sleep in C is not cut short
        flag = tmp_path / "late"
        started = time.monotonic()
        result = await in_thread(function, {"path": str(flag)}, timeout=0.2, effect="writes")
        assert time.monotonic() - started < faulty_tools.late_seconds()
        assert (result.error.code, result.error.retryable) == (ErrorCode.OUTCOME_UNKNOWN, False)
        assert "may have had its effect, or not" in result.error.sentence
        await returned(THREADS)
        assert not flag.exists()

    async def test_a_function_that_holds_the_interpreter_lock_holds_everything(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LATE_SECONDS", "1")
        # Only another process helps here, and docs/adr/0007 says so; what must hold is the accounting.
        result = await in_thread(faulty_tools.hang_in_c, {"path": str(tmp_path / "late")}, timeout=0.2)
        assert result.error.code is ErrorCode.TIMEOUT
        await returned(THREADS)

    async def test_a_thousand_calls_of_which_a_hundred_hang(self):
        tools = Calls(tool(timeout=1.0)(faulty_tools.sometimes_hang))
        started = time.monotonic()
        results = await asyncio.gather(*[tools("sometimes_hang", {"n": n}) for n in range(1_000)])
        took = time.monotonic() - started
        for n, result in enumerate(results):
            if n % 10:
                assert result.data == n, result
            else:
                assert result.error.code is ErrorCode.TIMEOUT
        assert took < 20
        await returned(THREADS)
        assert (await tools("sometimes_hang", {"n": 1})).data == 1

    async def test_hanging_calls_of_one_tool_leave_the_others_their_threads(self):
        release = threading.Event()

        def hang(n: int) -> str:
            release.wait(100)
            return "late"

        tools = Calls(tool(timeout=0.2)(hang), tool(faulty_tools.quick))
        before = threading.active_count()
        results = await asyncio.gather(*[tools("hang", {"n": n}) for n in range(40)])
        assert {result.error.code for result in results} == {ErrorCode.TIMEOUT}
        assert threading.active_count() - before <= 16
        refused = await tools("hang", {"n": 1})
        assert (refused.error.code, refused.error.retryable) == (ErrorCode.RATE_LIMITED, True)
        started = time.monotonic()
        assert (await tools("quick")).data == 1
        assert time.monotonic() - started < 20
        release.set()
        await returned(THREADS)
        assert (await tools("hang", {"n": 1})).data == "late"


async def test_a_hundred_calls_of_which_ten_hang_in_processes(sound):
    tools = Calls(isolated(faulty_tools.sometimes_hang, timeout=4.0))
    results = await asyncio.gather(*[tools("sometimes_hang", {"n": n}) for n in range(1, 101)])
    hung = [result for result in results if not result.ok]
    assert len(hung) >= 10
    assert {result.error.code for result in hung} == {ErrorCode.TIMEOUT}
    assert all(result.data == n for n, result in enumerate(results, 1) if result.ok)
    assert PROCESSES.alive <= PROCESSES.limits.most


class TestAsync:
    async def test_a_tool_that_does_not_want_to_end_gets_a_grace_and_is_answered_without(self):
        release = asyncio.Event()

        async def stubborn(n: int) -> str:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        tools = Calls(tool(timeout=0.1)(stubborn))
        started = time.monotonic()
        error = (await tools("stubborn", {"n": 1})).error
        assert error.code is ErrorCode.TIMEOUT
        assert time.monotonic() - started < 20
        assert len(STUBBORN) == 1
        release.set()
        await asyncio.sleep(0.01)
        assert not STUBBORN

    async def test_a_tool_may_clean_up_when_it_is_cancelled(self):
        cleaned = []

        async def careful() -> str:
            try:
                await asyncio.sleep(20)
            finally:
                await asyncio.sleep(0.05)
                cleaned.append(True)
            return ""

        assert (await in_thread(careful, timeout=0.1)).error.code is ErrorCode.TIMEOUT
        assert cleaned == [True]

    @pytest.mark.parametrize("seconds", [None, 20.0])
    async def test_a_swallowed_cancellation_still_ends_the_run(self, seconds):
        async def swallowing() -> str:
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                return "stopped"
            return ""

        task = asyncio.create_task(in_thread(swallowing, timeout=seconds))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    @pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "CancelledError"])
    async def test_an_exit_stays_in_the_call(self, name):
        async def leave() -> str:
            faulty_tools.raise_exception(name)
            return ""

        error = (await in_thread(leave, timeout=5)).error
        assert error.code is (ErrorCode.CANCELLED if name == "CancelledError" else ErrorCode.EXECUTION)


def test_the_flag_of_these_tests_can_be_written(tmp_path, monkeypatch):
    """Lest the absence of the flag proves nothing."""
    monkeypatch.setenv("LATE_SECONDS", "0.5")
    flag = tmp_path / "late"
    for function in (faulty_tools.hang_sleeping, faulty_tools.hang_swallowing, faulty_tools.hang_in_c):
        assert asyncio.run(in_process(function, {"path": str(flag)}, timeout=20)).data == "late"
        assert flag.read_text() == "late"
        flag.unlink()
