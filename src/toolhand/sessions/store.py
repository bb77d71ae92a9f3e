"""Where sessions are kept: the port, and how a store is named. Memory, SQLite and PostgreSQL are behind it, one file each."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from toolhand.core.errors import SettingsError, StoreError
from toolhand.core.language import say
from toolhand.sessions.entries import AuditQuery, AuditRow, Busy, Entry, Hit, Lease, Summary

VARIABLE: Final = "TOOLHAND_STORE"


@runtime_checkable
class SessionStore(Protocol):
    """Keeps sessions' entries, which are only ever added, and who may add to which.

    Every method may be called from any event loop. A method that waits for the store and is cancelled may still have its effect.
    Each may raise `StoreError` when the store cannot be used.
    """

    @property
    def name(self) -> str:
        """What people call it, without a password."""
        ...

    @property
    def lease_seconds(self) -> float:
        """How long a run may be out of touch before its session is given to another."""
        ...

    @property
    def wait_seconds(self) -> float:
        """How long a run waits for its session."""
        ...

    async def claim(self, session_id: str, *, owner: str, holder: str, ticket: int = 0) -> Lease | Busy:
        """Leases a session, or takes a place in the row of those who wait; claiming twice as one holder changes nothing.

        Args:
            session_id: the session; it is made where there is none.
            owner: whose it is.
            holder: names the run.
            ticket: the place that an earlier claim gave, or 0.

        Raises:
            SessionError: when it is another user's.
        """
        ...

    async def leave(self, session_id: str, *, ticket: int) -> None:
        """Gives up a place in the row."""
        ...

    async def renew(self, lease: Lease) -> bool:
        """Makes a lease last from now on; whether it still was the holder's."""
        ...

    async def release(self, lease: Lease, *, title: str = "", messages: int | None = None) -> None:
        """Gives a lease back.

        Args:
            lease: the lease.
            title: how the session began, where that is known.
            messages: how many messages it has now, where that is known.
        """
        ...

    async def append(self, lease: Lease, entries: Sequence[Entry], rows: Sequence[AuditRow] = ()) -> None:
        """Adds entries and rows of the audit, all or none. They are kept for good when it returns.

        Raises:
            SessionError: when the lease is not valid any more.
        """
        ...

    async def read(self, session_id: str, *, before: int | None = None, limit: int = 256) -> list[Entry]:
        """The last entries before a number, oldest first."""
        ...

    async def known_calls(self, session_id: str, ids: Sequence[str]) -> frozenset[str]:
        """Which of these ids calls of the session have."""
        ...

    async def find(self, session_id: str) -> Summary | None:
        """A session, or None where there is none."""
        ...

    async def list(
        self, *, owner: str | None = None, before: Summary | None = None, limit: int = 50
    ) -> Sequence[Summary]:
        """Sessions, the last used first.

        Args:
            owner: whose; None for everybody's.
            before: the last one of the page before.
            limit: how many at most.
        """
        ...

    async def search(
        self, text: str, *, owner: str | None = None, session_id: str | None = None, limit: int = 20
    ) -> Sequence[Hit]:
        """Messages of users and models with these words in them, the newest first. Chinese needs no blanks.

        Args:
            text: words that must all occur.
            owner: in whose sessions; None for everybody's.
            session_id: in which session.
            limit: how many at most.
        """
        ...

    async def remove(self, lease: Lease) -> None:
        """Removes a session and all its entries. What the audit says of it stays."""
        ...

    async def audited(self, query: AuditQuery) -> Sequence[AuditRow]:
        """Rows of the audit, oldest first."""
        ...

    async def forget(self, before: float) -> int:
        """Removes the audit's rows from before a moment (seconds since 1970); how many there were."""
        ...

    async def close(self) -> None:
        """Gives back threads and connections; the next use opens them again."""
        ...


