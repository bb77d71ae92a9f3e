"""Tools of a small shop, for the cases of the tests."""

from typing import Literal

from toolhand import tool

STOCK = {"tea": 12, "cups": 3}


@tool
def get_price(item: str, currency: Literal["eur", "usd"] = "eur") -> dict:
    """The price of an item.

    Args:
        item: its name.
        currency: of the price.
    """
    return {"item": item, "price": {"tea": 3.5, "cups": 1200.0}.get(item.lower(), 1.0), "currency": currency}


@tool
def find_item(words: list[str]) -> list[str]:
    """Finds items by words.

    Args:
        words: what to look for.
    """
    return [name for name in STOCK if any(word in name for word in words)]


@tool(effect="writes")
def order(item: str, count: int) -> str:
    """Orders an item.

    Args:
        item: its name.
        count: how many.
    """
    raise AssertionError("an evaluation may not order anything by itself")
