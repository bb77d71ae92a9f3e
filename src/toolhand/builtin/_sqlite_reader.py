"""Reads a SQLite file through processes that can do nothing else, and that are ended when a query takes too long."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from toolhand.builtin import _sqlite_worker
from toolhand.builtin._database import Answer, QueryError, QueryLimits
from toolhand.builtin._processes import GRACE_SECONDS, Processes, ProcessGoneError

__all__ = ["Answer", "QueryError", "QueryLimits", "SqliteReader"]

MAX_SQL_LENGTH: Final = _sqlite_worker.MAX_SQL_LENGTH
_MAX_PROCESSES: Final = 4
_GONE: Final = {"late": ("KILLED",), "gone": ("GONE",), "busy": ("SQLITE_BUSY", "too many queries at once")}


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
        self._writers = Processes(lambda: [*_command(), "writes"], most=1)

    def run(self, sql: str, *, seconds: float | None = None) -> Answer:
        """Runs one statement.

        Args:
            sql: the statement.
            seconds: where it may take less time than the limits allow.

        Raises:
            QueryError: when it fails, is refused, or takes too much.
        """
        (answer,) = self.run_all([sql], seconds=seconds)
        if isinstance(answer, QueryError):
            raise answer
        return answer

    def run_all(
        self,
        statements: Sequence[str],
        *,
        cell_characters: int | None = None,
        rows: int | None = None,
        seconds: float | None = None,
    ) -> list[Answer | QueryError]:
        """Runs statements one after another on one connection; the limit of seconds is for all of them together.

        Args:
            statements: one SQL statement each.
            cell_characters: instead of the limits' own.
            rows: instead of the limits' own; then the size is no limit.
            seconds: where they may take less time than the limits allow.

        Raises:
            QueryError: when the process cannot answer at all.
        """
        replies = self._asked(
            self._processes,
            statements,
            self._limits.within(seconds),
            rows=rows or self._limits.rows,
            result_characters=self._limits.result_characters if rows is None else 5_000_000,
            cell_characters=cell_characters or self._limits.cell_characters,
        )
        return [_answer(reply) for reply in replies]

    def change(self, sql: str) -> Answer:
        """Runs one INSERT, UPDATE or DELETE, wholly or not at all.

        Raises:
            QueryError: when it fails, is refused, or takes too much; then nothing was changed, unless the code is "KILLED" or
                "GONE".
        """
        limits = self._limits
        (reply,) = self._asked(
            self._writers,
            [sql],
            limits,
            rows=limits.rows,
            result_characters=limits.result_characters,
            cell_characters=limits.cell_characters,
            changed_rows=limits.changed_rows,
        )
        answer = _answer(reply)
        if isinstance(answer, QueryError):
            raise answer
        return answer

    def _asked(
        self, processes: Processes, statements: Sequence[str], limits: QueryLimits, **request: Any
    ) -> list[dict[str, Any]]:
        request |= {
            "path": str(self._path),
            "statements": list(statements),
            "seconds": limits.seconds,
            "lock_seconds": limits.lock_seconds,
        }
        patience = limits.seconds + limits.lock_seconds + GRACE_SECONDS
        try:
            replies: list[dict[str, Any]] = processes.ask(request, patience, wait_seconds=limits.seconds)
        except ProcessGoneError as error:
            raise QueryError(*_GONE[error.reason]) from None
        return replies

    def close(self) -> None:
        """Ends the idle processes; a later query starts a new one."""
        self._processes.close()
        self._writers.close()


def _answer(reply: dict[str, Any]) -> Answer | QueryError:
    if "error" in reply:
        return QueryError(reply["error"], reply["message"], reply["refused"])
    return Answer(**reply)


def _command() -> list[str]:
    return [sys.executable, "-I", "-S", _sqlite_worker.__file__]
