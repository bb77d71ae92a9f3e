"""The two threads behind an SQLite store."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from toolhand.sessions.migrations import Migration, Script
from toolhand.sessions.sqlite_file import File, run_script

_MOST_IN_A_GROUP: Final = 512
_CLOSE: Final = None

_Work: TypeAlias = "tuple[Callable[[], Script[Any]], _Waiter]"
_Queue: TypeAlias = "queue.SimpleQueue[_Work | None]"


class _Waiter:
    """Whoever waits for a transaction, on a loop: what comes of it is told there, by one future and not by a chain of two."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()

    def tell(self, value: Any, error: BaseException | None = None) -> None:
        """Hands on what came of it, from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, value, error)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        if self.future.done():
            return  # he has stopped waiting; a write that is asked for is written all the same
        if error is None:
            self.future.set_result(value)
        else:
            self.future.set_exception(error)


class Threads:
    """One thread that writes in groups and one that reads, each with a connection of its own, started when they are needed.

    Args:
        path: the file.
        dialect: for the schema.
        migrations: the schema's steps.
        patience_seconds: how long a write waits for other processes.
    """

    def __init__(
        self, path: Path, dialect: Mapping[str, str], migrations: Sequence[Migration], patience_seconds: float
    ) -> None:
        self._settings = (path, dialect, migrations, patience_seconds)
        self._files: list[File] = []
        self._mutex = threading.Lock()
        self._pid = 0
        self._queues: tuple[_Queue, _Queue] | None = None
        self._running: list[threading.Thread] = []

    def change(self, script: Callable[[], Script[Any]]) -> asyncio.Future[Any]:
        """Runs a transaction that writes; the future, of the running loop, is done when it is kept."""
        return self._put(0, script)

    def look(self, script: Callable[[], Script[Any]]) -> asyncio.Future[Any]:
        """Runs a transaction that reads."""
        return self._put(1, script)

    def _put(self, which: int, script: Callable[[], Script[Any]]) -> asyncio.Future[Any]:
        waiter = _Waiter()
        with self._mutex:
            if (
                self._queues is None or self._pid != os.getpid()
            ):  # a forked process has no threads of its parent
                self._start()
            assert self._queues is not None  # noqa: S101 - for the type checker
            self._queues[which].put((script, waiter))
        return waiter.future

    def _start(self) -> None:
        if (
            self._pid != os.getpid()
        ):  # what a parent has open is not for its child, and may not be closed by it either
            self._files.append(File(*self._settings))
        self._pid = os.getpid()
        self._queues = (queue.SimpleQueue(), queue.SimpleQueue())
        self._running = [
            threading.Thread(
                target=target, args=(self._files[-1], waiting), name=f"toolhand-{name}", daemon=True
            )
            for target, waiting, name in zip((_write, _read), self._queues, ("writer", "reader"), strict=True)
        ]
        for thread in self._running:
            thread.start()
        weakref.finalize(self, _end, self._queues, self._pid)

    def close(self) -> None:
        """Ends the threads once they have done what was asked of them, and closes the file."""
        with self._mutex:
            queues, running, self._queues = self._queues, self._running, None
        if queues is not None and self._pid == os.getpid():
            _end(queues, self._pid)
            for thread in running:
                thread.join(10)


def _end(queues: tuple[_Queue, _Queue], pid: int) -> None:
    if pid == os.getpid():
        for waiting in queues:
            waiting.put(_CLOSE)


def _read(file: File, waiting: _Queue) -> None:
    connected = file.connected()
    while (work := waiting.get()) is not None:
        script, waiter = work
        try:
            with connected.used() as connection:
                connection.execute("BEGIN")
                try:
                    found = run_script(connection, script())
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        except BaseException as error:  # noqa: BLE001 - told to whoever asked
            waiter.tell(None, _told(file, error))
        else:
            waiter.tell(found)
        del script, waiter, work
    connected.close()


def _write(file: File, waiting: _Queue) -> None:
    connected = file.connected()
    is_open = True
    while is_open:
        group, is_open = _group(waiting)
        if not group:
            continue
        try:
            with connected.used() as connection:
                if not _written(connection, file, group):
                    for work in group:  # one of them may be at fault, such as by its size
                        _written(connection, file, [work], is_last=True)
        except BaseException as error:  # noqa: BLE001 - told to whoever asked
            for _, waiter in group:
                waiter.tell(None, _told(file, error))
        del group
    connected.close()


def _group(waiting: _Queue) -> tuple[list[_Work], bool]:
    """What waits to be written, at least one; whether more may come."""
    group: list[_Work] = []
    work = waiting.get()
    while work is not None:
        group.append(work)
        if len(group) >= _MOST_IN_A_GROUP:
            return group, True
        try:
            work = waiting.get_nowait()
        except queue.Empty:
            return group, True
    return group, False


def _written(
    connection: sqlite3.Connection, file: File, group: list[_Work], *, is_last: bool = False
) -> bool:
    """Writes a group in one transaction. False when it could not be, and each has to be tried by itself."""
    ends: list[tuple[_Waiter, Any, BaseException | None]] = []
    try:
        connection.execute("BEGIN IMMEDIATE")
        for script, waiter in group:
            if len(group) == 1:  # the transaction is its own
                ends.append((waiter, run_script(connection, script()), None))
                break
            connection.execute("SAVEPOINT one")
            try:
                ends.append((waiter, run_script(connection, script()), None))
            except BaseException as error:
                if not connection.in_transaction:  # the file itself failed: all of it is gone
                    raise
                connection.execute("ROLLBACK TO one")
                ends.append((waiter, None, error))
            connection.execute("RELEASE one")
        connection.execute("COMMIT")
    except BaseException as error:  # noqa: BLE001 - told to whoever asked
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if not is_last and len(group) > 1 and not _is_busy(error):
            return False
        ends = [(waiter, None, error) for _, waiter in group]
    for waiter, value, raised in ends:
        waiter.tell(value, None if raised is None else _told(file, raised))
    return True


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _told(file: File, error: BaseException) -> BaseException:
    return file.meant(error) if isinstance(error, Exception) else error
