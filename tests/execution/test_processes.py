"""Worker processes: what crosses, what may run in one, what becomes of the workers."""

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from tests.execution import faulty_tools
from tests.execution.processes import Calls, gone, in_process, isolated, workers
from toolhand import Agent, Injected, Toolset, tool
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError, ToolDefinitionError
from toolhand.core.events import CallFailed
from toolhand.core.messages import ToolCall
from toolhand.execution.workers import linux, nodes
from toolhand.execution.workers.definition import check_isolation, define
from toolhand.execution.workers.pool import PROCESSES, ProcessPool
from toolhand.testing import ScriptedModel

FACTOR = 3


class TestWhatCrosses:
    async def test_arguments_arrive_as_the_functions_own_types(self):
        result = await in_process(
            faulty_tools.kinds_of,
            {"stay": {"guest": "甲", "arrival": "2026-11-30"}, "at": "09:30", "tags": ["b", "a"]},
        )
        assert result.data == "Stay date 09:30 ['a', 'b'] set"

    async def test_a_decorated_tool_with_positional_parameters(self):
        tools = Calls(isolated(faulty_tools.decorated))
        result = await tools("decorated", {"day": "2026-11-30", "more": [1, 2]})
        assert result.data == "Monday (1, 2)"

    async def test_invalid_arguments_are_answered_without_a_process(self):
        result = await in_process(faulty_tools.quick, {"n": "many"})
        assert result.error.code is ErrorCode.INVALID_ARGUMENT

    async def test_plain_facts_of_the_run_cross(self):
        tools = Calls(isolated(faulty_tools.who))
        context = RunContext(
            user="alice", session_id="s1", language="zh", facts={"note": "hello", "db": object()}
        )
        result = await tools("who", context=context)
        assert result.data == {
            "user": "alice",
            "note": "hello",
            "session": "s1",
            "trace": context.trace_id,
            "in": "zh",
        }

    async def test_an_object_that_lives_here_does_not_cross_and_is_named_in_the_log(self):
        events = []
        context = RunContext(user="ann", facts={"note": object()}, emit=events.append)
        result = await Calls(isolated(faulty_tools.who))("who", context=context)
        assert result.error.code is ErrorCode.EXECUTION
        failed = next(event for event in events if isinstance(event, CallFailed))
        assert isinstance(failed.exception, SettingsError)
        assert "'note'" in str(failed.exception)

    async def test_environment_and_directory_are_those_of_the_moment(self, monkeypatch, tmp_path):
        for value in ("one", "two"):
            monkeypatch.setenv("TOOLHAND_TEST", value)
            monkeypatch.chdir(tmp_path)
            await in_process(faulty_tools.disturb)
            result = await in_process(faulty_tools.surroundings, {"name": "TOOLHAND_TEST"})
            assert result.data == {"environ": value, "directory": str(tmp_path)}

    async def test_an_environment_that_is_not_utf8_crosses(self, monkeypatch):
        monkeypatch.setenv("TOOLHAND_TEST", os.fsdecode(b"\xff\xfe"))
        result = await in_process(faulty_tools.surroundings, {"name": "TOOLHAND_TEST"})
        assert result.ok

    async def test_large_values_cross(self):
        def double(text: str) -> str:
            return text * 2

        result = await in_process(double, {"text": "中" * 1_000_000})
        assert result.data == "中" * 2_000_000

    async def test_a_failure_on_purpose_keeps_its_words(self):
        tools = Calls(isolated(faulty_tools.raise_failure))
        error = (await tools("raise_failure")).error
        assert (error.code, error.message, error.retryable) == (ErrorCode.UPSTREAM, "only on weekdays", True)
        assert error.hint == "Try tomorrow."
        told = (await tools("raise_failure", context=RunContext(language="zh"))).error
        assert (told.code, told.message, told.hint) == (ErrorCode.UPSTREAM, "只在工作日", "请明天再试。")

    async def test_what_an_exception_carries_is_judged_as_in_a_thread(self):
        error = (await in_process(faulty_tools.raise_too_often)).error
        assert (error.code, error.details) == (ErrorCode.RATE_LIMITED, {"retry_after": 7.0})
        assert (await in_process(faulty_tools.raise_network)).error.code is ErrorCode.NETWORK
        lost = await in_process(faulty_tools.raise_network, effect="writes")
        assert lost.error.code is ErrorCode.OUTCOME_UNKNOWN

    async def test_an_exception_is_logged_with_its_traceback_and_not_told(self):
        events = []
        tools = Calls(isolated(faulty_tools.raise_exception))
        result = await tools(
            "raise_exception", {"name": "ValueError"}, context=RunContext(emit=events.append)
        )
        assert result.error.code is ErrorCode.EXECUTION
        assert "hunter2" not in result.error.sentence
        failed = next(event for event in events if isinstance(event, CallFailed))
        assert "hunter2" in str(failed.exception)
        assert "in raise_exception" in "".join(failed.exception.__notes__)


