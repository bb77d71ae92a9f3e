"""`list_tables` and `query_database`: questions to a SQLite file that can only be read, which the database itself enforces.

Sources: https://www.sqlite.org/security.html and https://www.sqlite.org/limits.html.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin._sql_schema import Table, brief, table_names, tables
from toolhand.builtin._sql_teaching import failure
from toolhand.builtin._sqlite_reader import MAX_SQL_LENGTH, QueryError, QueryLimits, SqliteReader
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.errors import SettingsError
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

__all__ = ["QueryLimits", "offer", "sql_tools"]

_MAX_DESCRIBED_LENGTH: Final = 1_500
"""Characters of schema in the description of `query_database`: they are in every prompt."""


class Rows(TypedDict):
    """What a query gives: rows are lists in the order of the columns."""

    columns: list[str]
    rows: list[list[str | int | float | None]]
    row_count: int
    truncated: bool
    note: NotRequired[str]


class Schema(TypedDict):
    """The tables of a database."""

    tables: list[Table]
    note: NotRequired[str]


def offer(settings: BuiltinSettings) -> list[Tool]:
    """The SQL tools, where a database is given."""
    return [] if settings.database is None else sql_tools(settings.database)


def sql_tools(database: str | os.PathLike[str], *, limits: QueryLimits | None = None) -> list[Tool]:
    """The tools `list_tables` and `query_database` over a SQLite file. They are safe in any thread.

    Queries run in a process of their own, whose memory is bounded and which is ended when the time is over. There each call
    opens its own connection: read-only by the file's open mode, by `PRAGMA query_only` and by an authorizer that lets only
    reading through, so nothing depends on how a statement is written.

    Args:
        database: the file.
        limits: what one query may take.

    Raises:
        SettingsError: when the file is missing, is not a SQLite database, or is locked.
    """
    path = Path(database).resolve()
    bounds = limits or QueryLimits()
    reader = SqliteReader(path, bounds)
    overview = _checked(path, reader)
    return [_list_tables(reader, bounds.seconds), _query_database(reader, bounds.seconds, overview)]


def _list_tables(reader: SqliteReader, seconds: float) -> Tool:
    @tool(effect="reads", idempotent=True, category="database", timeout=seconds + 10)
    def list_tables(
        table: Annotated[str, Field(max_length=200)] = "",
    ) -> Schema:
        """Lists the tables of the database with their columns, row counts and example values.

        列出数据库的表和字段。

        Args:
            table: only this table, such as "orders"; leave it out for all tables. 表名，不填则列出全部。

        Returns:
            For each table its columns with types, the number of rows and an example row.
        """
        try:
            found, note = tables(reader, table.strip())
        except QueryError as error:
            raise failure(reader, error, "") from None
        return Schema(tables=found, note=note) if note else Schema(tables=found)

    return list_tables


def _query_database(reader: SqliteReader, seconds: float, overview: str) -> Tool:
    @tool(effect="reads", idempotent=True, category="database", timeout=seconds + 10)
    def query_database(
        sql: Annotated[
            str,
            Field(
                min_length=1,
                max_length=MAX_SQL_LENGTH,
                examples=["SELECT count(*) FROM orders WHERE status = 'paid'"],
            ),
        ],
    ) -> Rows:
        """Runs one SQL SELECT on the SQLite database and returns the rows.

        It can only read. 用 SQL 查询数据库（只读）。

        Args:
            sql: one SELECT statement in SQLite's SQL, such as "SELECT name, price FROM products LIMIT 5". 一条查询语句。

        Returns:
            The columns and the rows.
        """
        try:
            return _rows(reader, sql)
        except QueryError as error:
            raise failure(reader, error, sql) from None

    return replace(query_database, description=f"{query_database.description}\n{overview}")


def _checked(path: Path, reader: SqliteReader) -> str:
    """The schema in brief, which proves that the file can be read."""
    try:
        is_there = path.exists()
    except OSError:  # a name that is too long to be one
        is_there, path = False, Path(f"{str(path)[:100]}…")
    if not is_there:
        raise SettingsError(f"there is no database at {path}: give the path of an existing SQLite file")
    if not path.is_file():
        raise SettingsError(f"{path} is not a file: give the path of a SQLite file")
    try:
        names = list(table_names(reader))
        return brief(reader, names, _MAX_DESCRIBED_LENGTH) if names else "The database has no tables yet."
    except QueryError as error:
        if error.code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            reason = f"the database {path} is locked by another program: try again when that one is done"
        elif error.code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            reason = f"{path} is not a SQLite database, or it is damaged: give the path of a SQLite file"
        else:
            reason = f"the database {path} cannot be read ({error}): check the file and its permissions"
        raise SettingsError(reason) from None


def _rows(reader: SqliteReader, sql: str) -> Rows:
    answer = reader.run(sql)
    count = len(answer.rows)
    found = Rows(columns=answer.columns, rows=answer.rows, row_count=count, truncated=bool(answer.more))
    if answer.more:
        why = ", because of their size" if answer.more == "size" else ""
        found["note"] = (
            f"Only the first {count} rows are here{why}. Use COUNT, SUM, GROUP BY, or ORDER BY with LIMIT."
        )
    elif not count:
        found["note"] = (
            "No row matches. Compare the spelling with the values that list_tables shows, or use LIKE '%…%'."
        )
    return found
