"""Tools that the gateway of these tests runs itself."""

from __future__ import annotations

from toolhand import tool


@tool
def get_stock(item: str) -> int:
    """How many pieces of an item are in stock.

    Args:
        item: the item's name.
    """
    return 7 if item == "wrench" else 0


@tool(effect="writes", approval=True)
def order(item: str) -> str:
    """Orders an item.

    Args:
        item: the item's name.
    """
    return f"ordered {item}"


@tool(permission="secrets:read")
def read_secret() -> str:
    """Reads the secret of the house."""
    return "the key is under the mat"
