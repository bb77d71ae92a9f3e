"""Which of the expected belongs to which of the found."""

from __future__ import annotations

from itertools import combinations, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.evals.pairing import paired, paired_in_order

TABLES = st.integers(0, 4).flatmap(
    lambda rows: st.integers(0, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.booleans(), min_size=columns, max_size=columns), min_size=rows, max_size=rows
        )
    )
)


def most(table: list[list[bool]]) -> int:
    """The size of the best pairing, by trying them all."""
    rows, columns = range(len(table)), range(len(table[0]) if table else 0)
    for size in range(min(len(rows), len(columns)), 0, -1):
        for some in combinations(rows, size):
            for order in permutations(columns, size):
                if all(table[r][c] for r, c in zip(some, order, strict=True)):
                    return size
    return 0


@settings(deadline=None)
@given(TABLES)
def test_as_many_as_possible_are_paired(table):
    found = paired(table)
    taken = [column for column in found if column is not None]
    assert len(taken) == len(set(taken)) == most(table)
    assert all(column is None or table[row][column] for row, column in enumerate(found))


@settings(deadline=None)
@given(TABLES)
def test_in_order_all_are_paired_where_that_can_be(table):
    rows, columns = len(table), len(table[0]) if table else 0
    can = any(all(table[r][c] for r, c in enumerate(some)) for some in combinations(range(columns), rows))
    found = paired_in_order(table)
    assert (None not in found) == can
    taken = [column for column in found if column is not None]
    assert taken == sorted(set(taken))
