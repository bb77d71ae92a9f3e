"""What is refused of policies, and what becomes of a policy's own words and its slips."""

from __future__ import annotations

import pytest

from toolhand import Agent, ErrorCode, RunContext, ToolFailure, Toolset, tool
from toolhand.core.errors import SettingsError
from toolhand.execution.layers import default_policies
from toolhand.testing import ScriptedModel

from .test_dispatch import calls, quick, write


@pytest.mark.parametrize("given", [None, "done", {"ok": True}])
async def test_a_policy_that_forgets_the_result_costs_its_call_alone(given):
    async def forgetful(call, context, proceed):
        await proceed(call, context)
        return given

    model = ScriptedModel([calls("quick", "write"), "Done."])
    run = await Agent(model, tools=[quick, write], policies=[forgetful]).run("go")
    codes = [result.error.code for result in run.results]
    assert codes == [ErrorCode.EXECUTION, ErrorCode.OUTCOME_UNKNOWN]
    assert run.text == "Done."


@pytest.mark.parametrize(("language", "words"), [("en", "Come back at nine."), ("zh", "请九点再来。")])
async def test_a_policy_refuses_in_its_own_words(language, words):
    async def office_hours(call, context, proceed):
        raise ToolFailure("Come back at nine.", code=ErrorCode.NOT_PERMITTED, chinese=("请九点再来。", ""))

    tools = Toolset([write], policies=[office_hours])
    result = await tools.call("write", {"x": 1}, context=RunContext(language=language))
    assert (result.error.code, result.error.message) == (ErrorCode.NOT_PERMITTED, words)


def rules_served(**rules):
    @tool(**rules)
    async def guarded_by_rules(x: int) -> int:
        """Guarded."""
        return x

    return guarded_by_rules


async def passing(call, context, proceed):
    return await proceed(call, context)


@pytest.mark.parametrize(
    "rules",
    [
        {"approval": True}, {"permission": "a:b"}, {"timeout": 3}, {"rate_limit": "1/minute"}, {"sensitive": ["x"]},
        {"concurrency": 1}, {"before": [lambda arguments, context: None]},
    ],
    ids=lambda rules: next(iter(rules)),
)  # fmt: skip
def test_policies_that_leave_out_what_a_tool_declares_are_refused(rules):
    (rule,) = rules
    guarded_tool = rules_served(**rules)
    for make in (
        lambda policies: Agent(ScriptedModel(["a"]), tools=[guarded_tool], policies=policies),
        lambda policies: Toolset([guarded_tool], policies=policies),
    ):
        with pytest.raises(SettingsError, match=f"declares `{rule}`, which none of the policies given reads"):
            make([passing])
        make([passing, *default_policies()])
        make([])  # somebody's clear word


def test_a_policy_of_ones_own_may_say_what_it_reads():
    class Asking:
        serves = frozenset({"approval"})

        async def __call__(self, call, context, proceed):
            return await proceed(call, context)

    Toolset([rules_served(approval=True)], policies=[Asking()])
    with pytest.raises(SettingsError, match="`timeout`"):
        Toolset([rules_served(approval=True, timeout=1)], policies=[Asking()])
