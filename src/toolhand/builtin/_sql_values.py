"""A value that a column does not know: where a query finds nothing, what the column holds instead.

Models write a value as the user said it: instrument = '吉他', where the column says guitar. The query runs, finds nothing, and
"there is none" is a wrong answer that nothing else would catch. Only columns of a few values that come again and again are
looked at: what is in one of many different names is no spelling of the model's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from toolhand.builtin._database import Answer, Database, QueryError, quoted
from toolhand.builtin._sql_comparisons import comparisons
from toolhand.core.errors import ErrorCode, ToolFailure

_TABLES: Final = "Tables: "
_MOST_VALUES: Final = 12
_MOST_COMPARED: Final = 4
_ROWS_LOOKED_AT: Final = 10_000
_LONGEST_VALUE: Final = 40
_LONGEST_COMPARED: Final = 200
_LOOKING_SECONDS: Final = 3.0
"""For all looks of one query together: the answer is there already, and must not be lost to them."""


def check_values(source: Database, sql: str, answer: Answer) -> None:
    """Does nothing where a query found something, or compared with what is there.

    Args:
        source: what was asked.
        sql: the statement. It is only read for what it compares; it has run.
        answer: what it gave.

    Raises:
        ToolFailure: when it gave nothing, and compares a column of few values with another one; it names those there are.
    """
    if not _is_nothing(answer):
        return
    until = time.monotonic() + _LOOKING_SECONDS
    for table, column, value in _compared(source.overview, sql):
        there = _values(source, table, column, value, until)
        if there:
            # Each value stands behind its column's name, by which values that nobody may see are masked.
            listed = ", ".join(f"{column} = {_literal(one)}" for one in there)
            sought = f"{column} = {_literal(value[:_LONGEST_VALUE])}"
            raise ToolFailure(
                f"No row of {table} has {sought}; there is: {listed}.",
                code=ErrorCode.INVALID_ARGUMENT,
                retryable=True,
                hint="Use one of these values if one of them is meant; else the answer is that there is none.",
                details={"found": 0},
                chinese=(
                    f"{table} 中没有 {sought} 的行；现有的值：{listed}。",
                    "如果指的是其中某个值，请改用它；否则答案就是没有。",
                ),
            )


def _is_nothing(answer: Answer) -> bool:
    """Whether there is no row, or only one that counts none."""
    return not answer.rows or (len(answer.rows) == 1 and all(one in (0, None) for one in answer.rows[0]))


def _compared(overview: str, sql: str) -> Iterator[tuple[str, str, str]]:
    """The table, the column and the value of each comparison that has to hold and whose table is certain."""
    used, compared = comparisons(sql)
    if not compared or not overview.startswith(_TABLES):
        return
    tables: list[tuple[str, list[str]]] = []
    for part in overview.removeprefix(_TABLES).split("; "):
        name, _, columns = part.partition("(")
        if name.rpartition(".")[2].casefold() in used:
            tables.append((name, columns.removesuffix(")").split(", ")))
    if used - {name.rpartition(".")[2].casefold() for name, _ in tables}:
        return
    for written, value in compared[:_MOST_COMPARED]:
        having = [
            (name, one) for name, columns in tables for one in columns if one.casefold() == written.casefold()
        ]
        if len(having) == 1 and 0 < len(value) <= _LONGEST_COMPARED:
            yield *having[0], value


def _values(source: Database, table: str, column: str, value: str, until: float) -> list[str]:
    """A column's values, the most frequent first; none where one of them is the value, they are many, or none comes twice.

    The database says whether the value is there, by its own rules of case and blanks, and in all rows.
    """
    name, place = quoted(column, source.kind), _placed(source, table)
    seen = f"SELECT {name} AS one FROM {place} LIMIT {_ROWS_LOOKED_AT}"  # noqa: S608 - names from the schema, quoted
    counted = (
        f"SELECT one, count(*) FROM ({seen}) AS seen GROUP BY one ORDER BY 2 DESC LIMIT {_MOST_VALUES + 1}"  # noqa: S608
    )
    sought = f"SELECT 1 FROM {place} WHERE {name} = {_literal(value)} LIMIT 1"  # noqa: S608 - a literal, without backslashes
    try:
        answer = source.run(counted, seconds=until - time.monotonic())
        rows: list[list[Any]] = answer.rows
        texts = [str(row[0]) for row in rows if isinstance(row[0], str)]
        is_few = len(rows) <= _MOST_VALUES and not answer.more and any(row[1] > 1 for row in rows)
        is_plain = all(len(one) <= _LONGEST_VALUE and one.isprintable() for one in texts)
        if not texts or not is_few or not is_plain:
            return []
        return [] if source.run(sought, seconds=until - time.monotonic()).rows else texts
    except QueryError:
        return []


def _literal(value: str) -> str:
    escaped = value.replace("'", "''")
    return f"'{escaped}'"


def _placed(source: Database, table: str) -> str:
    """A table's name as a query writes it; on servers it may stand behind its schema's."""
    parts = [table] if source.kind == "SQLite" else table.split(".", 1)
    return ".".join(quoted(part, source.kind) for part in parts)
