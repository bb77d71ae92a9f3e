"""Clearing away what is old: runs that ended, sessions that nobody uses, the audit. In pieces, so that nobody waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolhand.durable.ledger import NOW, RunLedger
from toolhand.sessions.archive import Archive
from toolhand.sessions.store import SessionStore

PIECE: Final = 500

_RUNS: Final = f"""
DELETE FROM run WHERE no IN (SELECT no FROM run WHERE ended > 0 AND ended < ? ORDER BY ended LIMIT {PIECE}) RETURNING 1
"""  # noqa: S608 - a number of ours

_SESSIONS: Final = f"""
WITH gone AS (
    SELECT s.no, s.id FROM session s WHERE s.updated < ? AND (s.holder = '' OR s.lease_until <= {NOW})
        AND NOT EXISTS (SELECT 1 FROM run WHERE run.session = s.id AND run.ended = 0)
    ORDER BY s.updated LIMIT {PIECE} FOR UPDATE OF s SKIP LOCKED
), entries AS (DELETE FROM entry USING gone WHERE entry.session = gone.no),
waiters AS (DELETE FROM waiter USING gone WHERE waiter.session = gone.no),
runs AS (DELETE FROM run USING gone WHERE run.session = gone.id)
DELETE FROM session USING gone WHERE session.no = gone.no RETURNING 1
"""  # noqa: S608

_WORKERS: Final = f"DELETE FROM worker WHERE beat < {NOW} - 86400 RETURNING 1"  # noqa: S608


@dataclass(slots=True, kw_only=True)
class Pruned:
    """How much was removed.

    Args:
        runs: submitted runs that had ended.
        sessions: sessions with all that was said in them.
        audit: records of the audit.
    """

    runs: int = 0
    sessions: int = 0
    audit: int = 0


async def prune(
    store: SessionStore,
    ledger: RunLedger | None,
    *,
    seconds: float,
    with_sessions: bool = True,
    with_audit: bool = True,
    on_progress: Callable[[Pruned], None] = lambda _: None,
) -> Pruned:
    """Removes what has not been used for so many seconds. What is under way or waits for a person stays.

    Args:
        store: what is cleared.
        ledger: its submitted runs, where it has any.
        seconds: the age.
        with_sessions: whether sessions go too.
        with_audit: whether the audit's records go too.
        on_progress: hears after each piece.

    Raises:
        StoreError: when the store cannot be used.
    """
    pruned, before = Pruned(), time.time() - seconds
    if ledger is not None:
        await ledger.ready()
        await ledger.look(_WORKERS, ())
        while found := len(await ledger.look(_RUNS, (before,))):
            pruned.runs += found
            on_progress(pruned)
        while with_sessions and (found := len(await ledger.look(_SESSIONS, (before,)))):
            pruned.sessions += found
            on_progress(pruned)
    elif with_sessions:
        old = [s.id async for s in Archive(store).sessions() if s.updated < before and not s.in_use]
        for session_id in old:
            await Archive(store).remove(session_id)
            pruned.sessions += 1
            on_progress(pruned)
    if with_audit:
        pruned.audit = await store.forget(before)
        on_progress(pruned)
    return pruned


async def prune_sessions(store: SessionStore, ledger: RunLedger | None, names: Sequence[str]) -> Pruned:
    """Removes sessions by their names, with the runs that were submitted to them.

    Raises:
        SessionError: when there is none of that name, or it is in use.
    """
    pruned = Pruned()
    for name in names:
        await Archive(store).remove(name)
        pruned.sessions += 1
        if ledger is not None:
            await ledger.ready()
            rows: Any = await ledger.look("DELETE FROM run WHERE session = ? RETURNING 1", (name,))
            pruned.runs += len(rows)
    return pruned