_OPEN: Final[weakref.WeakValueDictionary[tuple[int, str], SessionStore]] = weakref.WeakValueDictionary()
_LOCK: Final = threading.Lock()


def open_store(store: str | os.PathLike[str] | SessionStore | None = None) -> SessionStore:
    """The store of that name; agents of one process that name the same share it.

    Args:
        store: "memory", a file's path or "sqlite:///path", "postgresql://…", a store itself, or None for what
            `TOOLHAND_STORE` says, by default a file in the user's data folder.

    Raises:
        SettingsError: when no store has such a name.
        MissingExtraError: when its driver is not installed.
    """
    if store is None:
        store = os.environ.get(VARIABLE, "").strip() or default_path()
    if not isinstance(store, str | os.PathLike):
        if not isinstance(store, SessionStore):
            raise SettingsError(
                say(
                    f'store is "memory", a file\'s path, "sqlite:///…", "postgresql://…" or a store, not {store!r}',
                    f'store 应是 "memory"、文件路径、"sqlite:///…"、"postgresql://…" 或 store 对象，不能是 {store!r}',
                )
            )
        return store
    name = os.fspath(store)
    _check_name(name)
    if name.rpartition("/")[2] == ":memory:":  # what SQLite calls a database that is not kept
        name = "memory"
    scheme, separator, rest = name.partition("://")
    if name == "memory":  # each its own: nothing is shared by a name that everybody uses
        return _made("memory", "MemoryStore")
    if separator and scheme in ("postgresql", "postgres"):
        return _opened(name, "postgres", "PostgresStore")
    path = (
        rest.removeprefix("/") if separator else name
    )  # three slashes and a name, or four and a path from the root
    return _opened(str(Path(path).expanduser().absolute()), "sqlite", "SqliteStore")


def _check_name(name: str) -> None:
    """Refuses a name that is none of a store."""
    scheme, separator, rest = name.partition("://")
    if not name.strip() or "\0" in name:
        raise SettingsError(
            say(
                f"the store's name {name[:60]!r} names no file: write a path, or leave it out for the default",
                f"存储名称 {name[:60]!r} 不是文件：请写出路径，或不写（使用默认位置）",
            )
        )
    if separator and scheme not in ("sqlite", "postgresql", "postgres"):
        raise SettingsError(
            say(
                f"there is no store '{scheme}://…'; there is: memory, sqlite:///path, postgresql://…",
                f"没有“{scheme}://…”这种存储；可用：memory、sqlite:///path、postgresql://…",
            )
        )
    if separator and not rest.strip("/"):
        raise SettingsError(
            say(
                f"the store '{name}' names no file: write sqlite:///path",
                f"存储“{name}”没有写出文件：请写成 sqlite:///path",
            )
        )


def _made(module: str, kind: str, *arguments: str) -> SessionStore:
    made: SessionStore = getattr(import_module(f"toolhand.sessions.{module}"), kind)(*arguments)
    return made


def _opened(name: str, module: str, kind: str) -> SessionStore:
    with _LOCK:
        found = _OPEN.get((os.getpid(), name))
        if found is None:
            found = _OPEN[os.getpid(), name] = _made(module, kind, name)
        return found


def default_path() -> Path:
    """The file in which sessions are kept where a program says nothing.

    Raises:
        StoreError: when the user has no home.

    Source: the XDG Base Directory Specification; on macOS and Windows the system's own places.
    """
    try:
        home = Path.home()
    except RuntimeError as error:
        raise StoreError(
            say(
                f'sessions are kept in the user\'s home, and there is none: set {VARIABLE}, or use store="memory"',
                f'会话保存在用户主目录，但没有主目录：请设置 {VARIABLE}，或使用 store="memory"',
            )
        ) from error
    if sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        named = os.environ.get("XDG_DATA_HOME", "")
        folder = Path(named) if named.startswith("/") else home / ".local" / "share"
    return folder / "toolhand" / "sessions.db"
