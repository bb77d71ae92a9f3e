"""What is kept of a run beside what was said: the audit, and when each turn began, whom it asked and what it used.

It goes into the session's own store, with its entries.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Iterable
from typing import Any, Final

from toolhand.core.context import RunContext
from toolhand.core.events import (
    AskedAgain,
    CallRetried,
    Event,
    LimitReached,
    ModelReplaced,
    ModelReplied,
    ModelRetried,
    SteppedDown,
    SteppedUp,
    TurnStarted,
)
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


def turns_of(session: StoredSession) -> Sink:
    """Keeps with each reply of a run what its words do not say: see `_Turns`."""
    return _Turns(session)


class _Turns:
    """Notes a turn while it is under way. What it notes is short: it is written with every reply that is ever kept.

    `n`: which turn; `at`: when the model was asked, in seconds since 1970; `model`, `protocol`, `trace`; `use`: tokens of the
    prompt, of the reply, and from the cache; `cost` and `currency`; `end`: why the model stopped, where that says something;
    `told`: what happened on the way to it, in order, each with a `what`.
    """

    def __init__(self, session: StoredSession) -> None:
        self._session = session
        self._told: list[dict[str, Any]] = []

    def __call__(self, event: Event, context: RunContext) -> None:
        """Takes one event."""
        match event:
            case TurnStarted(turn=turn, model=model, protocol=protocol):
                asked = self._session.turn
                if asked is None or (asked["n"], asked["trace"]) != (turn, context.trace_id):
                    asked = {
                        "n": turn,
                        "at": round(time.time(), 3),
                        "trace": context.trace_id,
                        "told": self._told,
                    }
                    self._session.turn, self._told = asked, []
                asked |= {
                    "model": model,
                    "protocol": protocol,
                }  # the same turn may be asked for once more, otherwise
            case ModelReplied(usage=usage, finish_reason=reason):
                if (replied := self._session.turn) is not None:
                    replied["use"] = [usage.input_tokens, usage.output_tokens, usage.cached_tokens]
                    if usage.cost is not None:
                        replied |= {"cost": usage.cost, "currency": usage.currency}
                    if reason not in ("stop", "tool_calls"):
                        replied["end"] = reason
            case _ if type(event) in _TELLING:
                told = self._told if self._session.turn is None else self._session.turn["told"]
                told.append(_told(event))


_TELLING: Final = frozenset({
    ModelRetried, ModelReplaced, CallRetried, SteppedDown, SteppedUp, AskedAgain, LimitReached,
})  # fmt: skip
"""The events that say how a reply came about or a call went."""


def _told(event: Event) -> dict[str, Any]:
    """What is kept of such an event."""
    match event:
        case ModelRetried(error=error, wait_seconds=wait):
            return {"what": "model_retried", "why": str(error.fault), "wait": round(wait, 3)}
        case ModelReplaced(model=model, fallback=fallback):
            return {"what": "model_replaced", "from": model, "to": fallback}
        case CallRetried(call=call, error=failed, wait_seconds=wait):
            return {"what": "call_retried", "call": call.id, "why": str(failed.code), "wait": round(wait, 3)}
        case (
            SteppedDown(protocol=protocol, next_protocol=next_, reason=reason)
            | SteppedUp(protocol=protocol, next_protocol=next_, reason=reason)
        ):
            return {"what": "stepped", "from": protocol, "to": next_, "why": reason}
        case AskedAgain(reason=reason, is_kept=is_kept):
            return {"what": "asked_again", "why": reason, "kept": is_kept}
        case LimitReached(limit=limit):
            return {"what": "limit", "why": limit}
        case _:
            return {"what": type(event).__name__}


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
