from __future__ import annotations

from dataclasses import replace

import pytest

from toolhand import ErrorCode, RunContext, Tool, ToolFailure
from toolhand.core.approvals import Approve, decide
from toolhand.core.errors import ErrorCode as Code
from toolhand.core.events import FallbackTaken
from toolhand.core.jsonable import result_text
from toolhand.policies.approval import Approval
from toolhand.policies.circuit_breaker import CircuitBreaker
from toolhand.policies.fallback import Fallback
from toolhand.policies.permission import Permission
from toolhand.policies.rate_limit import RateLimit

from .calls import Way, bound, made


def tool_that(name, outcome, runs=None, **rules) -> Tool:
    async def run(city: str) -> str:
        if runs is not None:
            runs.append((name, city))
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return replace(made(run, **rules), name=name)


async def test_another_tool_is_asked_and_the_model_is_told():
    spare = tool_that("spare", "21 °C")
    way = Way(Fallback())
    result = await way(tool_that("weather", ConnectionError(), fallback=spare), city="Rome")
    assert (result.data, result.name) == ("21 °C", "weather")
    assert (result.notes["fallback"], result.notes["failed"]) == ("spare", Code.NETWORK)
    assert "comes from 'spare'" in result.remark
    assert "comes from 'spare'" in result_text(result)
    assert [event.fallback for event in way.of(FallbackTaken)] == ["spare"]


@pytest.mark.parametrize("error", [TimeoutError(), RuntimeError(), ToolFailure("down", code=Code.UPSTREAM)])
async def test_for_every_fault_of_the_tool(error):
    result = await Way(Fallback())(tool_that("a", error, fallback=tool_that("b", "ok")), city="x")
    assert result.data == "ok"


@pytest.mark.parametrize(
    ("error", "rules"),
    [(ToolFailure("no such city"), {}), (ToolFailure("mend", code=Code.INVALID_ARGUMENT), {}),
     (TimeoutError(), {"effect": "writes"}), (ToolFailure("no", code=Code.NOT_PERMITTED), {})],
)  # fmt: skip
async def test_not_for_a_models_mistake_or_an_unknown_outcome(error, rules):
    runs = []
    spare = tool_that("b", "ok", runs)
    result = await Way(Fallback())(tool_that("a", error, fallback=spare, **rules), city="x")
    assert not result.ok
    assert runs == []


async def test_arguments_that_do_not_fit_ask_nobody():
    runs = []
    result = await Way(Fallback())(tool_that("a", "ok", fallback=tool_that("b", "ok", runs)), city=[1])
    assert result.error.code is ErrorCode.INVALID_ARGUMENT
    assert runs == []


async def test_when_both_fail_the_first_error_says_so():
    chain_of_three = tool_that("b", ValueError(), fallback=tool_that("c", KeyError()))
    result = await Way(Fallback())(tool_that("a", ConnectionError(), fallback=chain_of_three), city="x")
    assert result.error.code is ErrorCode.NETWORK
    assert "failed too" in result.error.hint
    assert "'b'" not in result.error.sentence  # it may be a tool that the model is not shown
    assert result.name == "a"


async def test_a_fallbacks_fallback_and_no_loop():
    last = tool_that("c", "ok")
    assert (
        await Way(Fallback())(
            tool_that("a", OSError(113, ""), fallback=tool_that("b", OSError(113, ""), fallback=last)),
            city="x",
        )
    ).notes["fallback"] == "c"
    runs = []
    one = tool_that("one", ConnectionError(), runs)
    two = tool_that("two", ConnectionError(), runs, fallback=one)
    object.__setattr__(one, "rules", replace(one.rules, fallback=two))
    assert not (await Way(Fallback())(one, city="x")).ok
    assert [name for name, _ in runs] == ["one", "two"]


