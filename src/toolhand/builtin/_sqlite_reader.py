"""Reads a SQLite file through processes that can do nothing else, and that are ended when a query takes too long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolhand.builtin import _sqlite_worker

MAX_SQL_LENGTH: Final = _sqlite_worker.MAX_SQL_LENGTH
_MAX_PROCESSES: Final = 4
_GRACE_SECONDS: Final = 0.5
"""What a process gets beyond its own limit, to say that it stopped by itself."""

_KEPT_VARIABLES: Final = (
    "TMPDIR",
    "TEMP",
    "TMP",
    "SQLITE_TMPDIR",
    "SYSTEMROOT",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
)


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
        self._free = threading.BoundedSemaphore(_MAX_PROCESSES)
        self._idle: list[_Process] = []
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _end_all, self._idle)

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
        with self._process() as process:
            replies = process.ask(request, limits.seconds + limits.lock_seconds + _GRACE_SECONDS)
        return [
            QueryError(reply["error"], reply["message"], reply["refused"])
            if "error" in reply
            else Answer(**reply)
            for reply in replies
        ]

    def close(self) -> None:
        """Ends the idle processes; a later query starts a new one."""
        while self._idle:
            self._idle.pop().end()

    @contextmanager
    def _process(self) -> Iterator[_Process]:
        if os.getpid() != self._owner:  # after a fork the pipes belong to the parent
            self._idle.clear()
            self._owner = os.getpid()
        if not self._free.acquire(timeout=self._limits.seconds):
            raise QueryError("SQLITE_BUSY", "too many queries at once")
        try:
            process = self._idle_process() or _Process()
            try:
                yield process
            except BaseException:
                process.end()
                raise
            self._idle.append(process)
        finally:
            self._free.release()

    def _idle_process(self) -> _Process | None:
        while True:
            try:
                process = self._idle.pop()
            except IndexError:
                return None
            if process.is_alive:
                return process
            process.end()


class _Process:
    """One worker. It ends with its stdin, so also when this process is killed."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(  # noqa: S603 - our own file, our own interpreter
            [sys.executable, "-I", "-S", _sqlite_worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            close_fds=True,
        )

    @property
    def is_alive(self) -> bool:
        return self._child.poll() is None

    def ask(self, request: dict[str, Any], seconds: float) -> list[dict[str, Any]]:
        assert self._child.stdin is not None  # noqa: S101 - opened above
        assert self._child.stdout is not None  # noqa: S101 - opened above
        was_ended = threading.Event()

        def end() -> None:
            was_ended.set()
            self._child.kill()

        alarm = threading.Timer(seconds, end)
        alarm.daemon = True
        alarm.start()
        try:
            self._child.stdin.write(json.dumps(request).encode() + b"\n")
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            alarm.cancel()
        if not line.endswith(b"\n"):
            raise QueryError("KILLED" if was_ended.is_set() else "GONE")
        replies: list[dict[str, Any]] = json.loads(line)
        return replies

    def end(self) -> None:
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # a request that was never read
                    continue


def _end_all(processes: list[_Process]) -> None:
    while processes:
        processes.pop().end()