class TestWhatMayRun:
    async def test_a_local_function_travels_with_what_it_names(self):
        suffix = "!"

        def shout(text: str) -> str:
            return text.upper() + suffix

        def count(
            day: dt.date, n: Annotated[int, Field(ge=1)] = 2, mode: Literal["a", "b"] | None = None
        ) -> str:
            """Counts."""
            return shout(f"{type(day).__name__} {json.dumps(n * FACTOR)} {mode} {math.floor(1.5)}")

        result = await in_process(count, {"day": "2026-11-30"})
        assert result.data == "DATE 6 NONE 1!"

    async def test_a_default_that_is_injected_travels(self):
        def who(user: str = Injected("user_id"), context: RunContext | None = None) -> str:
            return f"{user} {context and context.user}"

        tools = Toolset([tool(who, isolation="process")])
        assert (await tools.call("who", {}, user="ann")).data == "ann ann"

    async def test_local_functions_may_call_each_other(self):
        def even(n: int) -> bool:
            return n == 0 or odd(n - 1)

        def odd(n: int) -> bool:
            return n != 0 and even(n - 1)

        assert (await in_process(even, {"n": 10})).data is True

    async def test_a_class_method_is_found_by_name(self):
        assert (await in_process(faulty_tools.Desk.open)).data == "Desk"

    def test_a_function_of_a_script_needs_no_guard_and_the_script_runs_once(self, tmp_path):
        script = tmp_path / "script.py"
        script.write_text(
            "import datetime as dt, os\n"
            "from dataclasses import replace\n"
            "from toolhand import Toolset, tool\n"
            "print('top')\n"
            "LIMIT = 40\n"
            "def below(n): return n < LIMIT\n"
            "@tool(timeout=5)\n"
            "def check(day: dt.date, n: int) -> str:\n"
            "    return f'{day:%A} {below(n)} {os.getppid() != HERE}'\n"
            "HERE = os.getppid()\n"
            "check = replace(check, rules=replace(check.rules, isolation='process'))\n"
            "print(Toolset([check]).call_sync('check', {'day': '2026-11-30', 'n': 39}).data)\n"
        )
        found = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, timeout=60, check=False
        )
        assert (found.stdout, found.stderr) == ("top\nMonday True True\n", "")

    def test_what_lives_in_this_process_alone_is_refused_by_name(self):
        paid: list[str] = []

        def pay(order: str) -> str:
            paid.append(order)
            return "ok"

        with pytest.raises(ToolDefinitionError, match=r"'pay'.*'paid', a list.*isolation='thread'"):
            Toolset([isolated(pay)]).dispatch  # noqa: B018

    def test_a_changed_global_is_refused(self):
        def count() -> int:
            global FACTOR  # noqa: PLW0603 - what is refused
            FACTOR += 1
            return FACTOR

        with pytest.raises(ToolDefinitionError, match="changes the global 'FACTOR'"):
            check_isolation(isolated(count))

    def test_a_local_class_among_the_types_is_refused(self):
        @dataclass
        class Order:
            number: int

        def place(order: Order) -> int:
            return order.number

        with pytest.raises(ToolDefinitionError, match="parameter 'order'"):
            check_isolation(isolated(tool(place)))

    def test_a_bound_method_and_a_partial_are_refused(self):
        class Shop:
            def open(self) -> str:
                return "open"

        with pytest.raises(ToolDefinitionError, match="method of a Shop"):
            check_isolation(isolated(tool(Shop().open)))
        with pytest.raises(ToolDefinitionError, match="partial"):
            check_isolation(isolated(tool(functools.partial(faulty_tools.quick, 1), name="q")))

    def test_somebody_elses_wrapper_is_not_left_off(self):
        def doubled(function):
            @functools.wraps(function)
            def wrapper(n: int = 1) -> int:
                return function(n) * 2

            return wrapper

        tools = Calls(isolated(tool(doubled(faulty_tools.quick), name="twice")))
        assert asyncio.run(tools("twice", {"n": 4})).data == 8

    def test_an_async_tool_is_refused(self):
        async def wait() -> str:
            return ""

        with pytest.raises(ToolDefinitionError, match="async"):
            check_isolation(isolated(wait))

    def test_a_system_that_cannot_isolate_refuses_and_weakens_nothing(self, monkeypatch):
        monkeypatch.setattr(linux.sys, "platform", "darwin")
        with pytest.raises(SettingsError, match="darwin"):
            Toolset([isolated(faulty_tools.quick)]).dispatch  # noqa: B018

    def test_a_system_without_posix_runs_everything_else(self):
        program = (
            "import asyncio, os, pydantic, signal, subprocess, sys, tempfile, typer\n"
            "sys.modules['resource'] = None\n"
            "del os.register_at_fork, os.fork, os.killpg, signal.SIGKILL, signal.SIGCHLD\n"
            "from tests.execution import faulty_tools\n"
            "from tests.execution.processes import isolated\n"
            "from toolhand import Toolset\n"
            "from toolhand.execution.workers import linux\n"
            "from types import SimpleNamespace\n"
            "linux.sys = SimpleNamespace(platform='win32')\n"
            "print(Toolset([faulty_tools.quick]).call_sync('quick').data)\n"
            "try: Toolset([isolated(faulty_tools.quick)]).call_sync('quick')\n"
            "except Exception as error: print(type(error).__name__, error)\n"
        )
        found = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )
        lines = found.stdout.splitlines()
        assert lines[:1] == ["1"], found.stderr
        assert lines[1].startswith("SettingsError tool 'quick' asks for isolation='process'")

    async def test_a_module_that_cannot_be_imported_is_an_error_of_the_program(self, tmp_path, monkeypatch):
        (tmp_path / "vanishing.py").write_text("def answer() -> int:\n    return 42\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        import vanishing  # noqa: PLC0415

        (tmp_path / "vanishing.py").write_text("raise SystemExit('token=abc')\n")
        events = []
        tools = Calls(isolated(vanishing.answer))
        result = await tools("answer", context=RunContext(emit=events.append))
        assert result.error.code is ErrorCode.EXECUTION
        assert "abc" not in result.error.sentence
        assert "token=abc" in str(events[-2].exception)
        assert (await in_process(faulty_tools.quick)).data == 1


class TestWorkers:
    async def test_a_warm_worker_is_used_again(self):
        await in_process(faulty_tools.pid)
        pids = {(await in_process(faulty_tools.pid)).data for _ in range(20)}
        assert len(pids) <= 2
        assert os.getpid() not in pids

    async def test_what_a_call_leaves_running_ends_with_it(self):
        left = (await in_process(faulty_tools.leave_a_thread)).data
        await gone(left)
        assert (await in_process(faulty_tools.pid)).data != left

    async def test_the_bound_holds_and_callers_queue_within_their_own_time(self):
        async with workers(most=2) as pool:
            seen = 0

            async def watched() -> None:
                nonlocal seen
                while True:
                    seen = max(seen, pool.alive)
                    await asyncio.sleep(0.005)

            watch = asyncio.create_task(watched())
            results = await asyncio.gather(*[in_process(faulty_tools.quick, {"n": n}) for n in range(200)])
            watch.cancel()
            assert [result.data for result in results] == list(range(200))
            assert seen == 2

    async def test_a_call_that_cannot_start_in_its_time_has_done_nothing(self, tmp_path):
        async with workers(most=1):
            await in_process(faulty_tools.quick)
            path = {"path": str(tmp_path / "late")}
            ahead = asyncio.create_task(
                in_process(faulty_tools.hang_sleeping, path, timeout=0.6, effect="writes")
            )
            await asyncio.sleep(0.1)
            waiting = [
                in_process(faulty_tools.hang_sleeping, path, timeout=0.2, effect="writes") for _ in range(4)
            ]
            errors = [result.error for result in await asyncio.gather(*waiting)]
            assert [(error.code, error.retryable) for error in errors] == [(ErrorCode.TIMEOUT, True)] * 4
            assert "nothing has been done" in errors[0].sentence
            assert (await ahead).error.code is ErrorCode.OUTCOME_UNKNOWN
            assert (await in_process(faulty_tools.quick)).data == 1

    async def test_tools_of_another_module_get_their_turn(self):
        def local(n: int) -> int:
            return n

        async with workers(most=1):
            results = await asyncio.gather(
                *[
                    in_process(function, {"n": n})
                    for n in range(10)
                    for function in (faulty_tools.quick, local)
                ]
            )
        assert [result.data for result in results] == [n for n in range(10) for _ in range(2)]

    async def test_the_first_start_does_not_count_as_the_tools_time(self, tmp_path, monkeypatch):
        (tmp_path / "slow_module.py").write_text(
            "import time\ntime.sleep(0.6)\ndef answer() -> int:\n    return 42\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        import slow_module  # noqa: PLC0415

        result = await in_process(slow_module.answer, timeout=0.3)
        assert result.data == 42

    async def test_but_it_does_count_for_the_run(self, tmp_path, monkeypatch):
        (tmp_path / "slower_module.py").write_text(
            "import time\ntime.sleep(0.9)\ndef answer() -> int:\n    return 42\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        import slower_module  # noqa: PLC0415

        tools = Calls(isolated(slower_module.answer, timeout=0.3, effect="writes"))
        result = await tools("answer", context=RunContext(deadline=time.monotonic() + 0.4))
        assert (result.error.code, result.error.retryable) == (ErrorCode.TIMEOUT, True)

    async def test_the_event_loop_is_never_blocked(self):
        await in_process(faulty_tools.quick)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        for _ in range(3):
            await in_process(faulty_tools.hang_in_c, {"path": "/dev/null"}, timeout=0.2)
        ticking.cancel()
        assert ticks > 10  # 60 on a quiet machine, and none in a loop that waits

    def test_calls_from_one_loop_after_another(self):
        for n in range(3):
            assert asyncio.run(in_process(faulty_tools.quick, {"n": n})).data == n

    async def test_a_worker_that_dies_while_idle_is_not_used(self):
        first = (await in_process(faulty_tools.pid)).data
        os.kill(first, signal.SIGKILL)
        await gone(first)
        for _ in range(3):
            assert (await in_process(faulty_tools.pid)).data != first

    async def test_templates_and_zygote_are_replaced_when_they_die(self):
        await in_process(faulty_tools.quick)
        crew = PROCESSES._owner.crew
        for pid in [next(iter(crew._templates.values())).forker.pid, crew._zygote.pid]:
            os.kill(pid, signal.SIGKILL)
            await gone(pid)
            await asyncio.sleep(0.1)
            assert (await in_process(faulty_tools.quick, {"n": 5})).data == 5

    async def test_a_pool_that_was_closed_starts_anew(self):
        pool = ProcessPool(most=1)
        async with workers(pool=pool):
            assert (await in_process(faulty_tools.quick)).data == 1
            await asyncio.to_thread(pool.close)
            assert (await in_process(faulty_tools.quick)).data == 1


_PARENT = """
import asyncio, os, sys, time
from dataclasses import replace
from tests.execution import faulty_tools
from tests.execution.processes import Calls, isolated
from toolhand.execution.workers.linux import descendants

async def main():
    tools = Calls(isolated(faulty_tools.detach_and_hang), isolated(faulty_tools.quick))
    await tools("quick")
    call = asyncio.create_task(tools("detach_and_hang", {"path": sys.argv[1]}))
    await asyncio.sleep(0.3)
    print(*[pid for pid in descendants([os.getpid()])][1:], flush=True)
    if sys.argv[2] == "exit":
        os.kill(os.getpid(), 2)
    if sys.argv[2] == "fork" and os.fork() == 0:
        time.sleep(4)  # holds on to whatever it has inherited
        os._exit(0)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["kill", "exit", "fork"])
def test_nothing_outlives_the_program(tmp_path, way):
    flag = tmp_path / "late"
    program = subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(flag), way],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=str(Path.cwd()),
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    with program:
        line = program.stdout.readline()
        pids = [int(word) for word in line.split()]
        assert len(pids) >= 4  # zygote, template, worker, and the detached one
        if way != "exit":
            program.kill()
    asyncio.run(gone(*pids))
    time.sleep(0.6)
    assert not flag.exists()


async def test_a_forked_copy_of_the_program_has_a_pool_of_its_own():
    await in_process(faulty_tools.quick)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(PROCESSES.alive).encode())
        finally:
            os._exit(0)
    os.close(writing)
    await asyncio.to_thread(os.waitpid, child, 0)
    assert os.read(reading, 10) == b"0"
    os.close(reading)
    assert (await in_process(faulty_tools.quick, {"n": 3})).data == 3


async def test_calls_of_one_reply_run_side_by_side():
    tools = Calls(isolated(faulty_tools.quick))
    calls = [ToolCall(id=str(n), name="quick", arguments={"n": n}) for n in range(50)]
    results = await tools.dispatch.each(calls, RunContext())
    assert [result.data for result in results] == list(range(50))
    assert replace(calls[0]) == calls[0]


async def test_a_system_without_another_file_to_open_answers_and_recovers(monkeypatch):
    async with workers(most=2):
        assert (await in_process(faulty_tools.quick, {"n": 1}, timeout=30)).ok
        with monkeypatch.context() as patch:
            patch.setattr(nodes.socket, "socketpair", _no_more_files)
            started = time.monotonic()
            # Each crash costs a worker, and there are two at most: the later calls need a new one.
            ended = [await in_process(faulty_tools.crash_by_exit, timeout=20) for _ in range(4)]
            assert time.monotonic() - started < 15, "a call waited for its whole time"
        assert [result.error.code for result in ended] == [ErrorCode.EXECUTION] * 4
        assert (await in_process(faulty_tools.quick, {"n": 1}, timeout=30)).ok


def _no_more_files():
    raise OSError(24, "Too many open files")


async def test_the_first_run_of_an_agent_starts_its_processes_while_the_model_is_asked():
    there = tool(faulty_tools.quick, isolation="process")

    class Waits(ScriptedModel):
        async def complete(self, request):
            async with asyncio.timeout(60):
                while not PROCESSES.is_ready(define(there)):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            return await super().complete(request)

    PROCESSES.close()
    assert not PROCESSES.is_ready(define(there))
    run = await Agent(Waits(["it was ready"]), [there]).run("?")
    assert run.text == "it was ready"
