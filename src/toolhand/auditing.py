"""The audit of stored sessions: what `AuditLog` makes of a run's events goes into the session's own store, with its entries."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable

from toolhand.observability import Sink
from toolhand.observability.audit import AuditLog, AuditRecord
from toolhand.sessions import codec
from toolhand.sessions.background import blocking
from toolhand.sessions.entries import AuditQuery, AuditRow
from toolhand.sessions.store import SessionStore
from toolhand.sessions.stored import StoredSession

_DAY_SECONDS = 86_400.0


def audit_of(session: StoredSession) -> Sink:
    """The audit of a run in a session that is kept."""
    return AuditLog(_Rows(session))


class _Rows:
    """Where one run's records go."""

    def __init__(self, session: StoredSession) -> None:
        self._session = session

    def append(self, record: AuditRecord) -> None:
        """Has the record kept with what the session writes next."""
        self._session.audit(row_of(record))

    def records(self) -> Iterable[AuditRecord]:
        """Every record of this session, oldest first."""
        query = AuditQuery(session_id=self._session.id)
        return map(record_of, blocking(self._session.store.audited(query)))


def row_of(record: AuditRecord) -> AuditRow:
    """A record as a store keeps it."""
    return AuditRow(
        at=dt.datetime.fromisoformat(record.time).timestamp(),
        user=record.user,
        session_id=record.session_id,
        trace_id=record.trace_id,
        tool=record.tool,
        outcome=record.outcome,
        body=codec.written(record.to_json()),
    )


def record_of(row: AuditRow) -> AuditRecord:
    """The record that a row holds."""
    return AuditRecord.from_json(json.loads(row.body))


class AuditTrail:
    """The audit in a store: to search, to export (`export_jsonl`, `export_csv`) and to shorten.

    Args:
        store: where sessions are kept.
    """

    def __init__(self, store: SessionStore) -> None:
        self.store = store

    async def search(
        self,
        *,
        user: str | None = None,
        tool: str | None = None,
        session_id: str | None = None,
        trace_id: str | None = None,
        outcome: str | None = None,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
        limit: int | None = None,
    ) -> list[AuditRecord]:
        """The records that fit, oldest first; what is left out fits everything.

        Args:
            user: who asked.
            tool: the tool's name.
            session_id: the conversation.
            trace_id: the run.
            outcome: "ok", an error's code, or "error" for every error.
            since: from this moment on; without a time zone it is local time.
            until: before this moment.
            limit: how many at most, the newest.

        Raises:
            StoreError: when the store cannot be read.
        """
        query = AuditQuery(
            user=user,
            tool=tool,
            session_id=session_id,
            trace_id=trace_id,
            outcome=outcome,
            since=None if since is None else since.timestamp(),
            until=None if until is None else until.timestamp(),
            limit=limit,
        )
        return [record_of(row) for row in await self.store.audited(query)]

    async def count_older(self, days: float, most: int) -> int:
        """How many records `keep_days` would remove; counted up to `most`, as each is read."""
        moment = dt.datetime.now(dt.UTC).timestamp() - days * _DAY_SECONDS
        return len(await self.store.audited(AuditQuery(until=moment, limit=most)))

    async def keep_days(self, days: float) -> int:
        """Removes the records that are older than so many days; how many there were."""
        return await self.store.forget(dt.datetime.now(dt.UTC).timestamp() - days * _DAY_SECONDS)
