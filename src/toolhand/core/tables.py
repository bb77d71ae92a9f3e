"""Tables for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # whoever has a table has loaded it
    from rich.console import Console
    from rich.table import Table

_NO_LIMIT: Final = 1_000_000


def print_table(console: Console, table: Table) -> None:
    """Prints a table of which nothing is cut, so that names can be copied: a terminal folds, a pipe or file gets whole lines."""
    for column in table.columns:
        column.overflow = "fold"
    if not console.is_terminal:
        console.width = _NO_LIMIT
    console.print(table)
