"""Which of the expected belongs to which of the found, where several would fit."""

from __future__ import annotations

from collections.abc import Sequence


def paired(fitting: Sequence[Sequence[bool]]) -> list[int | None]:
    """The best pairing: for each row the column that it gets, or None; as many rows as possible get one.

    Source: augmenting paths (Kuhn 1955). Rows and columns are a case's calls, a handful.

    Args:
        fitting: for each row (what is expected) which columns (what was found) would do.
    """
    owner: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column, fits in enumerate(fitting[row]):
            if fits and column not in tried:
                tried.add(column)
                if column not in owner or place(owner[column], tried):
                    owner[column] = row
                    return True
        return False

    for row in range(len(fitting)):
        place(row, set())
    columns = {row: column for column, row in owner.items()}
    return [columns.get(row) for row in range(len(fitting))]


def paired_in_order(fitting: Sequence[Sequence[bool]]) -> list[int | None]:
    """The same where columns must rise from row to row; the first that fits is taken, which is best for whole pairings."""
    found: list[int | None] = []
    start = 0
    for row in fitting:
        column = next((c for c in range(start, len(row)) if row[c]), None)
        found.append(column)
        start = start if column is None else column + 1
    return found
