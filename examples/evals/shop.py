"""The tools of a small tea shop, for the example of an evaluation."""

from __future__ import annotations

from typing import Literal

from toolhand import tool

PRICES = {"green tea": 4.5, "black tea": 3.9, "jasmine tea": 5.2, "teapot": 28.0}


@tool
def get_price(item: Literal["green tea", "black tea", "jasmine tea", "teapot"]) -> dict[str, float | str]:
    """The price of an item of the shop in euros.

    Args:
        item: what is sold.
    """
    return {"item": item, "price": PRICES[item], "currency": "EUR"}


@tool
def opening_hours(
    day: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
) -> str:
    """When the shop is open on a day of the week.

    Args:
        day: the day of the week.
    """
    return "closed" if day == "sunday" else "09:00-18:00"


@tool(effect="writes")
def place_order(item: str, count: int, name: str) -> dict[str, int | str]:
    """Places an order for a customer.

    Args:
        item: what is ordered.
        count: how many.
        name: the customer's name.
    """
    return {"order": 1042, "item": item, "count": count, "name": name}
