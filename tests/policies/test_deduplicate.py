from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from toolhand import ErrorCode, RunContext, ToolFailure
from toolhand.core.approvals import Approve, decide
from toolhand.policies.deduplicate import Deduplicate, is_stuck
from toolhand.policies.sharing.loops import LoopDetector
from toolhand.testing import FakeClock

from .calls import Way, bound, codes, made


class World:
    """Tools over one changing value."""

    def __init__(self):
        self.value = "one page"
        self.runs: list[str] = []

    def read(self, **rules):
        async def read(path: str, page: int = 1) -> str:
            self.runs.append("read")
            return f"{self.value}"

        return made(read, **rules)

    def write(self, name="write", **rules):
        async def write(path: str) -> str:
            self.runs.append(name)
            return f"written {len(self.runs)}"

        return replace(made(write, effect="writes", **rules), name=name)


@pytest.fixture
def world():
    return World()


class Turns(Way):
    """Each call is a turn of its own."""

    async def __call__(self, of, **options):
        self.context = replace(self.context, turn=self.context.turn + 1)
        return await super().__call__(of, **options)


def turns(clock=None, **context):
    return Turns(Deduplicate(clock or FakeClock()), context=RunContext(**context))


async def test_forty_equal_calls_run_a_few_times_and_end_the_run_soon(world):
    way = turns()
    results, stuck_at = [], None
    for number in range(40):
        results.append(await way(world.read(), path="a"))
        if stuck_at is None and is_stuck(way.context):
            stuck_at = number + 1
    assert len(world.runs) == 2
    assert codes(results[:4]) == [None] * 4
    assert set(codes(results[4:])) == {"repeated_call"}
    assert stuck_at == 7
    assert results[0].remark == ""
    assert "same result" in results[1].remark
    assert "You already called 'read'" in results[2].remark
    assert results[2].data == "one page"
    assert results[2].notes["repeat_of"] == results[1].call_id
    assert results[10].error.details["times"] == 11


async def test_what_changes_is_polling(world):
    way = turns()
    for number in range(30):
        world.value = f"{number} %"
        result = await way(world.read(), path="job")
        assert (result.data, result.remark) == (f"{number} %", "")
    assert len(world.runs) == 30


async def test_a_tool_that_is_meant_for_polling_is_let_through(world):
    way = turns()
    results = [await way(world.read(poll=True), path="job") for _ in range(30)]
    assert codes(results) == [None] * 30
    assert len(world.runs) == 30


async def test_after_a_while_a_result_may_have_changed(world):
    clock = FakeClock()
    way = turns(clock)
    for _ in range(4):
        await way(world.read(), path="job")
    assert len(world.runs) == 2
    clock.advance(61)
    world.value = "done"
    assert (await way(world.read(), path="job")).data == "done"
    for _ in range(20):
        clock.advance(61)
        await way(world.read(), path="job")
    assert len(world.runs) <= 3 + 5


@pytest.mark.parametrize("seconds", [0.1, 3, 4, 9])
async def test_a_slow_model_s_equal_calls_are_answered_and_refused_as_a_quick_one_s(world, seconds):
    clock = FakeClock()
    way = turns(clock)
    found = []
    while not is_stuck(way.context):
        found.append(await way(world.read(), path="a"))
        clock.advance(seconds)
    assert codes(found) == [None] * 4 + ["repeated_call"] * 3
    assert len(world.runs) == 2


async def test_a_second_look_that_shows_nothing_new_does_not_forget_the_refusals(world):
    clock = FakeClock()
    way = turns(clock)
    for _ in range(6):
        await way(world.read(), path="a")
    clock.advance(61)
    assert (await way(world.read(), path="a")).ok
    await way(world.read(), path="a")
    assert len(world.runs) == 3
    assert is_stuck(way.context)


async def test_a_second_look_that_shows_something_new_does(world):
    clock = FakeClock()
    way = turns(clock)
    for _ in range(6):
        await way(world.read(), path="a")
    clock.advance(61)
    world.value = "another page"
    assert (await way(world.read(), path="a")).data == "another page"
    for _ in range(5):
        await way(world.read(), path="a")
    assert len(world.runs) == 4
    assert not is_stuck(way.context)


