"""A value that a column does not know: where a query finds nothing, what the column holds instead.

Models write a value as the user said it: instrument = '吉他', where the column says guitar. The query runs, finds nothing, and
"there is none" is a wrong answer that nothing else would catch. Only columns of a few values that come again and again are
looked at: what is in one of many different names is no spelling of the model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from toolhand.builtin._database import Answer, Database, QueryError
from toolhand.core.errors import ErrorCode, ToolFailure

_TABLE: Final = re.compile(r"([^\W\d][\w.]*)\(([^()]*)\)")
_COMPARED: Final = re.compile(r"\b([^\W\d]\w*)[\"`\]]?\s*={1,2}\s*'((?:[^']|''){1,200})'")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_MOST_VALUES: Final = 12
_MOST_COMPARED: Final = 4
_ROWS_LOOKED_AT: Final = 10_000
_LONGEST_VALUE: Final = 40


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
    for table, column, value in _compared(source.overview, sql):
        there = _values(source, table, column)
        if there and value not in there:
            listed = ", ".join(one[:_LONGEST_VALUE] for one in there)
            raise ToolFailure(
                f"No row of {table} has {column} = '{value[:_LONGEST_VALUE]}'; there is: {listed}.",
                code=ErrorCode.INVALID_ARGUMENT,
                retryable=True,
                hint="Use one of these values if one of them is meant; else the answer is that there is none.",
                chinese=(
                    f"{table} 中没有 {column} = '{value[:_LONGEST_VALUE]}' 的行；现有的值：{listed}。",
                    "如果指的是其中某个值，请改用它；否则答案就是没有。",
                ),
            )


def _is_nothing(answer: Answer) -> bool:
    """Whether there is no row, or only one that counts none."""
    return not answer.rows or (len(answer.rows) == 1 and all(one in (0, None) for one in answer.rows[0]))


def _compared(overview: str, sql: str) -> Iterator[tuple[str, str, str]]:
    """The table, the column and the value of each comparison whose table is certain."""
    used = {word.casefold() for word in _NAME.findall(sql)}
    tables = {
        name: {column.strip().casefold() for column in columns.split(",")}
        for name, columns in _TABLE.findall(overview)
        if name.rpartition(".")[2].casefold() in used
    }
    for column, written in _COMPARED.findall(sql)[:_MOST_COMPARED]:
        having = [name for name, columns in tables.items() if column.casefold() in columns]
        if len(having) == 1:
            yield having[0], column, written.replace("''", "'")


def _values(source: Database, table: str, column: str) -> list[str]:
    """A column's values, the most frequent first; none where they are many, or none comes twice."""
    seen = f"SELECT {column} FROM {table} LIMIT {_ROWS_LOOKED_AT}"  # noqa: S608 - names from the schema, of word characters
    counted = f"SELECT {column}, count(*) FROM ({seen}) AS seen GROUP BY {column}"  # noqa: S608 - the same
    try:
        rows: list[list[Any]] = source.run(f"{counted} ORDER BY 2 DESC LIMIT {_MOST_VALUES + 1}").rows
    except QueryError:
        return []
    texts = [str(row[0]) for row in rows if isinstance(row[0], str)]
    is_repeated = any(row[1] > 1 for row in rows)
    return texts if is_repeated and len(rows) <= _MOST_VALUES else []
