"""What programs can do, in every sandbox: tools, values, output, files, errors with their line, and limits."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from toolhand import RunContext, Toolset, tool
from toolhand.core.errors import ToolFailure
from toolhand.sandbox import Limits

RAN: list[Any] = []


@tool
def add(a: float, b: float) -> float:
    """Adds."""
    RAN.append(("add", a, b))
    return a + b


@tool
def get_weather(city: str, days: int = 1) -> dict[str, Any]:
    """The weather."""
    RAN.append(("get_weather", city))
    return {"city": city, "days": days, "temperature": 21.5}


@tool(effect="writes")
def send(text: str) -> str:
    """Sends."""
    RAN.append(("send", text))
    return "sent"


@tool
def fail() -> str:
    """Fails."""
    raise ToolFailure("the machine is broken")


@tool(name="odd-name.v2")
def odd(x: int) -> int:
    """A name that no identifier has."""
    return x * 2


TOOLS = Toolset([add, get_weather, send, fail, odd])


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("add(1, 2)", 3),
        ("add(a=1, b=2)", 3),
        ("api.add(1, b=2)", 3),
        ("api.call_tool('add', a=1, b=2)", 3),
        ("await add(1, 2)", 3),
        ("r = await api.add(1, 2)\nr + 1", 4),
        ("api.parallel([('add', {'a': 1, 'b': 2}), ('add', {'a': 3, 'b': 4})])", [3, 7]),
        ("add(1, 2) + add(3, 4)", 10),
        ("import asyncio\nawait asyncio.gather(add(1, 2), api.add(3, 4))", [3, 7]),
        ("import asyncio\nasync def main():\n    t = [add(i, 1) for i in range(3)]\n    return await asyncio.gather(*t)\nasyncio.run(main())", [1, 2, 3]),
        ("w = get_weather(city='长沙')\nf\"{w['city']} {w['temperature']}\"", "长沙 21.5"),
        ("api.call_tool('odd-name.v2', x=4)", 8),
        ("odd_name_v2(4)", 8),
        ("try:\n    fail()\nexcept ToolError as e:\n    r = str(e)\nr", "the machine is broken"),
        ("try:\n    fail()\nexcept Exception as e:\n    r = 'caught'\nr", "caught"),
        ("(1, [2, {'a': {3}}], None, True)", [1, [2, {"a": [3]}], None, True]),
        ("import datetime\ndatetime.date(2026, 2, 3)", "2026-02-03"),
        ("x = 1", None),
        ("print('only')", None),
        ("城市 = '北京'\n城市", "北京"),
    ],
)  # fmt: skip
def test_a_program_calls_tools_and_gives_its_last_value(code: str, value: Any, run: Any) -> None:
    outcome = run(code, TOOLS)
    assert outcome.error is None, str(outcome.error)
    assert outcome.value == value
    assert outcome.ok


def test_output_calls_and_walls_are_told(run: Any) -> None:
    outcome = run("print('a', 1)\nprint('b')\nsend(text='x')", TOOLS)
    assert outcome.output == "a 1\nb\n"
    assert [(call.name, dict(call.arguments)) for call in outcome.calls] == [("send", {"text": "x"})]
    assert [result.data for result in outcome.results] == ["sent"]
    assert "seccomp" in outcome.isolation


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        ("x = 1\n\ny = x / 0", 3, "ZeroDivisionError"),
        ("def f():\n    return int('x')\nf()", 2, "ValueError"),
        ("x = (", 1, "not Python"),
        ("print(1)\nget_wether(city='x')", 2, "get_weather"),
        ("print(1)\napi.nothing(1)", 2, "api.nothing"),
        ("print(1)\nadd(a=1)", 2, "'b'"),
        ("print(1)\nadd(1, 'x')", 2, "'b'"),
        ("print(1)\nadd(1, 2, 3)", 2, "2"),
        ("print(1)\nadd(a=1, b=2, c=3)", 2, "'c'"),
    ],
)
def test_an_error_names_the_programs_own_line(code: str, line: int, said: str, run: Any) -> None:
    outcome = run(code, TOOLS)
    assert outcome.error is not None
    assert outcome.error.line == line
    assert said in str(outcome.error)
    assert outcome.error.source_line == code.split("\n")[line - 1].strip()
    assert not RAN
    assert "toolhand" not in str(outcome.error).lower()


def test_errors_are_in_the_language_of_the_run(run: Any) -> None:
    outcome = run("x = 1\nadd(a=1)", TOOLS, context=RunContext(language="zh"))
    assert str(outcome.error).startswith("第 2 行")
    assert "b" in str(outcome.error)


def test_a_loop_asks_the_same_again_and_gets_an_answer_each_time(run: Any) -> None:
    outcome = run("t = 0\nfor _ in range(7):\n    t += add(1, 2)\nt", TOOLS)
    assert (outcome.value, len(RAN)) == (21, 7)


def test_policies_hold_for_a_programs_calls(run: Any) -> None:
    @tool(permission="orders:write")
    def order(item: str) -> str:
        """Orders."""
        RAN.append(item)
        return "ordered"

    outcome = run("try:\n    order(item='x')\nexcept Exception as e:\n    r = str(e)\nr", [order])
    assert not RAN
    assert outcome.results[0].error.code == "not_permitted"
    assert run("order(item='x')", [order], permissions=["orders:write"]).value == "ordered"


def test_a_call_that_waits_for_a_person_ends_the_program(run: Any) -> None:
    @tool(approval=True, effect="writes")
    def wipe(disk: str) -> str:
        """Wipes."""
        RAN.append(disk)
        return "wiped"

    outcome = run("try:\n    wipe(disk='a')\nexcept BaseException:\n    pass\nprint('after')", [wipe])
    assert not RAN
    assert outcome.error.kind == "waiting"
    assert "after" not in outcome.output


def test_the_most_calls_end_the_program_for_good(run: Any) -> None:
    code = (
        "n = 0\nwhile True:\n    try:\n        add(n, 1)\n    except BaseException:\n        pass\n    n += 1"
    )
    outcome = run(code, TOOLS, limits=Limits(calls=10, seconds=20))
    assert outcome.error.kind == "calls"
    assert len(RAN) == 10


def test_time_output_and_memory_have_an_end(run: Any) -> None:
    began = time.monotonic()
    outcome = run("print('begun')\nwhile True:\n    pass", seconds=0.3)
    assert outcome.error.kind == "time"
    assert outcome.output == "begun\n"
    assert time.monotonic() - began < 10
    outcome = run("print('x' * 100_000)\nprint('end')", limits=Limits(output_kb=2))
    assert outcome.ok
    assert len(outcome.output) < 2_200
    assert run("'x' * 100_000", limits=Limits(output_kb=2)).error.kind == "output"
    assert (
        run("a = []\nwhile True:\n    a.append('x' * 1_000_000)", limits=Limits(memory_mb=64)).error.kind
        == "memory"
    )


def test_each_program_begins_with_nothing(run: Any) -> None:
    run("import sys\nkept = 1\nsys.kept = 1\nprint(1)")
    assert run("try:\n    print(kept)\nexcept NameError:\n    print('gone')").output == "gone\n"


async def test_tools_of_one_program_run_side_by_side(arun: Any) -> None:
    inside = peak = 0
    met = asyncio.Event()

    @tool
    async def slow(n: int) -> int:
        """Waits."""
        nonlocal inside, peak
        inside += 1
        peak = max(peak, inside)
        if inside == 3:
            met.set()
        await met.wait()
        inside -= 1
        return n

    code = "import asyncio\nawait asyncio.gather(slow(1), slow(2), slow(3))"
    outcome = await arun(code, [slow])
    assert (outcome.value, peak) == ([1, 2, 3], 3)
    peak = 0
    met.clear()
    outcome = await arun("api.parallel([('slow', {'n': n}) for n in (1, 2, 3)])", [slow])
    assert (outcome.value, peak) == ([1, 2, 3], 3)


async def test_a_cancelled_run_ends_its_program_and_its_tool(arun: Any) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> None:
        """Waits."""
        begun.set()
        try:
            await asyncio.sleep(100)
        finally:
            ended.set()

    running = asyncio.create_task(arun("wait()", [wait], seconds=60))
    await begun.wait()
    began = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - began < 30  # and not when its time is up
    await asyncio.wait_for(ended.wait(), 20)


async def test_a_tool_that_hangs_does_not_outlive_the_limit(arun: Any) -> None:
    ended = asyncio.Event()

    @tool
    async def hang() -> None:
        """Hangs."""
        try:
            await asyncio.sleep(100)
        finally:
            ended.set()

    outcome = await arun("hang()", [hang], seconds=0.3)
    assert outcome.error.kind == "time"
    await asyncio.wait_for(ended.wait(), 20)


async def test_programs_run_side_by_side(arun: Any) -> None:
    outcomes = await asyncio.gather(*(arun(f"add({n}, 1)", TOOLS) for n in range(8)))
    assert [outcome.value for outcome in outcomes] == [n + 1 for n in range(8)]


def test_nothing_is_left_of_a_program_on_this_side(run: Any) -> None:
    run("1 + 1", TOOLS)
    before, threads = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
    for _ in range(20):
        run("add(1, 2)", TOOLS)
        run("1 / 0", TOOLS)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 12  # those that are kept ready come and go
    assert threading.active_count() <= threads + 2
