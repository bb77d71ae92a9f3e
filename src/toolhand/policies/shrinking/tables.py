"""Which values are tables: a list of objects with the same fields, or an object of columns and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from toolhand.policies.shrinking.sizes import size
from toolhand.policies.shrinking.statistics import column

_MOST_COLUMNS: Final = 40
"""How many columns are described."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A value seen as a table.

    Args:
        rows: its rows, each an object or a list, as they are in the value.
        columns: the columns' names.
        beside: what the value holds beside the rows.
        unit: "rows", or "items" for a list of anything else.
        field: where in the value the rows are, or None where it is a list.
    """

    rows: list[Any]
    columns: tuple[str, ...] = ()
    beside: dict[str, Any]
    unit: str = "rows"
    field: str | None = None

    def statistics(self) -> dict[str, Any]:
        """Facts about each column, as far as there are any."""
        found: dict[str, Any] = {}
        if self.unit == "items":
            return column(self.rows) if self.rows and not isinstance(self.rows[0], list | dict) else {}
        for place, name in enumerate(self.columns[:_MOST_COLUMNS]):
            index: Any = name if self.field is None else place
            cells = [row.get(index) if self.field is None else row[index] for row in self.rows]
            if facts := column(cells, name):
                found[name] = facts
        return found


def table_of(value: Any) -> Table | None:
    """The value as a table or a list of items, or None where it is neither."""
    if isinstance(value, list):
        columns = _shared_columns(value)
        if columns is None:
            return Table(rows=value, beside={}, unit="items")
        return Table(rows=value, columns=columns, beside={})
    if isinstance(value, dict):
        columns, rows = value.get("columns"), value.get("rows")
        if isinstance(columns, list) and isinstance(rows, list) and len(rows) > 1:
            width = len(columns)
            if all(isinstance(row, list) and len(row) == width for row in rows):
                names = tuple(_column_name(item) for item in columns)
                beside = {key: item for key, item in value.items() if key != "rows"}
                return Table(rows=rows, columns=names, beside=beside, field="rows")
    return None


def _shared_columns(items: list[Any]) -> tuple[str, ...] | None:
    """The fields of a list of objects that look alike, or None."""
    if len(items) < 2 or not all(type(item) is dict for item in items):
        return None
    names: dict[str, None] = {}
    cells = 0
    for item in items:
        names.update(dict.fromkeys(item))
        cells += len(item)
    is_alike = 0 < len(names) <= 2 * max(1, cells // len(items))
    return tuple(names) if is_alike else None


def _column_name(item: Any) -> str:
    return str(item.get("name", "")) if isinstance(item, dict) else str(item)


def trimmed(statistics: dict[str, Any], most: int) -> dict[str, Any]:
    """The statistics in at most so many characters: first without the most frequent texts, then of fewer columns."""
    if size(statistics) <= most:
        return statistics
    kept: dict[str, Any] = {}
    room = most
    for name, facts in statistics.items():
        plain = (
            {key: fact for key, fact in facts.items() if key != "top"} if isinstance(facts, dict) else facts
        )
        room -= size(name) + size(plain) + 4
        if room < 0:
            break
        kept[name] = plain
    return kept
