"""Calls that no model makes: what a person agrees to, and what the caller says of who asks."""

from __future__ import annotations

import pytest

from toolhand import ErrorCode, Injected, RunContext, Toolset, tool
from toolhand.core.approvals import Approve, Deny, decide
from toolhand.core.errors import SettingsError
from toolhand.policies.permission import AccessRule, Permission

ran: list[object] = []


@pytest.fixture(autouse=True)
def _nothing_ran():
    ran.clear()


@tool(effect="destroys", approval=True)
def drop(number: int) -> str:
    """Drops."""
    ran.append(number)
    return f"{number} is gone"


def context(session: str) -> RunContext:
    return RunContext(user="ann", session_id=session)


def code_of(result):
    return None if result.error is None else result.error.code


async def test_a_repeated_call_finds_the_decision_and_uses_it_once():
    tools, here = Toolset([drop]), context("once")
    waiting = await tools.call("drop", {"number": "7"}, context=here)
    name = waiting.error.details["approval_id"]
    again = await tools.call("drop", {"number": "7"}, context=here)
    assert again.error.details["approval_id"] == name  # asking twice asks for the same
    decide(here, {name: Approve()})
    assert (await tools.call("drop", {"number": "7"}, context=here)).data == "7 is gone"
    more = await tools.call("drop", {"number": "7"}, context=here)
    assert code_of(more) is ErrorCode.APPROVAL_REQUIRED
    assert more.error.details["approval_id"] != name
    assert ran == [7]


@pytest.mark.parametrize("key", ["approval_id", "call_id"])
async def test_an_agreement_is_used_up_for_new_toolsets_and_contexts_too(key):
    waiting = await Toolset([drop]).call("drop", {"number": 8}, context=context(key))
    told = {**waiting.error.details["pending"]}
    codes = []
    for _ in range(3):
        here = context(key)
        decide(here, {told[key]: Approve()})
        codes.append(code_of(await Toolset([drop]).call("drop", {"number": 8}, context=here)))
    assert (codes, ran) == ([None, *[ErrorCode.APPROVAL_REQUIRED] * 2], [8])


async def test_a_new_agreement_opens_the_next_call():
    tools = Toolset([drop])
    for _ in range(3):
        here = context("anew")
        waiting = await tools.call("drop", {"number": 1}, context=here)
        decide(here, {waiting.error.details["approval_id"]: Approve()})
        assert (await tools.call("drop", {"number": 1}, context=here)).ok
    assert ran == [1, 1, 1]


async def test_an_agreement_counts_for_nothing_else():
    tools = Toolset([drop])
    name = (await tools.call("drop", {"number": 2}, context=context("a"))).error.details["approval_id"]
    for session, number in (("a", 3), ("b", 2)):
        here = context(session)
        decide(here, {name: Approve()})
        result = await tools.call("drop", {"number": number}, context=here)
        assert code_of(result) is ErrorCode.APPROVAL_REQUIRED
    here = context("a")
    decide(here, {name: Deny("no")})
    assert code_of(await tools.call("drop", {"number": 2}, context=here)) is ErrorCode.APPROVAL_DENIED
    assert ran == []


async def test_a_rule_that_asks_is_agreed_to_in_the_same_way():
    @tool
    def look(x: int) -> int:
        """Looks."""
        ran.append(x)
        return x

    tools = Toolset([look], policies=[Permission([AccessRule(access="ask")])])
    here = context("rule")
    name = (await tools.call("look", {"x": 1}, context=here)).error.details["approval_id"]
    decide(here, {name: Approve()})
    assert (await tools.call("look", {"x": 1}, context=here)).data == 1


async def test_a_fallback_that_has_to_be_agreed_to_loses_no_agreement():
    @tool(approval=True)
    def second(number: int) -> int:
        """Second."""
        ran.append(number)
        return number

    @tool(approval=True, fallback=second)
    def first(number: int) -> int:
        """First."""
        raise ConnectionRefusedError

    tools = Toolset([first])
    decisions, codes = {}, []
    for _ in range(4):
        here = context("fallback")
        decide(here, decisions)
        result = await tools.call("first", {"number": 5}, context=here)
        codes.append(code_of(result))
        if result.error is not None:
            decisions[result.error.details.get("approval_id", "")] = Approve()
    waits = ErrorCode.APPROVAL_REQUIRED
    assert (codes, ran) == ([waits, waits, None, waits], [5])


@tool(permission="orders:write")
def order(item: str) -> str:
    """Orders."""
    return item


@tool
def mine(user: str = Injected("user_id")) -> str:
    """Mine."""
    return user


@pytest.mark.parametrize("option", ["permissions", "roles"])
async def test_one_name_is_not_read_as_its_letters(option):
    with pytest.raises(SettingsError, match=rf'{option}=\["orders:write"\]'):
        await Toolset([order]).call("order", {"item": "x"}, **{option: "orders:write"})
    with pytest.raises(SettingsError, match=option):
        RunContext(**{option: "orders:write"})
    assert getattr(RunContext(**{option: ["a"]}), option) == frozenset({"a"})


@pytest.mark.parametrize(
    "beside",
    [{"user": "eve"}, {"session": "s"}, {"permissions": ["p"]}, {"roles": ["r"]}, {"database": None}],
)
def test_nothing_stands_beside_a_context(beside):
    with pytest.raises(SettingsError, match=next(iter(beside))):
        Toolset([mine]).call_sync("mine", context=RunContext(user="ann"), **beside)
    assert Toolset([mine]).call_sync("mine", context=RunContext(user="ann")).data == "ann"


async def test_nobody_is_no_user():
    result = await Toolset([mine]).call("mine")
    assert code_of(result) is ErrorCode.EXECUTION
    assert "user_id" in result.error.message
    assert (await Toolset([mine]).call("mine", user="ann")).data == "ann"