@pytest.mark.parametrize(
    "other",
    [{"page": 1, "path": "a"}, {"path": "a", "page": 1.0}, {"path": "a", "page": 1}],
)
async def test_the_order_of_keys_defaults_and_number_formats_make_no_difference(world, other):
    way = turns()
    read = replace(world.read(), validate=None)
    for _ in range(2):
        await way(read, path="a")
    result = await way(read, **other)
    assert "already called" in result.remark
    assert len(world.runs) == 2


async def test_other_arguments_are_another_call(world):
    way = turns()
    for page in range(30):
        assert (await way(world.read(), path="a", page=page)).remark == ""
    assert len(world.runs) == 30


async def test_near_repeats_are_seen(world):
    way = turns()
    spellings = ["北京", " 北京", "北京 ", "北 京", "北京  ", "  北京"]
    results = [await way(world.read(), path=path) for path in spellings]
    assert len(world.runs) == 3
    assert codes(results[3:]) == ["repeated_call"] * 3


async def test_a_write_makes_what_was_read_old(world):
    way = turns()
    for _ in range(3):
        await way(world.read(), path="a")
    await way(world.write(), path="a")
    world.value = "new"
    assert (await way(world.read(), path="a")).data == "new"


async def test_a_write_is_not_done_twice(world):
    way = turns()
    results = [await way(world.write(), path="a") for _ in range(5)]
    assert world.runs == ["write"]
    assert codes(results) == [None, *["repeated_call"] * 4]
    assert "ask the user" in results[1].error.hint
    assert is_stuck(way.context)
    assert (await way(world.write(), path="b")).ok
    assert not is_stuck(way.context)
    assert (await turns()(world.write(), path="a")).ok  # the user's next message


async def test_after_another_effect_a_write_may_be_wanted_again_but_not_for_ever(world):
    way = turns()
    results = []
    for _ in range(10):
        results.append(await way(world.write("on"), path="a"))
        results.append(await way(world.write("off"), path="a"))
    assert len(world.runs) == 6
    assert codes(results[:6]) == [None] * 6
    assert "on → off → on" in results[-1].error.hint or "off → on → off" in results[-1].error.hint
    assert is_stuck(way.context)


async def test_a_person_who_agreed_to_the_repeat_is_obeyed(world):
    way = turns()
    await way(world.write(), path="a")
    decide(way.context, {"again": Approve()})
    result = await Way(Deduplicate(), context=way.context)._way(
        bound(world.write(), "again", path="a"), way.context
    )
    assert result.ok
    assert len(world.runs) == 2


async def test_an_idempotent_write_is_answered_from_memory(world):
    way = turns()
    results = [await way(world.write(idempotent=True), path="a") for _ in range(4)]
    assert codes(results) == [None, None, None, "repeated_call"]
    assert len(world.runs) == 1


@pytest.mark.parametrize("effect", ["reads", "writes"])
async def test_the_same_failure_ends_after_three(effect):
    runs = []

    async def edit(path: str) -> str:
        runs.append(path)
        raise ToolFailure("The file is too large: 41000 characters.")

    way = turns()
    results = [await way(made(edit, effect=effect), path="x") for _ in range(10)]
    assert len(runs) == 3
    assert set(codes(results[3:])) == {"repeated_call"}
    assert "failed 3 times" in results[-1].error.message
    assert "41000" in results[-1].error.message
    assert is_stuck(way.context)


async def test_who_waits_as_long_as_told_may_come_again():
    clock = FakeClock()
    runs = []

    async def api(x: int) -> str:
        runs.append(x)
        raise ToolFailure("busy", code=ErrorCode.RATE_LIMITED, retryable=True, details={"retry_after": 5})

    way = turns(clock)
    for _ in range(6):
        await way(made(api), x=1)
        clock.advance(5.1)
    assert len(runs) == 6


async def test_after_an_unknown_outcome_something_has_to_be_looked_up_first(world):
    runs = []

    async def pay(order: str) -> str:
        runs.append(order)
        if len(runs) == 1:
            raise TimeoutError
        return "paid"

    way, tool = turns(), made(pay, effect="writes")
    assert codes([await way(tool, order="A1"), await way(tool, order="A1")]) == ["outcome_unknown"] * 2
    assert len(runs) == 1
    await way(world.read(), path="A1")
    assert (await way(tool, order="A1")).data == "paid"


