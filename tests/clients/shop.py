"""A small shop: the id of an order is found by its customer's name, and its status by its id. No step can be left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

QUESTION: Final = "What is the status of Maria Lopez's order?"
MOST_TURNS: Final = 6
ORDERS: Final = {"maria lopez": "A-1093", "jan novak": "A-2218", "wei chen": "B-0417"}
STATUS: Final = {
    "A-1093": "shipped, arrives on Friday",
    "A-2218": "waits for payment",
    "B-0417": "cancelled by the customer",
}
ABOUT: Final = {
    "find_order": ("Finds the id of a customer's order", "customer", "the customer's name"),
    "order_status": ("Tells the status of an order", "order_id", "the order's id, as find_order gives it"),
}


class Shop:
    """Takes note of what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def find_order(self, customer: str) -> str:
        """The id of a customer's order."""
        self.asked.append(("find_order", customer))
        return ORDERS.get(" ".join(customer.lower().split()), "there is no customer of this name")

    def order_status(self, order_id: str) -> str:
        """The status of an order."""
        self.asked.append(("order_status", order_id))
        return STATUS.get(order_id, "there is no order with this id")

    def typed(self) -> tuple[Callable[[str], str], Callable[[str], str]]:
        """The tools as functions whose signatures and docstrings tell all, for clients that make tools of such."""

        def find_order(customer: str) -> str:
            """Finds the id of a customer's order.

            Args:
                customer: the customer's name.
            """
            return self.find_order(customer)

        def order_status(order_id: str) -> str:
            """Tells the status of an order.

            Args:
                order_id: the order's id, as find_order gives it.
            """
            return self.order_status(order_id)

        return find_order, order_status

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """What a tool says, for clients that leave running it to the program."""
        return {"find_order": self.find_order, "order_status": self.order_status}[name](**arguments)

    def check(self, answer: str) -> None:
        """Both steps were taken, one after the other, and the answer is what the second one told."""
        names = [name for name, _ in self.asked]
        assert names.index("find_order") < names.index("order_status"), self.asked
        assert ("order_status", "A-1093") in self.asked, self.asked
        assert "ship" in answer.lower() or "friday" in answer.lower(), answer


def functions() -> list[dict[str, Any]]:
    """The tools as OpenAI's functions."""
    return [
        {
            "name": name,
            "description": about,
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": "string", "description": said}},
                "required": [argument],
            },
        }
        for name, (about, argument, said) in ABOUT.items()
    ]
