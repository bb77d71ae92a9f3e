from __future__ import annotations

import json

import pytest

from toolhand import Agent, Chain, Limits, Session, ToolFailure, tool
from toolhand.core.errors import SettingsError
from toolhand.core.events import CallFinished, RunFinished
from toolhand.core.messages import RawCall
from toolhand.flows import Passed, Step
from toolhand.testing import ScriptedModel

PRICES = {"hammer": 12.5, "nail": 0.1}


@tool
def get_price(item: str) -> float:
    """Gives an item's price in euros."""
    if item not in PRICES:
        raise ToolFailure(f"there is no item '{item}'")
    return PRICES[item]


@tool
def total(price: float, pieces: int) -> float:
    """Gives what some pieces cost."""
    return price * pieces


@tool(permission="orders:write", effect="writes")
def place_order(note: str) -> str:
    """Places an order."""
    return f"ordered: {note}"


@tool(approval=True, effect="writes")
def pay(amount: float) -> str:
    """Pays an amount in euros."""
    return "paid"


def test_each_step_gets_what_the_one_before_gave():
    chain = Chain([get_price, Step(total, takes=lambda passed: {"price": passed.value, "pieces": 4})])
    run = chain.run_sync("hammer")
    assert (run.output, run.ok, run.error) == (50.0, True, None)
    assert [(step.name, step.output) for step in run.steps] == [("get_price", 12.5), ("total", 50.0)]


def test_an_agent_gets_text_and_names_of_steps_stand_in_it():
    model = ScriptedModel(["Buy it!"])
    write = Step(
        Agent(model, protocol="native"), name="advert", takes="Write about {first} at {get_price} euros."
    )
    run = Chain([get_price, write]).run_sync("hammer")
    assert run.output == "Buy it!"
    assert model.requests[0].messages[-1].text == "Write about hammer at 12.5 euros."
    assert run.usage.requests == 1


def test_what_an_agent_is_given_and_is_no_text_becomes_json():
    model = ScriptedModel(["ok"])
    found = Step(get_price, takes=lambda passed: {"item": "nail"})
    Chain([found, Step(lambda_total(), name="t"), Agent(model, protocol="native")]).run_sync("x")
    assert json.loads(model.requests[0].messages[-1].text) == {"cents": 10}


def lambda_total():
    def in_cents(price: float) -> dict[str, int]:
        """Gives a price in cents."""
        return {"cents": round(price * 100)}

    return in_cents


def test_an_error_of_a_tool_ends_the_chain():
    run = Chain([get_price, Step(total, takes=lambda passed: {"price": 1, "pieces": 1})]).run_sync("saw")
    assert run.stopped == "error"
    assert "there is no item 'saw'" in run.error.message
    assert len(run.steps) == 1
    assert "saw" in run.text


def test_wrong_arguments_are_an_error_value_too():
    run = Chain([Step(total, takes=lambda passed: {"price": "many", "pieces": 2})]).run_sync("x")
    assert run.error.code == "invalid_argument"


def test_policies_hold_in_a_chain():
    chain = Chain([place_order])
    assert chain.run_sync("nails", user="ann").error.code == "not_permitted"
    run = chain.run_sync("nails", user="ann", permissions=["orders:write"])
    assert run.output == "ordered: nails"
    waiting = Chain([pay]).run_sync(3.5)
    assert waiting.stopped == "approval"


def test_when_and_check():
    cheap = Step(get_price, check=lambda price: price < 1 or f"{price} is too dear")
    double = Step(
        total, when=lambda passed: passed.value < 0.05, takes=lambda p: {"price": p.value, "pieces": 2}
    )
    run = Chain([cheap, double]).run_sync("nail")
    assert run.output == 0.1
    assert [step.stopped for step in run.steps] == ["answered", "skipped"]
    run = Chain([cheap, double]).run_sync("hammer")
    assert (run.error.code, run.error.message) == ("postcondition_failed", "12.5 is too dear")
    assert Chain([Step(get_price, check=lambda price: False)]).run_sync("nail").error.message


async def test_functions_of_steps_may_be_async():
    async def takes(passed: Passed):
        return {"item": passed.first}

    async def fine(price: float) -> bool:
        return price > 1

    run = await Chain([Step(get_price, takes=takes, when=takes, check=fine)]).run("hammer")
    assert run.ok


def test_an_agent_at_its_limit_ends_the_chain():
    looping = [RawCall(id=f"c{n}", name="get_price", arguments='{"item": "nail"}') for n in range(9)]
    agent = Agent(ScriptedModel([*looping[:1], "best so far"]), [get_price], protocol="native")
    run = Chain([agent, get_price]).run_sync("x", limits=Limits(turns=1))
    assert run.stopped == "turn_limit"
    assert run.output == "best so far"


def test_chains_in_chains_and_events():
    heard = []
    inner = Chain([get_price])
    model = ScriptedModel(["fine"])
    run = Chain([Step(inner, name="price"), Agent(model, protocol="native")]).run_sync(
        "nail", on_event=heard.append, session=Session()
    )
    assert run.output == "fine"
    assert [type(event) for event in heard if isinstance(event, CallFinished | RunFinished)] == [
        CallFinished,
        RunFinished,
    ]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([], "at least one step"),
        ([get_price, get_price], "two steps of a chain are named 'get_price'"),
        ([Step(get_price, takes="{later}")], "may hold"),
    ],
)
def test_what_a_chain_refuses(steps, said):
    with pytest.raises(SettingsError, match=said):
        Chain(steps)


def test_a_tool_that_cannot_take_the_value():
    with pytest.raises(SettingsError, match="takes price, pieces: say which"):
        Chain([total]).run_sync("x")
    with pytest.raises(SettingsError, match="no option 'usr'"):
        Chain([get_price]).run_sync("x", usr="ann")
