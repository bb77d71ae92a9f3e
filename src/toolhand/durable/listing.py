"""Looks at the ledger for people: runs, how many there are of each kind, and the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolhand.durable.ledger import NOW, RunLedger
from toolhand.durable.rows import COLUMNS, RunRow, row_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """A worker as it told of itself last.

    Args:
        id: its name.
        started: when it began, in seconds since 1970.
        silent: how many seconds ago it was heard of.
        queues: which it serves.
        running: how many runs it has.
        concurrency: how many it may have.
    """

    id: str
    started: float
    silent: float
    queues: str
    running: int
    concurrency: int


async def list_runs(
    ledger: RunLedger,
    *,
    states: Sequence[str] = (),
    user: str | None = None,
    session_id: str | None = None,
    limit: int = 50,
) -> list[RunRow]:
    """Runs, the last submitted first; what is left out fits everything.

    Args:
        ledger: where they are.
        states: how they stand.
        user: who asked.
        session_id: the conversation.
        limit: how many at most.
    """
    await ledger.ready()
    conditions, values = ["true"], list[Any]()
    for condition, value in (
        ("state = ANY(?)", list(states) or None),
        ("owner = ?", user),
        ("session = ?", session_id),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    where = " AND ".join(conditions)
    rows = await ledger.look(
        f"SELECT {COLUMNS} FROM run WHERE {where} ORDER BY no DESC LIMIT ?",  # noqa: S608 - our own words
        (*values, limit),
    )
    return [row_of(row) for row in rows]


async def counts(ledger: RunLedger) -> dict[str, int]:
    """How many runs there are of each state."""
    await ledger.ready()
    return dict(await ledger.look("SELECT state, count(*) FROM run GROUP BY state ORDER BY state", ()))


async def workers(ledger: RunLedger) -> list[WorkerRow]:
    """The workers that have told of themselves; one that died is silent."""
    await ledger.ready()
    rows = await ledger.look(
        f"SELECT id, started, {NOW} - beat, queues, running, concurrency FROM worker ORDER BY started",  # noqa: S608
        (),
    )
    return [
        WorkerRow(id=id_, started=started, silent=silent, queues=queues, running=running, concurrency=most)
        for id_, started, silent, queues, running, most in rows
    ]
