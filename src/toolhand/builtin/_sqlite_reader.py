"""Reads a SQLite file through processes that can do nothing else, and that are ended when a query takes too long."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolhand.builtin import _sqlite_worker
from toolhand.builtin._processes import GRACE_SECONDS, Processes, ProcessGoneError

MAX_SQL_LENGTH: Final = _sqlite_worker.MAX_SQL_LENGTH
_MAX_PROCESSES: Final = 4
_GONE: Final = {"late": ("KILLED",), "gone": ("GONE",), "busy": ("SQLITE_BUSY", "too many queries at once")}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """What one query may take.

    Args:
        seconds: time until it is stopped.
        rows: rows that come back.
        result_characters: characters of all values together.
        cell_characters: characters of one value; a longer one is cut, with a mark.
        lock_seconds: how long to wait while another program writes.
    """

    seconds: float = 5.0
    rows: int = 100
    result_characters: int = 20_000
    cell_characters: int = 2_000
    lock_seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The rows of a query.

    Args:
        columns: their titles.
        rows: JSON values, in the order of the columns.
        more: why rows are missing: "rows" (too many), "size" (too long), or "".
    """

    columns: list[str]
    rows: list[list[Any]]
    more: str = ""


class QueryError(Exception):
    """A query failed.

    Args:
        code: SQLite's name for it, such as "SQLITE_BUSY"; "EMPTY" (no statement), "KILLED" (out of time), "GONE" (the process
            died, most likely for want of memory), or a Python exception's name.
        message: SQLite's sentence.
        refused: what the authorizer refused, in words.
    """

    def __init__(self, code: str, message: str = "", refused: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.refused = refused


class SqliteReader:
    """A SQLite file that can only be read. Safe in any thread; up to four queries run at once.

    Args:
        path: the file, absolute.
        limits: what one query may take.
    """

    def __init__(self, path: Path, limits: QueryLimits) -> None:
        self._path = path
        self._limits = limits
        self._processes = Processes(_command, most=_MAX_PROCESSES)

    def run(self, sql: str) -> Answer:
        """Runs one statement.

        Raises:
            QueryError: when it fails, is refused, or takes too much.
        """
        (answer,) = self.run_all([sql])
        if isinstance(answer, QueryError):
            raise answer
        return answer

    def run_all(
        self, statements: Sequence[str], *, cell_characters: int | None = None, rows: int | None = None
    ) -> list[Answer | QueryError]:
        """Runs statements one after another on one connection; the limit of seconds is for all of them together.

        Args:
            statements: one SQL statement each.
            cell_characters: instead of the limits' own.
            rows: instead of the limits' own; then the size is no limit.

        Raises:
            QueryError: when the process cannot answer at all.
        """
        limits = self._limits
        request = {
            "path": str(self._path),
            "statements": list(statements),
            "seconds": limits.seconds,
            "lock_seconds": limits.lock_seconds,
            "rows": rows or limits.rows,
            "result_characters": limits.result_characters if rows is None else 5_000_000,
            "cell_characters": cell_characters or limits.cell_characters,
        }
        try:
            replies = self._processes.ask(
                request,
                limits.seconds + limits.lock_seconds + GRACE_SECONDS,
                wait_seconds=limits.seconds,
            )
        except ProcessGoneError as error:
            raise QueryError(*_GONE[error.reason]) from None
        return [
            QueryError(reply["error"], reply["message"], reply["refused"])
            if "error" in reply
            else Answer(**reply)
            for reply in replies
        ]

    def close(self) -> None:
        """Ends the idle processes; a later query starts a new one."""
        self._processes.close()


def _command() -> list[str]:
    return [sys.executable, "-I", "-S", _sqlite_worker.__file__]
