"""`list_tables`, `query_database` and `change_database`: questions to a database, which the database itself keeps to reading.

Sources: https://www.sqlite.org/security.html, https://www.sqlite.org/limits.html, and those named in `_server_fences.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin._csv_table import ENDINGS, csv_database
from toolhand.builtin._database import Database, QueryError, QueryLimits, Table
from toolhand.builtin._holdings import acquainted, queries
from toolhand.builtin._reach import BY_HAND
from toolhand.builtin._sql_values import check_values
from toolhand.builtin._sqlite_database import sqlite_database
from toolhand.builtin._sqlite_reader import MAX_SQL_LENGTH
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.errors import SettingsError
from toolhand.core.language import Language, say
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

__all__ = ["QueryLimits", "offer", "sql_tools"]

_COUNTING: Final = "SELECT count(*) FROM orders WHERE status = 'paid'"
_CHOOSING: Final = "SELECT name, price FROM products LIMIT 5"
"""The examples in `query_database`, where the database has no table to take them from."""

_CONNECTING_SECONDS: Final = 75.0
"""What reaching a server, and starting the process that does it, may take beyond a statement."""

_NOTES: Final[Mapping[str, Mapping[Language, str]]] = {
    "rows": {
        "en": "Only the first {count} rows are here. Use COUNT, SUM, GROUP BY, or ORDER BY with LIMIT.",
        "zh": "这里只有前 {count} 行。请使用 COUNT、SUM、GROUP BY，或 ORDER BY 加 LIMIT。",
    },
    "size": {
        "en": "Only the first {count} rows are here, because of their size. Use COUNT, SUM, GROUP BY, or ORDER BY with LIMIT.",
        "zh": "数据过大，这里只有前 {count} 行。请使用 COUNT、SUM、GROUP BY，或 ORDER BY 加 LIMIT。",
    },
    "none": {
        "en": "No row matches. Compare the spelling with the values that list_tables shows, or use LIKE '%…%'.",
        "zh": "没有符合条件的行。请与 list_tables 列出的值核对写法，或使用 LIKE '%…%'。",
    },
}


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


class Changed(TypedDict):
    """What a writing statement did."""

    changed_rows: int
    columns: NotRequired[list[str]]
    rows: NotRequired[list[list[str | int | float | None]]]


def offer(settings: BuiltinSettings) -> list[Tool]:
    """The SQL tools, where a database is given."""
    return [] if settings.database is None else sql_tools(settings.database, writes=settings.writes)


def sql_tools(
    database: str | os.PathLike[str],
    *,
    limits: QueryLimits | None = None,
    writes: bool = False,
    role: str = "",
    only_reads: bool = False,
) -> list[Tool]:
    """The tools `list_tables` and `query_database` over a database, and where wanted `change_database`.

    They are safe in any thread. Statements run in processes of their own, whose memory is bounded and which are ended when the
    time is over. There each call opens its own connection, and the database keeps it to reading. SQLite: the file's open mode,
    `PRAGMA query_only` and an authorizer that lets only reading through. PostgreSQL: a read-only transaction, one query behind
    a cursor, a statement timeout, no superuser, and no functions that reach around the transaction. MySQL and MariaDB: a
    read-only transaction, a statement timeout, no user who may write files.

    Args:
        database: an SQLite file, a `.csv` file, which is read once, or an SQLAlchemy URL such as
            "postgresql://reader:password@host/shop" (extra "sql").
        limits: what one statement may take.
        writes: whether there is a tool that changes rows, too.
        role: for servers: the role that statements run as.
        only_reads: for kinds of servers that are not named above: the caller's word that the user may only read.

    Raises:
        SettingsError: when the file is missing, is not a SQLite database or is locked, or the server cannot be used.
        MissingExtraError: when a server is named and the extra "sql" is not installed.
    """
    bounds = limits or QueryLimits()
    if Path(database).suffix.lower() in ENDINGS and Path(database).is_file():
        if writes:
            raise SettingsError(
                say(
                    f"the CSV file {database} can only be read: leave writes out",
                    f"CSV 文件 {database} 只能读取：请去掉 writes",
                )
            )
        database = csv_database(Path(database).resolve())
    source, seconds = _opened(database, bounds, role=role, only_reads=only_reads)
    tools = [_list_tables(source, seconds), _query_database(source, seconds)]
    return [*tools, _change_database(source, seconds)] if writes else tools


def _opened(
    database: str | os.PathLike[str], limits: QueryLimits, *, role: str, only_reads: bool
) -> tuple[Database, float]:
    """The database, and how long a call may take."""
    scheme, is_url, rest = os.fspath(database).partition("://")
    if is_url and scheme.partition("+")[0] == "sqlite":
        database = rest.removeprefix("/").partition("?")[0]
        if database in ("", ":memory:"):
            raise SettingsError(
                say(
                    "an SQLite database in memory is empty: give the path of a file",
                    "内存中的 SQLite 数据库是空的：请给出文件的路径",
                )
            )
    elif is_url:
        from toolhand.builtin._server_reader import ServerDatabase  # noqa: PLC0415 - its libraries are an extra

        server = ServerDatabase(os.fspath(database), limits, role=role, only_reads=only_reads)
        return server, limits.seconds + _CONNECTING_SECONDS
    return sqlite_database(Path(database).resolve(), limits), limits.seconds + 10


def _list_tables(source: Database, seconds: float) -> Tool:
    @tool(effect="reads", idempotent=True, category="database", timeout=seconds)
    def list_tables(  # noqa: D417 - the context is not the model's
        table: Annotated[str, Field(max_length=200)] = "", context: RunContext = BY_HAND
    ) -> Schema:
        """Lists the tables of the database with their columns, row counts and example values.

        列出数据库的表和字段。

        Args:
            table: only this table, such as "orders"; leave it out for all tables. 表名，不填则列出全部。

        Returns:
            For each table its columns with types, the number of rows and an example row.
        """
        try:
            found, note = source.tables(table.strip(), context.language)
        except QueryError as error:
            raise source.failure(error, "", context.language) from None
        return Schema(tables=found, note=note) if note else Schema(tables=found)

    return list_tables


def _query_database(source: Database, seconds: float) -> Tool:
    @tool(effect="reads", idempotent=True, category="database", timeout=seconds)
    def query_database(  # noqa: D417 - the context is not the model's
        sql: Annotated[
            str,
            Field(
                min_length=1,
                max_length=MAX_SQL_LENGTH,
                examples=[_COUNTING],
            ),
        ],
        context: RunContext = BY_HAND,
    ) -> Rows:
        """Runs one SQL SELECT on the database and returns the rows.

        It can only read. 用 SQL 查询数据库（只读）。

        Args:
            sql: one SELECT statement, such as "SELECT name, price FROM products LIMIT 5". 一条查询语句。

        Returns:
            The columns and the rows.
        """
        try:
            return _rows(source, sql, context.language)
        except QueryError as error:
            raise source.failure(error, sql, context.language) from None

    named = query_database.description.replace("on the database", f"on the {source.kind} database", 1)
    counting, choosing = queries(source.overview, source.kind)
    own = {_COUNTING: counting, _CHOOSING: choosing} if counting else {}
    return acquainted(replace(query_database, description=named), f"\n{source.overview}", own)


def _change_database(source: Database, seconds: float) -> Tool:
    @tool(effect="writes", category="database", timeout=seconds)
    def change_database(  # noqa: D417 - the context is not the model's
        sql: Annotated[
            str,
            Field(
                min_length=1,
                max_length=MAX_SQL_LENGTH,
                examples=["UPDATE orders SET status = 'paid' WHERE id = 3"],
            ),
        ],
        context: RunContext = BY_HAND,
    ) -> Changed:
        """Runs one SQL INSERT, UPDATE or DELETE on the database, which changes what is stored there.

        To look something up use query_database. 用 SQL 修改数据库中的数据；查询请用 query_database。

        Args:
            sql: one statement; an UPDATE or DELETE needs a WHERE for the rows that are meant. 一条修改语句。

        Returns:
            How many rows were changed.
        """
        try:
            answer = source.change(sql)
        except QueryError as error:
            raise source.failure(error, sql, context.language, writes=True) from None
        changed = Changed(changed_rows=answer.changed)
        return Changed(**changed, columns=answer.columns, rows=answer.rows) if answer.rows else changed

    named = change_database.description.replace("on the database", f"on the {source.kind} database", 1)
    return replace(change_database, description=f"{named}\n{source.overview}")


def _rows(source: Database, sql: str, language: Language) -> Rows:
    answer = source.run(sql)
    check_values(source, sql, answer)
    count = len(answer.rows)
    found = Rows(columns=answer.columns, rows=answer.rows, row_count=count, truncated=bool(answer.more))
    if answer.more:
        found["note"] = _NOTES[answer.more][language].format(count=count)
    elif not count:
        found["note"] = _NOTES["none"][language]
    return found
