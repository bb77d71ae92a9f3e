"""A SQLite file as a database for the SQL tools."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from toolhand.builtin._database import Answer, QueryError, QueryLimits, Table
from toolhand.builtin._sql_schema import brief, table_names, tables
from toolhand.builtin._sql_teaching import failure
from toolhand.builtin._sqlite_reader import SqliteReader
from toolhand.core.errors import SettingsError, ToolFailure
from toolhand.core.language import Language, say

_MAX_DESCRIBED_LENGTH: Final = 1_500
"""Characters of schema in the description of `query_database`: they are in every prompt."""


class SqliteDatabase:
    """See `Database`.

    Args:
        reader: the file.
        overview: its tables in brief.
    """

    kind = "SQLite"

    def __init__(self, reader: SqliteReader, overview: str) -> None:
        self._reader = reader
        self._overview = overview

    @property
    def overview(self) -> str:
        """See `Database`."""
        return self._overview

    def run(self, sql: str, *, seconds: float | None = None) -> Answer:
        """See `Database`."""
        return self._reader.run(sql, seconds=seconds)

    def change(self, sql: str) -> Answer:
        """See `Database`."""
        return self._reader.change(sql)

    def tables(self, only: str, language: Language) -> tuple[list[Table], str]:
        """See `Database`."""
        return tables(self._reader, only, language)

    def failure(
        self, error: QueryError, sql: str, language: Language, *, writes: bool = False
    ) -> ToolFailure:
        """See `Database`."""
        del language
        return failure(self._reader, error, sql, writes=writes)


def sqlite_database(path: Path, limits: QueryLimits) -> SqliteDatabase:
    """The database in a file, whose schema was read: so it is one.

    Raises:
        SettingsError: when the file is missing, is not a SQLite database, or is locked.
    """
    reader = SqliteReader(path, limits)
    return SqliteDatabase(reader, _checked(path, reader))


def _checked(path: Path, reader: SqliteReader) -> str:
    """The schema in brief, which proves that the file can be read."""
    try:
        is_there = path.exists()
    except OSError:  # a name that is too long to be one
        is_there, path = False, Path(f"{str(path)[:100]}…")
    if not is_there:
        raise SettingsError(
            say(
                f"there is no database at {path}: give the path of an existing SQLite file",
                f"{path} 没有数据库：请给出已有 SQLite 文件的路径",
            )
        )
    if not path.is_file():
        raise SettingsError(
            say(
                f"{path} is not a file: give the path of a SQLite file",
                f"{path} 不是文件：请给出 SQLite 文件的路径",
            )
        )
    try:
        names = list(table_names(reader))
        return brief(reader, names, _MAX_DESCRIBED_LENGTH) if names else "The database has no tables yet."
    except QueryError as error:
        if error.code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            reason = say(
                f"the database {path} is locked by another program: try again when that one is done",
                f"数据库 {path} 被另一个程序锁住：请等它完成后再试",
            )
        elif error.code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            reason = say(
                f"{path} is not a SQLite database, or it is damaged: give the path of a SQLite file, or of a .csv file",
                f"{path} 不是 SQLite 数据库，或已损坏：请给出 SQLite 文件或 .csv 文件的路径",
            )
        else:
            reason = say(
                f"the database {path} cannot be read ({error}): check the file and its permissions",
                f"无法读取数据库 {path}（{error}）：请检查文件及其权限",
            )
        raise SettingsError(reason) from None
