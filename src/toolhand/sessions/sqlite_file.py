"""The file of an SQLite store: how it is opened, that it is still the one of its name, and what its errors mean for people."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhand.core.errors import StoreError
from toolhand.core.language import say
from toolhand.sessions.migrations import Migration, Script, migrate


class File:
    """How the file is opened, and what its errors mean.

    Args:
        path: the file.
        dialect: for the schema.
        migrations: the schema's steps.
        patience_seconds: how long a write waits for other processes.
    """

    def __init__(
        self, path: Path, dialect: Mapping[str, str], migrations: Sequence[Migration], patience_seconds: float
    ) -> None:
        self.path, self._dialect, self._migrations = path.absolute(), dialect, migrations
        self.patience_seconds = patience_seconds
        self._mutex, self._checking = threading.Lock(), threading.Lock()
        self._all: list[Connected] = []
        self._known: dict[str, tuple[int, int]] = {}

    def connected(self) -> Connected:
        """A thread's way to the file; it is opened when it is used."""
        made = Connected(self)
        with self._mutex:
            self._all.append(made)
        return made

    def forget(self, connected: Connected) -> None:
        """A thread has ended."""
        with self._mutex:
            self._all.remove(connected)
            if not self._all:
                self._known.clear()

    def check(self) -> None:
        """Sees to it that the open file is the one of that name: SQLite does not look, and what is written to another is lost.

        Raises:
            StoreError: when it was removed or replaced since it was opened. The next use opens what is there then.
        """
        with self._checking:  # whoever comes while it is given up must not use what he has
            try:
                found = os.stat(self.path)  # noqa: PTH116 - the quick one: this is asked before each use
            except OSError:
                found = None
            if not self._known or (found is not None and self._known[""] == (found.st_dev, found.st_ino)):
                return
            self._give_up()
        why = "replaced by another file" if found is not None else "removed"
        why_zh = "被换成了另一个文件" if found is not None else "被删除"
        raise StoreError(
            say(
                f"the store {self._named} was {why} while it was in use, and what it held is not there any more: "
                "see that nobody does that while programs run; the next use takes what is there then",
                f"存储 {self._named} 在使用中{why_zh}，原来的内容已不在那里：程序运行时请不要这样做；下一次使用当时在那里的文件",
            )
        )

    def note_open(self) -> None:
        """Remembers which files are open."""
        with self._mutex:
            for end in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    found = os.stat(f"{self.path}{end}")  # noqa: PTH116
                    self._known[end] = (found.st_dev, found.st_ino)

    def _give_up(self) -> None:
        """Closes all that is open. A log of writes that stayed behind would be taken for a new file's: it is emptied and goes."""
        with self._mutex:
            everyone = list(self._all)
        for connected in everyone:
            connected.give_up()
        for end in ("-wal", "-shm"):
            beside = Path(f"{self.path}{end}")
            with contextlib.suppress(OSError):
                found = beside.stat()
                if self._known.get(end) == (found.st_dev, found.st_ino):
                    beside.unlink()
        self._known.clear()

    def opened(self) -> sqlite3.Connection:
        """A connection to the file with the newest schema in it.

        Raises:
            StoreError: when it cannot be opened, or is of a newer program.
        """
        try:
            if self.path.exists():
                self._check_kind()
            else:
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
        except OSError as error:
            raise StoreError(self._refused(error.strerror or "")) from error
        try:
            connection = sqlite3.connect(
                self.path, timeout=self.patience_seconds, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        except sqlite3.Error as error:
            raise self.meant(error) from error
        return connection

    @property
    def _named(self) -> str:
        """The path for an error: of a long one its ends."""
        path = str(self.path)
        return path if len(path) <= 240 else f"{path[:80]}…{path[-80:]}"

    def _check_kind(self) -> None:
        """Refuses a device or the like: SQLite would write beside it."""
        if self.path.is_dir():
            raise StoreError(
                say(
                    f"the store {self._named} is a folder: name a file in it, such as sessions.db",
                    f"存储 {self._named} 是一个目录：请写出其中的文件，例如 sessions.db",
                )
            )
        if not self.path.is_file():
            raise StoreError(
                say(
                    f'the store {self._named} is no file that can be kept: name one, or use "memory" to keep nothing',
                    f'存储 {self._named} 不是可以保存的文件：请写出一个文件，或用 "memory"（不保存）',
                )
            )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        for _ in range(200):  # the change to WAL does not wait by itself while another process opens the file
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL):
                    raise
                time.sleep(0.01)  # in a thread of the store's, never on a loop
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA journal_size_limit=67108864")
        connection.execute("BEGIN IMMEDIATE")
        try:
            run_script(connection, migrate(self._dialect, self.path.name, self._migrations))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def meant(self, error: Exception) -> Exception:
        """An error in words that say what to do; others as they are."""
        if not isinstance(error, sqlite3.Error):
            return error
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        why = {
            sqlite3.SQLITE_BUSY: say(
                f"another program has kept it locked for {self.patience_seconds:g} seconds: "
                "wait until it has ended, or name another store",
                f"另一个程序已锁住它 {self.patience_seconds:g} 秒：请等它结束，或换一个存储",
            ),
            sqlite3.SQLITE_LOCKED: say("it is locked: try again", "它被锁住了：请重试"),
            sqlite3.SQLITE_PROTOCOL: say(
                "too many programs open it at once: try again", "同时打开它的程序太多：请重试"
            ),
            sqlite3.SQLITE_FULL: say(
                "the disk is full: make room, then resume the session", "磁盘已满：腾出空间后继续该会话"
            ),
            sqlite3.SQLITE_IOERR: say(
                "the disk gave an error: see that it has room and is well, then resume the session",
                "磁盘出错：请确认它有空间且正常，然后继续该会话",
            ),
            sqlite3.SQLITE_NOTADB: say(
                "it is no SQLite file: name another one", "它不是 SQLite 文件：请换一个"
            ),
            sqlite3.SQLITE_CORRUPT: say(
                "it is damaged: restore it from a copy, or name another one",
                "它已损坏：请用备份恢复，或换一个",
            ),
            sqlite3.SQLITE_READONLY: say(
                "it may only be read: give the right to write, or name another store",
                "它是只读的：请给出写权限，或换一个存储",
            ),
        }.get(code)
        if code == sqlite3.SQLITE_CANTOPEN:
            return StoreError(self._refused(say("it cannot be opened", "无法打开")))
        return StoreError(
            say(
                f"the store {self._named} cannot be used: {why or error}",
                f"存储 {self._named} 无法使用：{why or error}",
            )
        )

    def _refused(self, why: str) -> str:
        if not self.path.parent.is_dir():
            return say(
                f"the store {self._named} cannot be made, as its folder does not exist: make it first "
                "(sqlite:///a is a path from here, sqlite:////a one from the root)",
                f"所在目录不存在，无法创建存储 {self._named}：请先建目录（sqlite:///a 在当前目录，sqlite:////a 从根开始）",
            )
        return say(
            f"the store {self._named} cannot be opened ({why}): give the right to write it and its folder, "
            'name another one with TOOLHAND_STORE, or use store="memory"',
            f'无法打开存储 {self._named}（{why}）：请给出文件和目录的写权限，用 TOOLHAND_STORE 换一个，或使用 store="memory"',
        )


class Connected:
    """One thread's connection.

    Args:
        file: the file.
    """

    def __init__(self, file: File) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    @contextlib.contextmanager
    def used(self) -> Iterator[sqlite3.Connection]:
        """The connection, to the file that stands there now.

        Raises:
            StoreError: when the file cannot be opened, or was removed or replaced since it was.
        """
        self._file.check()
        with self._lock:
            if self._connection is None:
                self._connection = self._file.opened()
                self._file.note_open()
            yield self._connection

    def give_up(self) -> None:
        """Closes it once it is not in use, as its file stands there no more."""
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._connection.close()
                self._connection = None

    def close(self) -> None:
        """Closes it for good."""
        self._file.forget(self)
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def run_script(connection: sqlite3.Connection, script: Script[Any]) -> Any:
    """Runs a transaction's statements, one after the other."""
    rows: list[Any] = []
    try:
        statement, values = next(script)
        while True:
            rows = connection.execute(statement, values).fetchall()
            statement, values = script.send(rows)
    except StopIteration as end:
        return end.value
    finally:
        script.close()
