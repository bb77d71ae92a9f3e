"""The code protocol in an agent's run: steps, errors, approval, limits, other spellings, and a run that goes on elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.places import place
from toolhand import Agent, Limits, Toolset, tool
from toolhand.core.approvals import Approve, Deny
from toolhand.parsing.programs.outcomes import CodeRules
from toolhand.parsing.programs.outcomes import Limits as CodeLimits
from toolhand.protocols.code import CodeProtocol
from toolhand.testing import ScriptedModel


@pytest.fixture(autouse=True)
def _there() -> None:
    place("monty")  # skipped where there is none


def shop(ran: list[Any]) -> Toolset:
    @tool
    def price(item: str) -> int:
        """The price of an item."""
        ran.append(("price", item))
        return {"tea": 3, "rice": 5}[item]

    @tool(effect="writes")
    def order(item: str) -> str:
        """Orders an item."""
        ran.append(("order", item))
        return f"ordered {item}"

    @tool(effect="destroys", approval=True)
    def cancel(item: str) -> str:
        """Cancels an order."""
        ran.append(("cancel", item))
        return f"cancelled {item}"

    return Toolset([price, order, cancel])


def agent(replies: list[Any], ran: list[Any], **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(replies)
    options = {"protocol": "code", "store": "memory", **options}
    return Agent(model, shop(ran), **options), model


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def test_a_program_runs_and_the_history_holds_one_call_with_one_result() -> None:
    ran: list[Any] = []
    one, model = agent([fenced("t = price('tea') + price('rice')\nprint(t)"), "It is 8."], ran)
    run = one.run_sync("?")
    assert run.output == "It is 8."
    assert ran == [("price", "tea"), ("price", "rice")]
    assert [call.name for call in run.calls] == ["price", "price"]
    assert [call.name for message in run.messages for call in message.calls] == ["run_code"]
    told = model.requests[1].messages[-1].text
    assert "8" in told
    assert "<code_result>" in told


def test_an_error_goes_back_with_its_line_and_what_must_not_be_done_again() -> None:
    ran: list[Any] = []
    replies = [fenced("order('tea')\nx = 1 / 0"), fenced("print(price('tea'))"), "done"]
    one, model = agent(replies, ran)
    assert one.run_sync("?").output == "done"
    told = model.requests[1].messages[-1].text
    assert "line 2, `x = 1 / 0`: ZeroDivisionError" in told
    assert "order(item='tea')" in told


def test_what_is_surely_wrong_runs_nothing() -> None:
    ran: list[Any] = []
    one, model = agent([fenced("order('tea')\nprices('tea')"), "sorry"], ran)
    one.run_sync("买茶")
    assert not ran
    assert "第 2 行" in model.requests[1].messages[-1].text
    assert "price" in model.requests[1].messages[-1].text


def test_a_person_is_asked_in_the_midst_and_finished_calls_do_not_run_again() -> None:
    ran: list[Any] = []
    code = "a = order('tea')\nb = cancel('tea')\nprint(a, b, order('rice'))"
    one, model = agent([fenced(code), "well"], ran)
    run = one.run_sync("?", session="s")
    assert run.stopped == "approval"
    assert ran == [("order", "tea")]
    assert [pending.name for pending in run.pending] == ["cancel"]
    done = one.resume_sync("s", {run.pending[0].approval_id: Approve()})
    assert done.output == "well"
    assert ran == [("order", "tea"), ("cancel", "tea"), ("order", "rice")]
    assert "ordered tea cancelled tea ordered rice" in model.requests[1].messages[-1].text


def test_a_fallback_in_the_midst_runs_once_a_person_has_agreed_to_it() -> None:
    ran: list[Any] = []

    @tool(effect="writes", approval=True)
    def pay_by_card(amount: int) -> str:
        """Pays by card."""
        ran.append(amount)
        return "paid by card"

    @tool(effect="writes", fallback=pay_by_card)
    def transfer(amount: int) -> str:
        """Transfers an amount."""
        raise ConnectionRefusedError

    model = ScriptedModel([fenced("print(transfer(3))"), "well"])
    one = Agent(model, [transfer], protocol="code", store="memory")
    run = one.run_sync("?", session="s")
    assert (run.stopped, ran) == ("approval", [])
    one.resume_sync("s", {run.pending[0].approval_id: Approve()})
    assert ran == [3]
    assert "paid by card" in model.requests[1].messages[-1].text


def test_a_person_who_declines_is_an_error_in_the_program() -> None:
    ran: list[Any] = []
    code = "try:\n    cancel('tea')\nexcept ToolError:\n    print('kept')"
    one, model = agent([fenced(code), "kept it"], ran)
    run = one.run_sync("?", session="s")
    assert one.resume_sync("s", {run.pending[0].approval_id: Deny("no")}).output == "kept it"
    assert not ran
    assert "kept" in model.requests[1].messages[-1].text


def test_a_program_that_asks_for_something_else_when_it_goes_on_is_stopped() -> None:
    ran: list[Any] = []
    code = "import random\norder('tea' + str(random.random()))\ncancel('tea')"
    one, model = agent([fenced(code), "stopped"], ran)
    run = one.run_sync("?", session="s")
    one.resume_sync("s", {run.pending[0].approval_id: Approve()})
    assert [name for name, _ in ran] == ["order"]
    assert "twice" in model.requests[1].messages[-1].text


def test_a_new_message_instead_of_a_decision_tells_what_had_run() -> None:
    ran: list[Any] = []
    one, model = agent([fenced("order('tea')\ncancel('tea')"), "hello"], ran)
    one.run_sync("?", session="s")
    assert one.run_sync("never mind", session="s").output == "hello"
    assert ran == [("order", "tea")]
    assert (
        "order("
        in model.requests[1].messages[-2 if model.requests[1].messages[-1].text == "never mind" else -1].text
    )


def test_the_runs_limit_of_calls_holds_for_a_program() -> None:
    ran: list[Any] = []
    one, _ = agent([fenced("for i in range(9):\n    price('tea')"), "enough", "enough"], ran)
    one.run_sync("?", limits=Limits(calls=3))
    assert len(ran) == 3


def test_a_choice_of_tools_holds_for_a_program() -> None:
    ran: list[Any] = []
    one, _ = agent([fenced("order('tea')"), "ok"], ran)
    one.run_sync("?", tool_choice=["price"])
    assert not ran


def test_the_protocols_own_limits_hold() -> None:
    ran: list[Any] = []
    rules = CodeRules(limits=CodeLimits(seconds=0.2), backend="monty")
    one, model = agent(
        [fenced("print(1)\nwhile True:\n    pass"), "ok"], ran, protocol=CodeProtocol(rules=rules)
    )
    one.run_sync("?")
    assert "0.2 seconds" in model.requests[1].messages[-1].text


def test_a_single_call_in_another_spelling_runs_too() -> None:
    ran: list[Any] = []
    one, _ = agent(['{"name": "price", "arguments": {"item": "tea"}}', "3"], ran)
    one.run_sync("?")
    assert ran == [("price", "tea")]


async def test_prose_before_a_program_streams() -> None:
    ran: list[Any] = []
    one, _ = agent(
        [
            f"I will look it up for you now.\n{fenced('print(price(item=chr(116) + chr(101) + chr(97)))')}",
            "3",
        ],
        ran,
    )
    shown = "".join(
        [
            getattr(event, "text", "")
            for event in [e async for e in one.stream("?")]
            if type(event).__name__ == "TextDelta"
        ]
    )
    assert shown.startswith("I will look it up for you now.")
    assert "price(" not in shown
    assert ran == [("price", "tea")]