async def test_parallel_equal_calls_run_once(world):
    way = Way(Deduplicate(FakeClock()), context=RunContext(turn=1))
    results = await asyncio.gather(*[way(world.read(), path="a") for _ in range(40)])
    assert len(world.runs) == 1
    assert all(result.ok and result.data == "one page" for result in results)
    assert not is_stuck(way.context)
    results = await asyncio.gather(*[way(world.write(), path="a") for _ in range(3)])
    assert codes(results) == [None, "repeated_call", "repeated_call"]


async def test_a_cancelled_call_does_not_hold_the_next_one_up():
    gate = asyncio.Event()
    runs = []

    async def slow(x: int) -> str:
        runs.append(x)
        await gate.wait()
        return "done"

    way = turns()
    first = asyncio.ensure_future(way(made(slow), x=1))
    second = asyncio.ensure_future(way(made(slow), x=1))
    await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert (await second).ok
    assert len(runs) == 2


async def test_a_cycle_over_several_tools(world):
    async def other(path: str) -> str:
        world.runs.append("other")
        return "nothing"

    way = turns(language="zh")
    for _ in range(10):
        await way(world.read(), path="a")
        result = await way(made(other), path="b")
    assert len(world.runs) == 4
    assert "原地打转" in result.error.hint
    assert "read" in result.error.hint
    assert is_stuck(way.context)


async def test_runs_do_not_share_their_memory(world):
    policy = Deduplicate(FakeClock())
    for _ in range(4):
        way = Way(policy)
        assert (await way(world.read(), path="a")).remark == ""
    assert len(world.runs) == 4


def test_turns_are_compared_by_what_they_ask():
    one = [("f", {"x": 1, "y": "a"}), ("g", {})]
    other = [("g", {}), ("f", {"y": "a", "x": 1.0})]
    detector = LoopDetector(limit=3)
    assert [detector.turn(one), detector.turn(other), detector.turn(one)] == [False, False, True]
    detector = LoopDetector(limit=3)
    assert not any(detector.turn([("f", {"x": number, "y": "a"})]) for number in range(5))
    detector = LoopDetector(limit=3)
    assert [detector.turn([("f", {"x": number % 2})]) for number in range(6)][-1]
    detector = LoopDetector(limit=2)
    assert not any(detector.turn(turn) for turn in (one, [], one))


async def test_turns_that_are_told_something_new_are_no_loop(world):
    way = turns()
    detector = LoopDetector(limit=3)
    for number in range(9):
        world.value = str(number)
        assert not detector.turn([("read", {"path": "a"})], [await way(world.read(), path="a")])
    world.value = "final"
    for number in range(3):
        seen = detector.turn([("read", {"path": "a"})], [await way(world.read(), path="a")])
        assert seen is (number == 2)


async def test_nearly_the_same_write_is_never_refused_only_warned_about(world):
    way = turns()
    write = world.write()
    spellings = [
        "a.txt",
        "A.txt",
        "a.TXT",
        " a.txt",
        "a.txT",
        "A.TXT",
        "a .txt",
        "ａ.txt",
        "a. txt",
        "A.tXt",
        "a.Txt",
    ]
    results = [await way(write, path=path) for path in spellings]
    assert codes(results) == [None] * 11
    assert world.runs == ["write"] * 11
    assert results[0].remark == ""
    assert all("nearly the same" in result.remark for result in results[1:])
    assert codes([await way(write, path="a.txt")]) == [ErrorCode.REPEATED_CALL]  # exactly what was done


@pytest.mark.parametrize("rules", [{}, {"idempotent": True}])
async def test_a_failing_write_is_refused_for_its_own_failures_alone(rules):
    async def fails(path: str) -> str:
        raise ToolFailure("disk full")

    way = turns()
    tool = made(fails, effect="writes", **rules)
    for path in ("a", "A", "a ", " a", "A ", " A"):
        assert codes([await way(tool, path=path)]) == ["execution"]
