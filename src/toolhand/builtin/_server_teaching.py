"""What a model, or the person who set it up, is told when a database server does not do what it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolhand.builtin._database import QueryError
from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import Language, say

_INVALID: Final = ErrorCode.INVALID_ARGUMENT
_WORDS: Final[Mapping[str, tuple[ErrorCode, bool, Mapping[Language, tuple[str, str]]]]] = {
    "empty": (
        _INVALID,
        True,
        {
            "en": ("There is no query in that.", "Send one SELECT statement."),
            "zh": ("这里没有查询语句。", "请发送一条 SELECT 语句。"),
        },
    ),
    "refused": (
        ErrorCode.NOT_PERMITTED,
        False,
        {
            "en": (
                "The database can only be read, and {what} is not part of reading.",
                "Send one SELECT statement.",
            ),
            "zh": ("数据库只能读取，{what} 不属于读取。", "请发送一条 SELECT 语句。"),
        },
    ),
    "refused_change": (
        ErrorCode.NOT_PERMITTED,
        False,
        {
            "en": ("{what} is not allowed here.", "Send one INSERT, UPDATE or DELETE statement."),
            "zh": ("这里不允许 {what}。", "请发送一条 INSERT、UPDATE 或 DELETE 语句。"),
        },
    ),
    "rights": (
        ErrorCode.NOT_PERMITTED,
        False,
        {
            "en": ("{kind} says: {message}.", "Use other tables."),
            "zh": ("{kind} 报告：{message}。", "请使用其他表。"),
        },
    ),
    "too_many": (
        ErrorCode.NOT_PERMITTED,
        False,
        {
            "en": (
                "That would change {message} rows, which is too many: nothing was changed.",
                "Add a WHERE.",
            ),
            "zh": ("这会改动 {message} 行，超过上限，因此没有做任何改动。", "请加上 WHERE 条件。"),
        },
    ),
    "slow": (
        ErrorCode.TIMEOUT,
        False,
        {
            "en": (
                "The query took too long and was stopped.",
                "Add a WHERE or LIMIT, or join on fewer rows.",
            ),
            "zh": ("查询时间过长，已停止。", "请加上 WHERE 或 LIMIT，或减少连接的行数。"),
        },
    ),
    "large": (
        ErrorCode.RESULT_TOO_LARGE,
        False,
        {
            "en": (
                "The query needs too much memory, or one of its values is too large.",
                "Select fewer columns and rows, or a simpler expression.",
            ),
            "zh": ("查询占用的内存过多，或某个值过大。", "请减少列和行，或使用更简单的表达式。"),
        },
    ),
    "busy": (
        ErrorCode.UPSTREAM,
        True,
        {
            "en": ("The database is in use at the moment.", "Try again."),
            "zh": ("数据库正忙。", "请重试。"),
        },
    ),
    "invalid": (
        _INVALID,
        True,
        {"en": ("{kind} says: {message}.", "{hint}"), "zh": ("{kind} 报告：{message}。", "{hint}")},
    ),
    "gone": (
        ErrorCode.UPSTREAM,
        True,
        {
            "en": ("The database cannot be reached at the moment.", "Try again later."),
            "zh": ("目前无法连接数据库。", "请稍后再试。"),
        },
    ),
}
_STATEMENT_CLASSES: Final = ("22", "42", "21", "23", "44", "0A", "P0", "2F", "38", "39")
_MYSQL_STATEMENT: Final = range(1_040, 1_700)
_MYSQL: Final = {
    "1792": "refused", "1142": "rights", "1143": "rights", "1044": "rights", "1227": "rights", "1370": "rights",
    "3024": "slow", "1969": "slow", "1317": "slow", "1205": "busy", "1213": "busy", "1153": "large", "2013": "slow",
    "1040": "gone", "1045": "gone", "1203": "gone",
}  # fmt: skip
_POSTGRES: Final = {
    "25006": "refused", "25001": "refused", "42501": "rights", "57014": "slow", "55P03": "busy", "40001": "busy", "40P01": "busy",
    "54000": "large", "53200": "large", "53100": "large", "53400": "large", "42P11": "refused",
}  # fmt: skip
_OURS: Final = {
    "REFUSED": "refused", "EMPTY": "empty", "TOO_MANY": "too_many", "KILLED": "slow", "GONE": "large", "BUSY": "busy",
    "MemoryError": "large",
}  # fmt: skip
_NOT_A_QUERY: Final = ("DECLARE CURSOR", "SELECT INTO", "SELECT ... INTO", "multiple commands")
MISSING: Final = ("42P01", "42703", "1146", "1054")
"""A table or a column that there is not."""


def told(
    error: QueryError, kind: str, overview: str, language: Language, *, writes: bool = False
) -> ToolFailure:
    """The failure of a statement. Only sentences on the statement itself are the server's own; others could name hosts and files.

    Args:
        error: what failed.
        kind: what the server is called.
        overview: the tables in brief, for a name that there is not.
        language: the model's.
        writes: whether the statement was to change something.
    """
    what = _kind_of(error)
    message = error.message.rstrip(". ")
    if what == "refused" and error.code != "REFUSED":
        message = "SELECT … INTO" if "INTO" in message else "that" if language == "en" else "这条语句"
        if "multiple commands" in error.message:
            message = "a second statement" if language == "en" else "第二条语句"
    if what == "refused" and writes:
        what = "refused_change"
    code, retryable, words = _WORDS[what]
    hint = overview if error.code in MISSING else ""
    said, then = words[language]
    if not message and what == "refused":
        message = "that" if language == "en" else "这条语句"
    given = {"what": message or "that", "message": message, "kind": kind, "hint": hint}
    return ToolFailure(said.format(**given), code=code, retryable=retryable, hint=then.format(**given))


def _kind_of(error: QueryError) -> str:
    code = error.code
    if any(mark in error.message for mark in _NOT_A_QUERY):
        return "refused"
    known = _OURS.get(code) or _POSTGRES.get(code) or _MYSQL.get(code)
    if known:
        return known
    if code.isdigit() and len(code) == 4:
        return "invalid" if int(code) in _MYSQL_STATEMENT else "gone"
    if len(code) == 5 and code[:2] in _STATEMENT_CLASSES:
        return "invalid"
    return "invalid" if code in ("InterfaceError", "ProgrammingError", "DataError") else "gone"


def unusable(error: QueryError, backend: str) -> str:
    """One sentence for the person who gave the URL. It holds no part of the URL but the kind of the server."""
    code = error.code
    if code == "PRIVILEGED":
        return say(
            "the database's user may do anything, so nothing keeps it to reading: give one that may only read, such as "
            "CREATE ROLE reader LOGIN PASSWORD '…' IN ROLE pg_read_all_data, or role='…'",
            "该数据库用户权限过大，无法保证只读：请换一个只能读取的用户，例如 "
            "CREATE ROLE reader LOGIN PASSWORD '…' IN ROLE pg_read_all_data，或使用 role='…'",
        )
    if code == "UNKNOWN":
        return say(
            f"how '{backend}' is kept to reading is not known: use PostgreSQL, MySQL, MariaDB or SQLite, or give a user that may "
            "only read and say only_reads=True",
            f"不知道如何保证“{backend}”只读：请使用 PostgreSQL、MySQL、MariaDB 或 SQLite，或换成只读用户并设置 only_reads=True",
        )
    if code in ("28P01", "28000", "1045", "42501"):
        return say(
            "the database refuses the URL's user: check the name and the password",
            "数据库拒绝了该用户：请检查用户名和密码",
        )
    if code in ("3D000", "1049"):
        return say(
            "the server has no database of that name: check the URL", "服务器上没有这个数据库：请检查 URL"
        )
    if code in ("22023", "42704"):
        return say(
            "there is no such role, or the user may not take it", "没有这个角色，或该用户不能使用这个角色"
        )
    if code in ("NoSuchModuleError", "ArgumentError", "ModuleNotFoundError"):
        return say(
            f"'{backend}' is not a kind of database that can be used: write postgresql://user:password@host/database",
            f"无法使用“{backend}”类型的数据库：请写成 postgresql://用户:密码@主机/数据库",
        )
    return say(
        f"the database server cannot be reached ({code}): check the URL and that it runs",
        f"无法连接数据库服务器（{code}）：请检查 URL 以及服务器是否在运行",
    )
