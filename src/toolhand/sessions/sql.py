"""Sessions in a database: the statements, as transactions without I/O. What runs them is a driver's (`sqlite.py`, `postgres.py`).

The fence: entries are added in the one statement that also finds the lease valid, so that a run whose session was given to
another can add nothing more, however late it wakes up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from toolhand.core.errors import SessionError
from toolhand.sessions.entries import AuditQuery, AuditRow, Busy, Entry, Hit, Lease, Summary
from toolhand.sessions.holder import is_dead
from toolhand.sessions.memory import gone, taken_over
from toolhand.sessions.migrations import Rows, Script
from toolhand.sessions.searching import Looking, words_of
from toolhand.sessions.session import refusal

T = TypeVar("T")

_TICKET_SECONDS: Final = 2.0
_SUMMARY: Final = "id, owner, title, messages, created, updated, holder"
_NUMBER: Final = "(SELECT no FROM session WHERE id = ?)"
_NONE: Final[tuple[Any, ...]] = ()
_AUDIT: Final = "at, who, session_id, trace_id, tool, outcome, body"


class SqlStore(ABC):
    """What the stores in databases share.

    Args:
        name: what people call it, without a password.
        dialect: what the database says for what the statements leave open.
        lease_seconds: how long a run may be out of touch before its session is given to another.
        wait_seconds: how long a run waits for its session.
    """

    def __init__(
        self, name: str, dialect: Mapping[str, str], *, lease_seconds: float, wait_seconds: float
    ) -> None:
        self.name = name
        self.lease_seconds, self.wait_seconds = lease_seconds, wait_seconds
        self._now, self._lock = dialect["now"], dialect["lock"]

    @abstractmethod
    async def _change(self, script: Callable[[], Script[T]]) -> T:
        """Runs a transaction that writes; it is kept for good when this returns."""

    @abstractmethod
    async def _look(self, script: Callable[[], Script[T]]) -> T:
        """Runs a transaction that only reads."""

    # leases

    async def claim(self, session_id: str, *, owner: str, holder: str, ticket: int = 0) -> Lease | Busy:
        """See `SessionStore.claim`."""
        return await self._change(lambda: self._claim(session_id, owner, holder, ticket))

    def _claim(self, session_id: str, owner: str, holder: str, ticket: int) -> Script[Lease | Busy]:
        now = self._now
        select = (
            f"SELECT no, owner, epoch, holder, lease_until <= {now} FROM session WHERE id = ?{self._lock}"  # noqa: S608
        )
        rows = yield select, (session_id,)
        if not rows:
            yield (
                f"INSERT INTO session (id, owner, created, updated) VALUES (?, ?, {now}, {now}) ON CONFLICT (id) DO NOTHING",  # noqa: S608
                (session_id, owner),
            )
            rows = yield select, (session_id,)
        no, has, epoch, holds, is_over = rows[0]
        if has != owner:
            raise SessionError(refusal(session_id, owner))
        row = yield (
            f"SELECT ticket, holder FROM waiter WHERE session = ? AND until > {now} ORDER BY ticket",  # noqa: S608
            (no,),
        )
        older = [who for place, who in row if (not ticket or place < ticket) and not is_dead(who)]
        is_free = not holds or holds == holder or bool(is_over) or is_dead(holds)
        if not is_free or (older and holds != holder):
            return (yield from self._queued(no, holder, ticket, holds or older[0]))
        epoch += holds != holder
        yield (
            f"UPDATE session SET epoch = ?, holder = ?, lease_until = {now} + ? WHERE no = ?",  # noqa: S608
            (epoch, holder, self.lease_seconds, no),
        )
        if ticket:
            yield "DELETE FROM waiter WHERE ticket = ?", (ticket,)
        last = yield "SELECT seq FROM entry WHERE session = ? ORDER BY seq DESC LIMIT 1", (no,)
        return Lease(
            session_id=session_id,
            owner=owner,
            holder=holder,
            epoch=epoch,
            next_seq=last[0][0] + 1 if last else 1,
        )

    def _queued(self, no: int, holder: str, ticket: int, holds: str) -> Script[Busy]:
        """A place in the row, kept up by asking again; places that are not go."""
        now = self._now
        rows = []
        if ticket:
            rows = yield (
                f"UPDATE waiter SET until = {now} + ? WHERE ticket = ? RETURNING ticket",  # noqa: S608
                (_TICKET_SECONDS, ticket),
            )
        if not rows:
            yield f"DELETE FROM waiter WHERE session = ? AND until <= {now}", (no,)  # noqa: S608
            rows = yield (
                f"INSERT INTO waiter (session, holder, until) VALUES (?, ?, {now} + ?) RETURNING ticket",  # noqa: S608
                (no, holder, _TICKET_SECONDS),
            )
        return Busy(holder=holds, ticket=rows[0][0])

    async def leave(self, session_id: str, *, ticket: int) -> None:
        """See `SessionStore.leave`."""
        statement = f"DELETE FROM waiter WHERE session = {_NUMBER} AND ticket = ?"  # noqa: S608
        await self._change(lambda: _one(statement, (session_id, ticket)))

    async def renew(self, lease: Lease) -> bool:
        """See `SessionStore.renew`."""
        rows = await self._change(
            lambda: _one(
                f"UPDATE session SET lease_until = {self._now} + ? WHERE id = ? AND epoch = ? AND holder = ? RETURNING 1",  # noqa: S608
                (self.lease_seconds, lease.session_id, lease.epoch, lease.holder),
            )
        )
        return bool(rows)

    async def release(self, lease: Lease, *, title: str = "", messages: int | None = None) -> None:
        """See `SessionStore.release`."""
        await self._change(
            lambda: _one(
                f"UPDATE session SET holder = '', updated = {self._now}, title = COALESCE(NULLIF(?, ''), title), "  # noqa: S608
                "messages = COALESCE(?, messages) WHERE id = ? AND epoch = ? AND holder = ?",
                (title, messages, lease.session_id, lease.epoch, lease.holder),
            )
        )

    # entries

    async def append(self, lease: Lease, entries: Sequence[Entry], rows: Sequence[AuditRow] = ()) -> None:
        """See `SessionStore.append`."""
        await self._change(lambda: self._append(lease, entries, rows))

    @abstractmethod
    def _append(self, lease: Lease, entries: Sequence[Entry], rows: Sequence[AuditRow]) -> Script[None]:
        """Adds entries under the fence."""

    def _check(self, lease: Lease) -> Script[None]:
        """Tells a lease that is out of date from entries that are there already, as when an answer was lost on its way."""
        valid = yield (
            "SELECT 1 FROM session WHERE id = ? AND epoch = ? AND holder = ?",
            (lease.session_id, lease.epoch, lease.holder),
        )
        if not valid:
            there = yield "SELECT 1 FROM session WHERE id = ?", (lease.session_id,)
            raise SessionError((taken_over if there else gone)(lease.session_id))

    async def read(self, session_id: str, *, before: int | None = None, limit: int = 256) -> list[Entry]:
        """See `SessionStore.read`."""
        rows = await self._look(
            lambda: _one(
                f"SELECT seq, kind, body, call_id, at FROM entry WHERE session = {_NUMBER} AND seq < ? ORDER BY seq DESC LIMIT ?",  # noqa: S608
                (session_id, 2**62 if before is None else before, limit),
            )
        )
        return [
            Entry(seq=seq, kind=kind, body=body, call_id=call_id, at=at)
            for seq, kind, body, call_id, at in reversed(rows)
        ]

    async def known_calls(self, session_id: str, ids: Sequence[str]) -> frozenset[str]:
        """See `SessionStore.known_calls`."""

        def script() -> Script[frozenset[str]]:
            found: set[str] = set()
            for call_id in ids:
                rows = yield (
                    f"SELECT 1 FROM entry WHERE session = {_NUMBER} AND call_id = ? AND call_id <> '' LIMIT 1",  # noqa: S608
                    (session_id, call_id),
                )
                if rows:
                    found.add(call_id)
            return frozenset(found)

        return await self._look(script)

    # the list

    def _summaries(self, condition: str, values: Sequence[Any], limit: int) -> Script[list[Summary]]:
        rows = yield (
            f"SELECT {_SUMMARY}, lease_until > {self._now} FROM session WHERE {condition} ORDER BY updated DESC, id LIMIT ?",  # noqa: S608
            (*values, limit),
        )
        return [
            Summary(
                id=name,
                owner=owner,
                title=title,
                messages=messages,
                created=created,
                updated=updated,
                in_use=bool(holder) and bool(is_leased) and not is_dead(holder),
            )
            for name, owner, title, messages, created, updated, holder, is_leased in rows
        ]

    async def find(self, session_id: str) -> Summary | None:
        """See `SessionStore.find`."""
        found = await self._look(lambda: self._summaries("id = ?", (session_id,), 1))
        return found[0] if found else None

    async def list(  # the word for it; below it is no type any more
        self, *, owner: str | None = None, before: Summary | None = None, limit: int = 50
    ) -> Sequence[Summary]:
        """See `SessionStore.list`."""
        conditions, values = ["1 = 1"], [*_NONE]
        if owner is not None:
            conditions.append("owner = ?")
            values.append(owner)
        if before is not None:
            conditions.append("(updated < ? OR (updated = ? AND id > ?))")
            values.extend((before.updated, before.updated, before.id))
        condition = " AND ".join(conditions)
        return await self._look(lambda: self._summaries(condition, values, limit))

    async def search(
        self, text: str, *, owner: str | None = None, session_id: str | None = None, limit: int = 20
    ) -> Sequence[Hit]:
        """See `SessionStore.search`."""
        looking = Looking(text)
        if not looking.runs:
            return ()
        conditions, values = [], [*_NONE]
        if owner is not None:
            conditions.append(" AND s.owner = ?")
            values.append(owner)
        if session_id is not None:
            conditions.append(" AND s.id = ?")
            values.append(session_id)
        rows = await self._found(looking, "".join(conditions), values, limit)
        hits = []
        for name, has, seq, kind, body, at in rows:
            role, said = words_of(Entry(seq=seq, kind=kind, body=body))
            hits.append(
                Hit(session_id=name, owner=has, seq=seq, role=role, text=looking.excerpt(said), at=at)
            )
        return hits

    @abstractmethod
    async def _found(self, looking: Looking, conditions: str, values: Sequence[Any], limit: int) -> Rows:
        """Rows of session, owner, seq, kind, body and time in which it occurs, the newest first."""

    async def remove(self, lease: Lease) -> None:
        """See `SessionStore.remove`."""
        await self._change(lambda: self._remove(lease))

    def _remove(self, lease: Lease) -> Script[None]:
        rows = yield (
            f"SELECT no FROM session WHERE id = ? AND epoch = ? AND holder = ?{self._lock}",  # noqa: S608
            (lease.session_id, lease.epoch, lease.holder),
        )
        if not rows:
            raise SessionError(taken_over(lease.session_id))
        yield from self._unindex(rows[0][0])
        for table in ("entry", "waiter"):
            yield f"DELETE FROM {table} WHERE session = ?", (rows[0][0],)  # noqa: S608
        yield "DELETE FROM session WHERE no = ?", (rows[0][0],)

    @abstractmethod
    def _unindex(self, no: int) -> Script[None]:
        """Takes a session's words out of the index."""

    # the audit

    async def audited(self, query: AuditQuery) -> Sequence[AuditRow]:
        """See `SessionStore.audited`."""
        wanted: list[tuple[str, Any]] = [
            ("who = ?", query.user),
            ("tool = ?", query.tool),
            ("session_id = ?", query.session_id),
            ("trace_id = ?", query.trace_id),
            ("at >= ?", query.since),
            ("at < ?", query.until),
        ]
        if query.outcome == "error":
            wanted.append(("outcome <> ?", "ok"))
        else:
            wanted.append(("outcome = ?", query.outcome))
        used = [(condition, value) for condition, value in wanted if value is not None]
        condition = " AND ".join(("1 = 1", *(condition for condition, _ in used)))
        limit = 2**62 if query.limit is None else query.limit
        rows = await self._look(
            lambda: _one(
                f"SELECT {_AUDIT} FROM audit WHERE {condition} ORDER BY id DESC LIMIT ?",  # noqa: S608
                (*(value for _, value in used), limit),
            )
        )
        return [
            AuditRow(at=at, user=who, session_id=name, trace_id=trace, tool=tool, outcome=outcome, body=body)
            for at, who, name, trace, tool, outcome, body in reversed(rows)
        ]

    async def forget(self, before: float) -> int:
        """See `SessionStore.forget`."""
        rows = await self._change(lambda: _one("DELETE FROM audit WHERE at < ? RETURNING 1", (before,)))
        return len(rows)

    def _audit(self, rows: Sequence[AuditRow]) -> Script[None]:
        for row in rows:
            yield (
                f"INSERT INTO audit ({_AUDIT}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                (row.at, row.user, row.session_id, row.trace_id, row.tool, row.outcome, row.body),
            )


def _one(statement: str, values: Sequence[Any]) -> Script[Rows]:
    return (yield statement, values)
