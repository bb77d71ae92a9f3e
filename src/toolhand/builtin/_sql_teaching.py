"""What a model is told when a query fails: SQLite's own sentence where it is safe, and what it may have meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, Final

from toolhand.builtin._sql_schema import columns, table_names
from toolhand.builtin._sqlite_reader import QueryError, SqliteReader
from toolhand.core.errors import ErrorCode, ToolFailure

_INVALID: Final = ErrorCode.INVALID_ARGUMENT
_DENIED: Final = ErrorCode.NOT_PERMITTED

_WORDS: Final[Mapping[str, tuple[ErrorCode, bool, tuple[str, str], tuple[str, str]]]] = {
    "refused": (
        _DENIED,
        False,
        ("The database can only be read, and {what} is not part of reading.", "Send one SELECT statement."),
        ("数据库只能读取，{what} 不属于读取。", "请发送一条 SELECT 语句。"),
    ),
    "read_only": (
        _DENIED,
        False,
        ("The database can only be read.", "Send one SELECT statement."),
        ("数据库只能读取。", "请发送一条 SELECT 语句。"),
    ),
    "not_rows": (
        _DENIED,
        False,
        (
            "Only rows may be changed, and {what} is something else: nothing was changed.",
            "Send one INSERT, UPDATE or DELETE statement.",
        ),
        (
            "只能修改数据行，{what} 不属于此类：没有做任何改动。",
            "请发送一条 INSERT、UPDATE 或 DELETE 语句。",
        ),
    ),
    "too_many": (
        _DENIED,
        False,
        ("That would change {message} rows, which is too many: nothing was changed.", "Add a WHERE."),
        ("这会改动 {message} 行，超过上限，因此没有做任何改动。", "请加上 WHERE 条件。"),
    ),
    "slow": (
        ErrorCode.TIMEOUT,
        False,
        ("The query took too long and was stopped.", "Add a WHERE or LIMIT, or join on fewer rows."),
        ("查询时间过长，已停止。", "请加上 WHERE 或 LIMIT，或减少连接的行数。"),
    ),
    "busy": (
        ErrorCode.UPSTREAM,
        True,
        ("The database is in use at the moment.", "Try again."),
        ("数据库正忙。", "请重试。"),
    ),
    "large": (
        ErrorCode.RESULT_TOO_LARGE,
        False,
        (
            "The query needs too much memory, or one of its values is too large.",
            "Select fewer columns and rows, or a simpler expression.",
        ),
        ("查询占用的内存过多，或某个值过大。", "请减少列和行，或使用更简单的表达式。"),
    ),
    "gone": (
        ErrorCode.UPSTREAM,
        True,
        ("The database file cannot be read at the moment.", ""),
        ("目前无法读取数据库文件。", ""),
    ),
    "says": (_INVALID, True, ("SQLite says: {message}.", "{hint}"), ("SQLite 报告：{message}。", "{hint}")),
    "constraint": (
        _INVALID,
        True,
        ("SQLite says: {message}. Nothing was changed.", "Use other values."),
        ("SQLite 报告：{message}。没有做任何改动。", "请使用其他值。"),
    ),
    "empty": (
        _INVALID,
        True,
        ("There is no query in that.", "Send one SELECT statement."),
        ("这里没有查询语句。", "请发送一条 SELECT 语句。"),
    ),
    "not_unicode": (
        _INVALID,
        True,
        ("The statement holds characters that are not valid Unicode.", ""),
        ("语句中有无效的 Unicode 字符。", ""),
    ),
    "null": (_INVALID, True, ("The statement holds a null character.", ""), ("语句中有空字符。", "")),
    "several": (
        _INVALID,
        True,
        ("Only one statement can be run at a time.", "Send the statements one by one."),
        ("一次只能运行一条语句。", "请逐条发送。"),
    ),
    "placeholders": (
        _INVALID,
        True,
        ("The statement has placeholders, and no values come with it.", "Write the values into the SQL."),
        ("语句中有占位符，但没有对应的值。", "请把值直接写进 SQL。"),
    ),
}
_MARKS: Final = (
    ("EMPTY", "empty"),
    ("UnicodeEncodeError", "not_unicode"),
    ("null character", "null"),
    ("one statement at a time", "several"),
    ("binding", "placeholders"),
)
"""Python's own codes, or words in its messages, for what is wrong with a statement."""

