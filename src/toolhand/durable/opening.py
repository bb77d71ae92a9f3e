"""The ledger of submitted runs that belongs to a store."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.durable.ledger import RunLedger
from toolhand.durable.queues import open_queue
from toolhand.sessions.store import SessionStore, open_store

if TYPE_CHECKING:
    from toolhand.sessions.postgres import PostgresStore

_LEDGERS: Final[weakref.WeakKeyDictionary[Any, dict[str, RunLedger]]] = weakref.WeakKeyDictionary()
_MUTEX: Final = threading.Lock()


def has_runs(store: SessionStore) -> TypeGuard[PostgresStore]:
    """Whether runs can be submitted to a store: whether it is a PostgreSQL."""
    # Where its file is not loaded, the store is none of it.
    postgres = sys.modules.get("toolhand.sessions.postgres")
    return postgres is not None and isinstance(store, postgres.PostgresStore)


def ledger_of(store: str | SessionStore | None, engine: str = "procrastinate") -> RunLedger:
    """The ledger of a store; one for all of a process.

    Args:
        store: its name or itself; None for the default one.
        engine: what carries the jobs; see `toolhand.durable.queues`.

    Raises:
        SettingsError: when the store is no PostgreSQL, or there is no such engine.
        MissingExtraError: when a driver is not installed.
    """
    found = open_store(store)
    if not has_runs(found):
        raise SettingsError(
            say(
                f"runs are submitted to a store in PostgreSQL, and this one is '{found.name}': give the agent "
                "store='postgresql://user:password@host/database', or set TOOLHAND_STORE to that",
                f"只有 PostgreSQL 存储可以提交运行，而这里是“{found.name}”：请给 agent 设置 "
                "store='postgresql://user:password@host/database'，或把 TOOLHAND_STORE 设为它",
            )
        )
    with _MUTEX:
        ledgers = _LEDGERS.setdefault(found, {})
        if engine not in ledgers:
            ledgers[engine] = RunLedger(found, open_queue(engine, found))
        return ledgers[engine]
