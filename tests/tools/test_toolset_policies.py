"""A tool keeps the layers of the toolset that gave it some, wherever it goes."""

from __future__ import annotations

import asyncio

import pytest

from toolhand import Agent, ErrorCode, Toolset, tool
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.execution.layers import default_policies
from toolhand.policies.permission import AccessRule
from toolhand.testing import ScriptedModel


@tool
def look(x: int) -> int:
    """Looks."""
    return x


@tool
def listen(x: int) -> int:
    """Listens."""
    return x


def guarded(*tools):
    return Toolset(tools, policies=default_policies(access=[AccessRule(access="deny", users="guest")]))


DERIVED = {
    "only": lambda ts: ts.only("look"),
    "filter": lambda ts: ts.filter(lambda one: one.name == "look"),
    "prefix": lambda ts: ts.prefix("a_"),
    "rename": lambda ts: ts.rename(a_look="look"),
    "plus": lambda ts: Toolset([listen]) + ts,
    "plus, on the left": lambda ts: ts + Toolset([listen]),
    "in a list": lambda ts: Toolset([ts, listen]),
    "the tool alone": lambda ts: Toolset([ts["look"]]),
    "extended": lambda ts: Toolset([ts]).extended(listen),
    "with other options": lambda ts: Toolset([tool(ts["look"], timeout=5)]),
    "the agent's": lambda ts: Agent(ScriptedModel(["ok"]), [ts]).tools,
}


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
async def test_a_derived_toolset_refuses_what_its_origin_refuses(derive):
    derived = derive(guarded(look))
    name = next(one.name for one in derived if one.name.endswith("look"))
    assert (await derived.call(name, {"x": 1}, user="guest")).error.code is ErrorCode.NOT_PERMITTED
    assert (await derived.call(name, {"x": 1}, user="host")).data == 1


async def test_two_toolsets_put_together_each_keep_their_own():
    both = guarded(look) + Toolset(
        [listen], policies=default_policies(access=[AccessRule(access="deny", users="host")])
    )
    codes = {
        (name, user): (await both.call(name, {"x": 1}, user=user)).ok
        for name in ("look", "listen")
        for user in ("guest", "host")
    }
    assert codes == {
        ("look", "guest"): False,
        ("look", "host"): True,
        ("listen", "guest"): True,
        ("listen", "host"): False,
    }


async def test_policies_given_anew_count_instead():
    assert (await Toolset(guarded(look), policies=default_policies()).call("look", {"x": 1}, user="guest")).ok


def test_what_a_user_may_not_call_is_not_shown_to_the_model():
    model = ScriptedModel([ModelOutput(calls=(RawCall(id="c", name="look", arguments={"x": 1}),)), "ok"])
    run = asyncio.run(Agent(model, [guarded(look), listen]).run("?", user="guest"))
    assert [one.name for one in model.requests[0].tools] == ["listen"]
    assert run.results[0].error is not None


async def test_a_fallback_goes_through_its_own_layers():
    @tool(fallback=guarded(look)["look"])
    def fails(x: int) -> int:
        """Fails."""
        raise ConnectionError

    toolset = Toolset([fails])
    assert (await toolset.call("fails", {"x": 1}, user="host")).data == 1
    assert not (await toolset.call("fails", {"x": 1}, user="guest")).ok


async def test_fallbacks_with_layers_of_their_own_end():
    def fails(x: int) -> int:
        """Fails."""
        raise ConnectionError

    first = tool(fails, name="first")
    second = guarded(tool(fails, name="second", fallback=first))["second"]
    third = guarded(tool(fails, name="third", fallback=second))["third"]
    result = await Toolset([third]).call("third", {"x": 1}, user="host")
    assert result.error.code is ErrorCode.NETWORK
