"""What a model is told when a query fails: SQLite's own sentence where it is safe, and what it may have meant."""

from __future__ import annotations

import difflib
import re
from typing import Final

from toolhand.builtin._sql_schema import columns, table_names
from toolhand.builtin._sqlite_reader import QueryError, SqliteReader
from toolhand.core.errors import ErrorCode, ToolFailure

_NO_SUCH: Final = re.compile(r"no such (column|table): (.+)")
_STATEMENT_ERRORS: Final = (
    ("EMPTY", "There is no query in that.", "Send one SELECT statement."),
    ("UnicodeEncodeError", "The statement holds characters that are not valid Unicode.", ""),
    ("null character", "The statement holds a null character.", ""),
    (
        "one statement at a time",
        "Only one statement can be run at a time.",
        "Send the statements one by one.",
    ),
    (
        "binding",
        "The statement has placeholders, and no values come with it.",
        "Write the values into the SQL.",
    ),
)
_MAX_HINT_LENGTH: Final = 1_500
_MAX_TABLES_LOOKED_AT: Final = 50


def failure(reader: SqliteReader, error: QueryError, sql: str, *, writes: bool = False) -> ToolFailure:
    """The failure of a query, in words that help to mend it.

    Only messages on the statement itself are SQLite's own; those on files and memory could name paths and are replaced.
    """
    code, message = error.code, error.message
    if writes and (error.refused or code == "TOO_MANY"):
        return _not_changed(error)
    if error.refused and code in ("SQLITE_AUTH", "SQLITE_ERROR"):
        return ToolFailure(
            f"The database can only be read, and {error.refused} is not part of reading.",
            code=ErrorCode.NOT_PERMITTED,
            hint="Send one SELECT statement.",
        )
    if code.startswith("SQLITE_READONLY"):
        return ToolFailure(
            "The database can only be read.", code=ErrorCode.NOT_PERMITTED, hint="Send one SELECT statement."
        )
    if code in ("SQLITE_INTERRUPT", "KILLED"):
        return ToolFailure(
            "The query took too long and was stopped.",
            code=ErrorCode.TIMEOUT,
            hint="Add a WHERE or LIMIT, or join on fewer rows.",
        )
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return ToolFailure("The database is in use at the moment.", code=ErrorCode.UPSTREAM, retryable=True)
    if code in (
        "SQLITE_TOOBIG",
        "SQLITE_NOMEM",
        "SQLITE_FULL",
        "SQLITE_IOERR_WRITE",
        "GONE",
        "OverflowError",
        "DataError",
    ):
        return ToolFailure(
            "The query needs too much memory, or one of its values is too large.",
            code=ErrorCode.RESULT_TOO_LARGE,
            hint="Select fewer columns and rows, or a simpler expression.",
        )
    for mark, sentence, hint in _STATEMENT_ERRORS:
        if mark in message or mark == code:
            return _invalid(sentence, hint)
    if code in ("SQLITE_ERROR", "SQLITE_MISMATCH", "SQLITE_RANGE"):
        return _invalid(f"SQLite says: {message}.", _meant(reader, message, sql))
    return ToolFailure(
        "The database file cannot be read at the moment.", code=ErrorCode.UPSTREAM, retryable=True
    )


def _not_changed(error: QueryError) -> ToolFailure:
    if error.code == "TOO_MANY":
        return ToolFailure(
            f"That would change {error.message} rows, which is too many: nothing was changed.",
            code=ErrorCode.NOT_PERMITTED,
            hint="Add a WHERE.",
        )
    return ToolFailure(
        f"Only rows may be changed, and {error.refused} is something else: nothing was changed.",
        code=ErrorCode.NOT_PERMITTED,
        hint="Send one INSERT, UPDATE or DELETE statement.",
    )


def _invalid(message: str, hint: str = "") -> ToolFailure:
    return ToolFailure(message, code=ErrorCode.INVALID_ARGUMENT, retryable=True, hint=hint)


def _meant(reader: SqliteReader, message: str, sql: str) -> str:
    """The names that exist, closest first, where a name does not."""
    missing = _NO_SUCH.search(message)
    if not missing:
        return ""
    try:
        names = list(table_names(reader))
        name = missing[2].rpartition(".")[2]
        if missing[1] == "table":
            return _bounded(f"Tables: {', '.join(_closest_first(name, names))}.")
        used = [table for table in names if table.casefold() in sql.casefold()] or names
        by_table = columns(reader, used[:_MAX_TABLES_LOOKED_AT], with_types=False)
    except QueryError:
        return ""
    listed = [f"{table}({', '.join(_closest_first(name, found))})" for table, found in by_table.items()]
    return _bounded(f"Columns: {'; '.join(listed)}. Text values stand in single quotes.")


def _closest_first(name: str, names: list[str]) -> list[str]:
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return [*close, *(other for other in names if other not in close)]


def _bounded(hint: str) -> str:
    return hint if len(hint) <= _MAX_HINT_LENGTH else f"{hint[:_MAX_HINT_LENGTH]}…"
