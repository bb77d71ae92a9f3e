"""Sessions in an SQLite file: one thread writes, in groups, and one reads.

What many runs write at one moment is made lasting with one wait for the disk (group commit). The file is in WAL mode, so that
readers never wait; `synchronous=FULL`, so that what was said to be kept survives a power cut.
Source: https://www.sqlite.org/wal.html.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from toolhand.core.errors import StoreError
from toolhand.core.language import say
from toolhand.sessions.entries import AuditRow, Entry, Lease
from toolhand.sessions.migrations import MIGRATIONS, Migration, Rows, Script
from toolhand.sessions.searching import Looking, spaced, words_of
from toolhand.sessions.sql import SqlStore
from toolhand.sessions.sqlite_threads import Threads
from toolhand.sessions.store import default_path

T = TypeVar("T")

DIALECT: Final[Mapping[str, str]] = {
    "identity": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "integer": "INTEGER",
    "real": "REAL",
    "now": "((julianday('now') - 2440587.5) * 86400.0)",
    "now_text": "datetime('now')",
    "lock": "",
    # Words are taken in when somebody searches, so that a turn does not pay for it.
    "words": "CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='unicode61 remove_diacritics 2')",
}

_INSERT: Final = """INSERT INTO entry (session, seq, kind, call_id, at, body) VALUES {}
    ON CONFLICT (session, seq) DO NOTHING"""
_SEARCH: Final = """SELECT s.id, s.owner, e.seq, e.kind, e.body, e.at FROM words
    JOIN entry e ON e.id = words.rowid JOIN session s ON s.no = e.session"""
_INDEXED_AT_ONCE: Final = 2_000
_INSERTED_AT_ONCE: Final = 100


class SqliteStore(SqlStore):
    """Keeps sessions in a file. Several processes of one machine may share it; a network drive is no place for it.

    Args:
        path: the file; it is made for its owner alone where there is none. Its folder must exist, but for the default one.
        lease_seconds: how long a run may be out of touch before its session is given to another.
        wait_seconds: how long a run waits for its session.
        patience_seconds: how long a write waits for other processes' writes.
        migrations: the steps of the schema.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        lease_seconds: float = 15.0,
        wait_seconds: float = 120.0,
        patience_seconds: float = 30.0,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> None:
        self.path = Path(path).expanduser()
        super().__init__(str(self.path), DIALECT, lease_seconds=lease_seconds, wait_seconds=wait_seconds)
        if self.path == default_path():
            _make_folder(self.path.parent)
        self._threads = Threads(self.path, DIALECT, migrations, patience_seconds)

    async def _change(self, script: Callable[[], Script[T]]) -> T:
        found: T = await self._threads.change(script)
        return found

    async def _look(self, script: Callable[[], Script[T]]) -> T:
        found: T = await self._threads.look(script)
        return found

    def _append(self, lease: Lease, entries: Sequence[Entry], rows: Sequence[AuditRow]) -> Script[None]:
        valid = yield (
            "SELECT no FROM session WHERE id = ? AND epoch = ? AND holder = ?",
            (lease.session_id, lease.epoch, lease.holder),
        )
        if not valid:
            yield from self._check(lease)
        for start in range(0, len(entries), _INSERTED_AT_ONCE):
            some = entries[start : start + _INSERTED_AT_ONCE]
            yield (
                _INSERT.format(", ".join(["(?, ?, ?, ?, ?, ?)"] * len(some))),
                [
                    value
                    for entry in some
                    for value in (valid[0][0], entry.seq, entry.kind, entry.call_id, entry.at, entry.body)
                ],
            )
        yield from self._audit(rows)

    async def _found(self, looking: Looking, conditions: str, values: Sequence[Any], limit: int) -> Rows:
        while await self._change(_index_some):
            pass

        def script() -> Script[Rows]:
            rows = yield (
                f"{_SEARCH} WHERE words MATCH ?{conditions} ORDER BY e.id DESC LIMIT ?",
                (looking.query(), *values, limit),
            )
            return rows

        return await self._look(script)

    def _unindex(self, no: int) -> Script[None]:
        mark = yield from _mark()
        rows = yield (
            "SELECT id, seq, kind, body FROM entry WHERE session = ? AND id <= ? AND kind = 'message'",
            (no, mark),
        )
        for rowid, seq, kind, body in rows:
            said = words_of(Entry(seq=seq, kind=kind, body=body))[1]
            if said:
                yield "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (rowid, spaced(said))

    async def close(self) -> None:
        """Ends the threads and closes the file; the next use opens it again."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.close)


def _mark() -> Script[int]:
    """Up to which entry words were taken in."""
    rows = yield "SELECT value FROM mark WHERE name = 'words'", ()
    return int(rows[0][0]) if rows else 0


def _index_some() -> Script[bool]:
    """Takes the next entries' words in; whether there were any."""
    mark = yield from _mark()
    rows = yield (
        "SELECT id, seq, kind, body FROM entry WHERE id > ? ORDER BY id LIMIT ?",
        (mark, _INDEXED_AT_ONCE),
    )
    for rowid, seq, kind, body in rows:
        said = words_of(Entry(seq=seq, kind=kind, body=body))[1]
        if said:
            yield "INSERT INTO words (rowid, text) VALUES (?, ?)", (rowid, spaced(said))
    if rows:
        yield (
            "INSERT INTO mark (name, value) VALUES ('words', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (rows[-1][0],),
        )
    return bool(rows)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            say(
                f"the folder {folder}, in which sessions are kept, cannot be made ({error.strerror}): "
                'set TOOLHAND_STORE to a file that can be written, or use store="memory"',
                f'无法创建保存会话的目录 {folder}（{error.strerror}）：请把 TOOLHAND_STORE 设为可写的文件，或使用 store="memory"',
            )
        ) from error