_TOO_MUCH: Final = frozenset(
    {
        "SQLITE_TOOBIG",
        "SQLITE_NOMEM",
        "SQLITE_FULL",
        "SQLITE_IOERR_WRITE",
        "GONE",
        "OverflowError",
        "DataError",
    }
)
_NO_SUCH: Final = re.compile(r"no such (column|table): (.+)")
_MAX_HINT_LENGTH: Final = 1_500
_MAX_TABLES_LOOKED_AT: Final = 50


def failure(reader: SqliteReader, error: QueryError, sql: str, *, writes: bool = False) -> ToolFailure:
    """The failure of a query, in words that help to mend it, in both languages.

    Only messages on the statement itself are SQLite's own; those on files and memory could name paths and are replaced.
    """
    word = _word(error, writes=writes)
    if word != "says":
        return _told(word, message=error.message, what=error.refused)
    return _told(word, hints=_meant(reader, error.message, sql), message=error.message)


def _word(error: QueryError, *, writes: bool) -> str:
    code = error.code
    if code == "TOO_MANY":
        return "too_many"
    if error.refused and (writes or code in ("SQLITE_AUTH", "SQLITE_ERROR")):
        return "not_rows" if writes else "refused"
    if code.startswith("SQLITE_READONLY"):
        return "read_only"
    if code in ("SQLITE_INTERRUPT", "KILLED"):
        return "slow"
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "busy"
    if code.startswith("SQLITE_CONSTRAINT"):
        return "constraint"
    if code in _TOO_MUCH:
        return "large"
    for mark, word in _MARKS:
        if mark in error.message or mark == code:
            return word
    return "says" if code in ("SQLITE_ERROR", "SQLITE_MISMATCH", "SQLITE_RANGE") else "gone"


def _told(word: str, *, hints: tuple[str, str] = ("", ""), **facts: Any) -> ToolFailure:
    code, retryable, english, chinese = _WORDS[word]
    message, hint = (text.format(hint=hints[0], **facts) for text in english)
    its_message, its_hint = (text.format(hint=hints[1], **facts) for text in chinese)
    return ToolFailure(message, code=code, retryable=retryable, hint=hint, chinese=(its_message, its_hint))


def _meant(reader: SqliteReader, message: str, sql: str) -> tuple[str, str]:
    """The names that exist, closest first, where a name does not; in English and in Chinese."""
    missing = _NO_SUCH.search(message)
    if not missing:
        return "", ""
    try:
        names = list(table_names(reader))
        name = missing[2].rpartition(".")[2]
        if missing[1] == "table":
            listed = ", ".join(_closest_first(name, names))
            return _bounded(f"Tables: {listed}."), _bounded(f"现有的表：{listed}。")
        used = [table for table in names if table.casefold() in sql.casefold()] or names
        by_table = columns(reader, used[:_MAX_TABLES_LOOKED_AT], with_types=False)
    except QueryError:
        return "", ""
    listed = "; ".join(
        f"{table}({', '.join(_closest_first(name, found))})" for table, found in by_table.items()
    )
    return (
        _bounded(f"Columns: {listed}. Text values stand in single quotes."),
        _bounded(f"现有的列：{listed}。文本值要用单引号括起来。"),
    )


def _closest_first(name: str, names: list[str]) -> list[str]:
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return [*close, *(other for other in names if other not in close)]


def _bounded(hint: str) -> str:
    return hint if len(hint) <= _MAX_HINT_LENGTH else f"{hint[:_MAX_HINT_LENGTH]}…"
