"""The submitted run inside a session, for those who look at sessions: which it is, what is decided about it, how it goes on."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from toolhand.core.approvals import Decision
from toolhand.durable import tending
from toolhand.durable.ledger import HEADS, NOW, RunLedger
from toolhand.durable.opening import has_runs, ledger_of
from toolhand.durable.rows import COLUMNS, RunRow, row_of
from toolhand.sessions.store import SessionStore
from toolhand.sessions.stored import StoredSession

if TYPE_CHECKING:
    from toolhand.sessions.postgres import PostgresStore

_THERE: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
"""The stores of which it is known that runs can have been submitted to them."""

_FOUND: Final = f"""
SELECT {COLUMNS} FROM run WHERE session = ? AND (state IN ({HEADS}) OR (state IN ('failed', 'dead') AND last_seq >= (
    SELECT COALESCE(max(e.seq), 0) FROM entry e JOIN session s ON s.no = e.session WHERE s.id = run.session
))) ORDER BY state IN ({HEADS}) DESC, no DESC LIMIT 1
"""  # noqa: S608 - our own words


_WITHDRAW: Final = """
DELETE FROM run WHERE id = ? AND state = 'behind'
    AND EXISTS (SELECT 1 FROM run first WHERE first.session = run.session AND first.state = 'waiting') RETURNING no
"""
"""What stands behind another has no job yet that could bring it to a worker."""


_SERVING: Final = f"""
SELECT count(*) FROM worker WHERE beat > {NOW} - ?::float8 AND (? = '' OR ? = ANY(string_to_array(queues, ',')))
"""  # noqa: S608
_SILENT_SECONDS: Final = 30.0


async def serving(store: PostgresStore, queue: str) -> int:
    """How many workers serve a queue now; "" for any. Looking makes no tables."""
    if not await _is_there(store):
        return 0
    rows = await store.look(lambda: _asked(_SERVING, (_SILENT_SECONDS, queue, queue)))
    return int(rows[0][0])


async def _is_there(store: PostgresStore) -> bool:
    if store not in _THERE:
        rows = await store.look(lambda: _asked("SELECT to_regclass('run') IS NOT NULL", ()))
        if rows[0][0]:
            _THERE.add(store)
    return store in _THERE


async def submitted_in(store: SessionStore, session_id: str) -> RunRow | None:
    """The submitted run whose turn it is in a session, or the one at its end that came to none; None where there is neither.

    Looking makes no tables.

    Args:
        store: where the session is.
        session_id: its name.
    """
    if not has_runs(store) or not await _is_there(store):
        return None
    rows = await store.look(lambda: _asked(_FOUND, (session_id,)))
    return row_of(rows[0]) if rows else None


def _asked(statement: str, values: tuple[Any, ...]) -> Any:
    return (yield statement, values)


async def noted(ledger: RunLedger, row: RunRow) -> Mapping[str, Decision]:
    """What persons decided in the session about the calls that a run waits for, by approval id."""
    session = StoredSession(row.session_id, ledger.store, user=row.user)
    await session.load()
    known = {call.approval_id for call in row.pending}
    return {name: decision for name, decision in session.decisions.items() if name in known}


async def withdrawn(ledger: RunLedger, run_id: str) -> bool:
    """Takes a run back that stands behind one that waits for a person, as if it had never been submitted; else False."""
    rows = await ledger.look(_WITHDRAW, (run_id,))
    return bool(rows)


async def decide_in(store: SessionStore, row: RunRow, decisions: Mapping[str, Decision]) -> None:
    """Tells a session's run what was decided; a worker goes on with it.

    Raises:
        SettingsError: see `tending.decide`.
    """
    await tending.decide(ledger_of(store), row.id, decisions)


async def go_on_in(store: SessionStore, row: RunRow) -> None:
    """Has a session's run gone on with: with what was decided in the session, or tried again where it came to no end.

    Raises:
        SettingsError: when it waits and nothing was decided.
    """
    ledger = ledger_of(store)
    if row.state == "waiting":
        await tending.decide(ledger, row.id, await noted(ledger, row))
    elif row.has_ended:
        await tending.retry(ledger, row.id)
