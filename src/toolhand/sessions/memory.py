"""Sessions in this process: gone when it ends, and bounded, the least used first."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from toolhand.core.errors import SessionError
from toolhand.core.language import say
from toolhand.sessions.entries import AuditQuery, AuditRow, Busy, Entry, Hit, Lease, Summary
from toolhand.sessions.holder import is_dead
from toolhand.sessions.searching import Looking, words_of
from toolhand.sessions.session import refusal

_TICKET_SECONDS: Final = 2.0


@dataclass(slots=True)
class _Kept:
    owner: str
    created: float
    updated: float
    title: str = ""
    messages: int = 0
    epoch: int = 0
    holder: str = ""
    until: float = 0.0
    entries: list[Entry] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    row: dict[int, tuple[str, float]] = field(default_factory=dict)  # ticket → holder, until


class MemoryStore:
    """Keeps sessions in this process.

    Args:
        most_sessions: past so many the one that was not used for the longest time goes.
        most_rows: past so many rows of the audit the oldest go.
        lease_seconds: how long a run may be out of touch.
        wait_seconds: how long a run waits for its session.
    """

    name = "memory"

    def __init__(
        self,
        *,
        most_sessions: int = 10_000,
        most_rows: int = 100_000,
        lease_seconds: float = 15.0,
        wait_seconds: float = 120.0,
    ) -> None:
        self.lease_seconds, self.wait_seconds = lease_seconds, wait_seconds
        self._most_sessions = most_sessions
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._rows: deque[AuditRow] = deque(maxlen=most_rows)
        self._mutex = threading.Lock()
        self._tickets = 0

    async def claim(self, session_id: str, *, owner: str, holder: str, ticket: int = 0) -> Lease | Busy:
        """See `SessionStore.claim`."""
        with self._mutex:
            now = time.time()
            kept = self._kept.get(session_id)
            if kept is None:
                kept = self._kept[session_id] = _Kept(owner, now, now)
                self._drop(now)
            if kept.owner != owner:
                raise SessionError(refusal(session_id, owner))
            self._kept.move_to_end(session_id)
            kept.row = {
                t: (who, until) for t, (who, until) in kept.row.items() if until > now and not is_dead(who)
            }
            is_first = all(t >= ticket for t in kept.row) if ticket else not kept.row
            is_free = not kept.holder or kept.holder == holder or kept.until <= now or is_dead(kept.holder)
            if is_free and is_first:
                kept.epoch += kept.holder != holder
                kept.holder, kept.until, kept.updated = holder, now + self.lease_seconds, now
                kept.row.pop(ticket, None)
                return Lease(
                    session_id=session_id,
                    owner=owner,
                    holder=holder,
                    epoch=kept.epoch,
                    next_seq=len(kept.entries) + 1,
                )
            if not ticket:
                self._tickets = ticket = self._tickets + 1
            kept.row[ticket] = (holder, now + _TICKET_SECONDS)
            return Busy(holder=kept.holder or min(kept.row.items())[1][0], ticket=ticket)

    def _drop(self, now: float) -> None:
        while len(self._kept) > self._most_sessions:
            for name, kept in self._kept.items():
                if not kept.holder or kept.until <= now:
                    del self._kept[name]
                    break
            else:
                return  # all are in use

    def _held(self, lease: Lease) -> _Kept | None:
        kept = self._kept.get(lease.session_id)
        is_held = kept is not None and kept.epoch == lease.epoch and kept.holder == lease.holder
        return kept if is_held else None

    async def leave(self, session_id: str, *, ticket: int) -> None:
        """See `SessionStore.leave`."""
        with self._mutex:
            if kept := self._kept.get(session_id):
                kept.row.pop(ticket, None)

    async def renew(self, lease: Lease) -> bool:
        """See `SessionStore.renew`."""
        with self._mutex:
            if kept := self._held(lease):
                kept.until = time.time() + self.lease_seconds
            return kept is not None

    async def release(self, lease: Lease, *, title: str = "", messages: int | None = None) -> None:
        """See `SessionStore.release`."""
        with self._mutex:
            if kept := self._held(lease):
                kept.holder, kept.updated = "", time.time()
                kept.title = title or kept.title
                kept.messages = kept.messages if messages is None else messages

    async def append(self, lease: Lease, entries: Sequence[Entry], rows: Sequence[AuditRow] = ()) -> None:
        """See `SessionStore.append`."""
        with self._mutex:
            kept = self._held(lease)
            if kept is None:
                there = lease.session_id in self._kept
                raise SessionError((taken_over if there else gone)(lease.session_id))
            kept.entries.extend(entries)
            kept.calls.update(entry.call_id for entry in entries if entry.call_id)
            self._rows.extend(rows)

    async def read(self, session_id: str, *, before: int | None = None, limit: int = 256) -> list[Entry]:
        """See `SessionStore.read`."""
        with self._mutex:
            kept = self._kept.get(session_id)
            if kept is None:
                return []
            end = len(kept.entries) if before is None else min(before - 1, len(kept.entries))
            return kept.entries[max(0, end - limit) : end]

    async def known_calls(self, session_id: str, ids: Sequence[str]) -> frozenset[str]:
        """See `SessionStore.known_calls`."""
        with self._mutex:
            kept = self._kept.get(session_id)
            return frozenset() if kept is None else frozenset(ids) & kept.calls

    async def find(self, session_id: str) -> Summary | None:
        """See `SessionStore.find`."""
        with self._mutex:
            kept = self._kept.get(session_id)
            return None if kept is None else _summary(session_id, kept)

    async def list(
        self, *, owner: str | None = None, before: Summary | None = None, limit: int = 50
    ) -> Sequence[Summary]:
        """See `SessionStore.list`."""
        with self._mutex:
            found = [_summary(name, kept) for name, kept in self._kept.items() if owner in (None, kept.owner)]
        found.sort(key=lambda summary: (-summary.updated, summary.id))
        if before is not None:
            mark = (-before.updated, before.id)
            found = [summary for summary in found if (-summary.updated, summary.id) > mark]
        return found[:limit]

    async def search(
        self, text: str, *, owner: str | None = None, session_id: str | None = None, limit: int = 20
    ) -> Sequence[Hit]:
        """See `SessionStore.search`."""
        looking, found = Looking(text), []
        with self._mutex:
            for name, kept in self._kept.items():
                if owner not in (None, kept.owner) or session_id not in (None, name):
                    continue
                for entry in kept.entries:
                    role, said = words_of(entry)
                    if said and looking.is_in(said):
                        excerpt = looking.excerpt(said)
                        hit = Hit(
                            session_id=name,
                            owner=kept.owner,
                            seq=entry.seq,
                            role=role,
                            text=excerpt,
                            at=entry.at,
                        )
                        found.append(hit)
        found.sort(key=lambda hit: -hit.at)
        return found[:limit]

    async def remove(self, lease: Lease) -> None:
        """See `SessionStore.remove`."""
        with self._mutex:
            if self._held(lease) is None:
                raise SessionError(taken_over(lease.session_id))
            del self._kept[lease.session_id]

    async def audited(self, query: AuditQuery) -> Sequence[AuditRow]:
        """See `SessionStore.audited`."""
        with self._mutex:
            found = [row for row in self._rows if _fits(row, query)]
        return found if query.limit is None else found[max(0, len(found) - query.limit) :]

    async def forget(self, before: float) -> int:
        """See `SessionStore.forget`."""
        with self._mutex:
            kept = [row for row in self._rows if row.at >= before]
            count = len(self._rows) - len(kept)
            self._rows = deque(kept, maxlen=self._rows.maxlen)
            return count

    async def close(self) -> None:
        """Nothing is open."""


def _summary(name: str, kept: _Kept) -> Summary:
    return Summary(
        id=name,
        owner=kept.owner,
        title=kept.title,
        messages=kept.messages,
        created=kept.created,
        updated=kept.updated,
        in_use=bool(kept.holder) and kept.until > time.time() and not is_dead(kept.holder),
    )


def _fits(row: AuditRow, query: AuditQuery) -> bool:
    wanted = (
        (query.user, row.user),
        (query.tool, row.tool),
        (query.session_id, row.session_id),
        (query.trace_id, row.trace_id),
    )
    return (
        all(want is None or want == has for want, has in wanted)
        and (query.outcome in (None, row.outcome) or (query.outcome == "error" and row.outcome != "ok"))
        and (query.since is None or row.at >= query.since)
        and (query.until is None or row.at < query.until)
    )


def gone(session_id: str) -> str:
    """What is said to a run whose session there is no more."""
    return say(
        f"the session '{session_id}' is not in its store any more: while this run went on it was removed, "
        "or another store was put in its place",
        f"会话“{session_id}”已不在存储里：运行期间它被删除，或存储被换成了另一个",
    )


def taken_over(session_id: str) -> str:
    """What is said to a run whose session another has by now."""
    return say(
        f"the session '{session_id}' was taken over by another run, as this one was out of touch for too long: "
        "what it did until then is kept; resume the session instead of going on",
        f"会话“{session_id}”已被另一次运行接管，因为这次运行失联太久：之前做的都已保存；请用 resume 继续该会话",
    )
