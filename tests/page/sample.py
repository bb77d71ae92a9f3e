"""Sessions as real runs leave them, for the page to show: parallel calls, retries, mended arguments, hostile results, approvals."""

from __future__ import annotations

import asyncio

from tests.test_agent import asks
from toolhand import Agent, ToolFailure, tool
from toolhand.core.errors import ErrorCode
from toolhand.core.messages import ModelOutput, Usage
from toolhand.sessions.store import SessionStore
from toolhand.testing import ScriptedModel

HOSTILE = (
    "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> \u202egnp.exe"
)
SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
_tries: dict[str, int] = {}


@tool(timeout=20)
async def stock(item: str, store: str = "Berlin") -> dict[str, object]:
    """How many of an item there are.

    Args:
        item: the item.
        store: in which store.
    """
    await asyncio.sleep(0.15)
    return {"item": item, "store": store, "left": 7, "updated": "2026-01-31T09:00:00+01:00"}


@tool(timeout=20, retries=2)
async def price(item: str, amount: int = 1) -> str:
    """What an item costs.

    Args:
        item: the item.
        amount: how many.
    """
    _tries[item] = _tries.get(item, 0) + 1
    await asyncio.sleep(0.05)
    if _tries[item] == 1:
        raise ToolFailure("the price list is busy", code=ErrorCode.NETWORK, retryable=True)
    return f"{amount} × {item}: {amount * 12.5:.2f} EUR"


@tool(timeout=20, untrusted=True)
async def reviews(item: str) -> str:
    """What people write about an item.

    Args:
        item: the item.
    """
    await asyncio.sleep(0.1)
    return f"Five stars! {HOSTILE} key {SECRET}"


@tool(effect="writes", approval=True, sensitive=["card"])
def place_order(item: str, amount: int, card: str) -> str:
    """Places an order.

    Args:
        item: the item.
        amount: how many.
        card: the card that pays.
    """
    ORDERS.append((item, amount, card))
    return f"ordered {amount} × {item}"


ORDERS: list[tuple[str, int, str]] = []
TOOLS = [stock, price, reviews, place_order]


def priced(output: ModelOutput, tokens: int = 412) -> ModelOutput:
    """An output with tokens."""
    return ModelOutput(
        text=output.text,
        calls=output.calls,
        finish_reason=output.finish_reason,
        usage=Usage(requests=1, input_tokens=tokens, output_tokens=37, cached_tokens=128),
    )


def agent(store: SessionStore, *replies: ModelOutput | str) -> Agent:
    """An agent of the shop whose model gives these replies."""
    told = [priced(ModelOutput(text=reply) if isinstance(reply, str) else reply) for reply in replies]
    return Agent(ScriptedModel(told), tools=TOOLS, store=store)


async def compared(
    store: SessionStore, session: str = "alice-1", user: str = "alice", text: str = ""
) -> None:
    """A run with parallel calls, a retry, mended arguments, a hostile result and a call of a tool that there is not."""
    _tries.clear()
    first = asks(
        ("c1", "stock", '{"item": "oak table", "store": "Berlin"}'),
        ("c2", "price", "{'item': 'oak table', 'amount': '2',}"),
        ("c3", "reviews", '{"item": "oak table"}'),
        text="I look that up.",
    )
    second = asks(("c4", "delivery_date", '{"item": "oak table"}'))
    answer = "There are 7 oak tables in Berlin. Two of them cost 25.00 EUR, and people like them."
    one = agent(store, first, second, answer)
    await one.run(
        text or "How many oak tables are there, and what do two of them cost?", session=session, user=user
    )


async def asked_to_order(store: SessionStore, session: str = "bob-7", user: str = "bob") -> None:
    """A run that waits for a person."""
    order = asks(("c1", "place_order", '{"item": "橡木桌", "amount": "2", "card": "4111 1111 1111 1111"}'))
    await agent(store, order).run("请帮我订两张橡木桌", session=session, user=user)