async def test_only_the_arguments_that_it_knows_are_handed_on():
    seen = []

    async def detailed(city: str, days: int) -> str:
        raise ConnectionError

    async def simple(place: str) -> str:
        seen.append(place)
        return "ok"

    async def demanding(city: str, key: str) -> str:
        return "never"

    spare = replace(made(simple), aliases={"city": "place"})
    assert (await Way(Fallback())(made(detailed, fallback=spare), city="Rome", days=2)).ok
    assert seen == ["Rome"]
    result = await Way(Fallback())(made(detailed, fallback=made(demanding)), city="Rome", days=2)
    assert result.error.code is ErrorCode.NETWORK
    assert result.error.hint == ""


async def test_its_own_policies_count():
    runs = []
    way = Way(Fallback(), Permission(), RateLimit())
    guarded = tool_that("b", "ok", runs, permission="spare:use", rate_limit="1/minute")
    tool = tool_that("a", ConnectionError(), fallback=guarded)
    assert (await way(tool, city="x")).error.code is ErrorCode.NETWORK
    assert runs == []
    allowed = RunContext(permissions=frozenset({"spare:use"}))
    assert (await way(tool, context=allowed, city="x")).ok
    assert (await way(tool, context=allowed, city="x")).error.code is ErrorCode.NETWORK
    assert len(runs) == 1


async def test_an_open_circuit_leads_to_it():
    runs = []
    way = Way(Fallback(), CircuitBreaker())
    tool = tool_that("a", ConnectionError(), runs, fallback=tool_that("b", "ok"))
    results = [await way(tool, city="x") for _ in range(9)]
    assert all(result.ok for result in results)
    assert len(runs) == 5


async def test_agreeing_to_the_tool_is_not_agreeing_to_its_fallback():
    runs = []
    spare = tool_that("b", "ok", runs, approval=True)
    tool = tool_that("a", ConnectionError(), fallback=spare, approval=True)
    way = Way(Fallback(), Approval())
    context = RunContext()
    decide(context, {"c1": Approve()})
    result = await way._way(bound(tool, "c1", city="x"), context)
    assert result.error.code is ErrorCode.APPROVAL_REQUIRED
    assert result.call_id == "c1"
    assert result.error.details["pending"]["name"] == "b"
    assert runs == []
    # A resumed run is told again what was decided before.
    decide(context, {"c1": Approve(), result.error.details["approval_id"]: Approve()})
    assert (await way._way(bound(tool, "c1", city="x"), context)).data == "ok"


def test_what_applies():
    assert not Fallback().applies(tool_that("a", "x"))
    assert Fallback().applies(tool_that("a", "x", fallback=tool_that("b", "x")))


@pytest.mark.parametrize(
    ("error", "first", "second", "is_asked"),
    [
        (RuntimeError(), {"effect": "writes"}, {"effect": "writes"}, False),
        (RuntimeError(), {"effect": "destroys"}, {"effect": "writes", "idempotent": True}, False),
        (ToolFailure("half done", code=Code.UPSTREAM), {"effect": "writes"}, {"effect": "writes"}, False),
        (RuntimeError(), {"effect": "writes"}, {}, True),
        (RuntimeError(), {"effect": "writes", "idempotent": True}, {"effect": "writes"}, True),
        (ConnectionRefusedError(), {"effect": "writes"}, {"effect": "writes"}, True),  # it never got there
        (ConnectionResetError(), {"effect": "writes"}, {"effect": "writes"}, False),  # an unknown outcome
        (ConnectionResetError(), {"effect": "writes"}, {}, False),
        (RuntimeError(), {}, {"effect": "writes"}, True),
    ],
)
async def test_no_second_effect_where_the_first_may_have_landed(error, first, second, is_asked):
    runs = []
    spare = tool_that("b", "ok", runs, **second)
    result = await Way(Fallback())(tool_that("a", error, fallback=spare, **first), city="x")
    assert (runs == [("b", "x")]) == is_asked
    assert result.ok == is_asked
