"""Two-turn dialogues with the embedded model: the second message is only understood from the first. Part of `make questions`."""

from __future__ import annotations

import sys

from toolhand import Agent, tool
from toolhand.execution.running import run_blocking
from toolhand.models.resolve import resolve

WEATHER = {"北京": "晴，26°C", "上海": "小雨，22°C"}
STOCK = {"chair": 14, "table": 9}
RATES = {("USD", "EUR"): 0.9137, ("USD", "JPY"): 148.26}
ORDERS = {"A1001": "已发货，承运方顺丰", "A1002": "待付款"}


@tool
def get_weather(city: str) -> str:
    """Today's weather in a city.

    Args:
        city: the city's name.
    """
    return WEATHER[city.removesuffix("市")]


@tool
def count_stock(item: str) -> int:
    """How many pieces of an item are in the warehouse.

    Args:
        item: the item's name in the singular, such as "lamp".
    """
    return STOCK[item.lower().rstrip("s")]


@tool
def exchange_rate(base: str, target: str) -> float:
    """The exchange rate between two currencies today.

    Args:
        base: the currency's code that is changed, such as "CHF".
        target: the currency's code that it is changed into.
    """
    return RATES[base.upper(), target.upper()]


@tool
def order_status(order_no: str) -> str:
    """查询订单的当前状态。

    Args:
        order_no: 订单号。
    """
    return ORDERS[order_no]


DIALOGUES = (
    (get_weather, (("北京天气怎么样？", "26"), ("那上海呢？", "22"))),
    (order_status, (("订单 A1001 现在是什么状态？", "已发货"), ("A1002 呢？", "待付款"))),
    (count_stock, (("How many chairs are in the warehouse?", "14"), ("And tables?", "9"))),
    (
        exchange_rate,
        (("What is the exchange rate from USD to EUR?", "0.91"), ("And to JPY?", "148")),
    ),
)


def main(spec: str, protocol: str) -> int:
    """Holds them; 1 where more than one went wrong."""
    model = resolve(spec)
    right = 0
    for number, (function, turns) in enumerate(DIALOGUES, 1):
        agent = Agent(model, [function], store="memory", protocol=protocol)
        runs = [agent.run_sync(text, session=f"dialogue-{number}") for text, _ in turns]
        is_right = all(
            expected in run.text and run.calls for run, (_, expected) in zip(runs, turns, strict=True)
        )
        right += is_right
        print(f"[{number}/{len(DIALOGUES)}] {'right' if is_right else 'WRONG'}", flush=True)
        for run, (text, expected) in zip(runs, turns, strict=True):
            calls = "; ".join(f"{call.name} {dict(call.arguments)}" for call in run.calls)
            print(
                f"      {text} {calls or 'no call'} -> {run.text[:120]!r} (expected {expected})", flush=True
            )
    run_blocking(model.close())
    print(f"{right} of {len(DIALOGUES)} dialogues are right ({spec}, {protocol})")
    return 0 if right >= len(DIALOGUES) - 1 else 1


if __name__ == "__main__":
    sys.exit(
        main(sys.argv[1] if len(sys.argv) > 1 else "local", sys.argv[2] if len(sys.argv) > 2 else "auto")
    )
