"""Reads what the pages show from a session store: lists, the runs of a session, the calls that wait for a person."""

from __future__ import annotations

import datetime as dt
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from toolhand.auditing import AuditTrail
from toolhand.core.approvals import PendingCall
from toolhand.core.errors import SessionError
from toolhand.durable.inside import submitted_in
from toolhand.durable.rows import RunRow
from toolhand.observability.audit import AuditRecord
from toolhand.observability.excerpts import PLAIN
from toolhand.page.runs import MOST_CHARACTERS, CallView, RunView, begins_run, parted, run_of
from toolhand.sessions.archive import Archive
from toolhand.sessions.entries import Entry, Hit, Summary
from toolhand.sessions.reading import Living
from toolhand.sessions.searching import Looking as Search
from toolhand.sessions.searching import words_of
from toolhand.sessions.store import SessionStore
from toolhand.sessions.stored import PAGE

MOST_LISTED: Final = 30
MOST_FOUND: Final = 50
MOST_RUNS: Final = 10
MOST_LOOKED_THROUGH: Final = 200
"""In how many sessions, the last used first, waiting calls are looked for."""

_MOST_ENTRIES: Final = 5_000
"""How many entries of a session are read for one page."""

_MARGIN_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session and some of its runs.

    Args:
        summary: the session.
        runs: oldest first.
        before: the number of the entry before which older runs stand, or 0.
        submitted: its submitted run, as `submitted_in` gives it.
    """

    summary: Summary
    runs: Sequence[RunView]
    before: int = 0
    submitted: RunRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingView:
    """A call that waits for a person.

    Args:
        summary: its session.
        run: its run.
        call: the call.
        pending: what is to be decided about it.
    """

    summary: Summary
    run: RunView
    call: CallView
    pending: PendingCall


class Looking:
    """Looks into a store. A file that is not there counts as an empty store: looking makes none.

    Args:
        store: where sessions are kept.
    """

    def __init__(self, store: SessionStore) -> None:
        self.store, self.archive = store, Archive(store)

    @property
    def is_there(self) -> bool:
        """Whether there is anything to look at."""
        path = getattr(self.store, "path", None)
        return not isinstance(path, Path) or path.exists()

    async def sessions(
        self, *, user: str | None = None, before: Summary | None = None, limit: int = MOST_LISTED
    ) -> list[Summary]:
        """Sessions, the last used first, with how each stands."""
        if not self.is_there:
            return []
        found = await self.store.list(owner=user, before=before, limit=limit)
        return [_masked(await self._standing(summary)) for summary in found]

    async def search(self, text: str, *, user: str | None = None) -> list[Hit]:
        """Messages with these words in them, the newest first."""
        if not self.is_there:
            return []
        found, looking = await self.archive.search(text, user=user, limit=MOST_FOUND), Search(text)
        return [replace(hit, text=looking.excerpt(await self._words(hit))) for hit in found]

    async def _words(self, hit: Hit) -> str:
        """The whole message of a hit, masked: in an excerpt half a secret could not be told from other words."""
        entries = await self.store.read(hit.session_id, before=hit.seq + 1, limit=1)
        return PLAIN.text(words_of(entries[-1])[1], MOST_CHARACTERS) if entries else ""

    async def session(self, session_id: str, *, before: int = 0) -> SessionView:
        """A session with its last runs before an entry, by default the very last.

        Raises:
            SessionError: when there is none of that name.
        """
        summary, submitted = await self._summary(session_id)
        entries, first = await self._entries(session_id, before, MOST_RUNS)
        parts = list(parted(entries))
        records = await self._records(session_id, entries)
        runs = [run_of(part, records) for part in parts]
        if runs and not before:
            runs[-1].state = _state(summary)
        return SessionView(summary=summary, runs=runs, before=first if first > 1 else 0, submitted=submitted)

    async def run(self, session_id: str, seq: int) -> tuple[Summary, RunView, RunRow | None]:
        """One run, by the number of its first entry, with its session and the session's submitted run.

        Raises:
            SessionError: when there is no such session, or no run begins there.
        """
        summary, submitted = await self._summary(session_id)
        page = await self.store.read(session_id, before=seq + _MOST_ENTRIES, limit=_MOST_ENTRIES)
        entries = [entry for entry in _living(page) if entry.seq >= seq]
        is_start = bool(entries) and entries[0].seq == seq and (seq == 1 or begins_run(entries[0]))
        if not is_start:
            raise SessionError(f"{session_id}: {seq}")
        part = next(iter(parted(entries)))
        run = run_of(part, await self._records(session_id, part))
        if len(part) == len(entries):  # nothing came after it
            run.state = _state(summary)
        return summary, run, submitted

    async def waiting(self) -> list[WaitingView]:
        """The calls that wait for a person, those of the session used last first."""
        found: list[WaitingView] = []
        for summary in await self.sessions(limit=MOST_LOOKED_THROUGH):
            if summary.state == "waiting" and not summary.in_use:
                found += await self._waiting(summary)
        return found

    async def waiting_in(self, session_id: str) -> list[WaitingView]:
        """The calls of one session that wait.

        Raises:
            SessionError: when there is none of that name.
        """
        summary, _ = await self._summary(session_id)
        return await self._waiting(summary)

    async def _waiting(self, summary: Summary) -> list[WaitingView]:
        entries, _ = await self._entries(summary.id, 0, 1)
        found: list[WaitingView] = []
        for part in list(parted(entries))[-1:]:
            run = run_of(part, await self._records(summary.id, part))
            run.state = _state(summary)
            found += [
                WaitingView(summary=summary, run=run, call=call, pending=call.pending)
                for call in run.calls
                if call.pending is not None
            ]
        return found

    async def start_of(self, session_id: str, seq: int) -> int:
        """The number of the message with which the run of an entry begins.

        Raises:
            SessionError: when there is none.
        """
        await self._summary(session_id)
        entries, _ = await self._entries(session_id, seq + 1, 1)
        if not entries:
            raise SessionError(session_id)
        return entries[0].seq

    async def mark(self, session_id: str = "") -> str:
        """A word that changes when the session does, or, for none, when any of the list's does."""
        if not self.is_there:
            return ""
        if not session_id:
            listed = await self.store.list(limit=MOST_LISTED)
            return _digest([(one.id, one.updated, one.in_use, one.messages) for one in listed])
        summary, last = await self.store.find(session_id), await self.store.read(session_id, limit=1)
        return _digest((last[0].seq if last else 0, summary is not None and summary.in_use))

    async def _summary(self, session_id: str) -> tuple[Summary, RunRow | None]:
        if not self.is_there:
            raise SessionError(session_id)
        standing = await self.archive.standing(await self.archive.summary(session_id))
        submitted = await submitted_in(self.store, session_id)
        return _masked(_decided(standing, submitted)), submitted

    async def _standing(self, summary: Summary) -> Summary:
        standing = await self.archive.standing(summary)
        is_waiting = standing.state == "waiting"
        return _decided(standing, await submitted_in(self.store, summary.id)) if is_waiting else standing

    async def _entries(self, session_id: str, before: int, runs: int) -> tuple[list[Entry], int]:
        """The entries that count of the last runs before a number, oldest first, and the number of the first."""
        living, found, count, first = Living(), list[Entry](), 0, before
        page = await self.store.read(session_id, before=before or None, limit=PAGE)
        while page and len(found) < _MOST_ENTRIES:
            for entry in living.backwards(page):
                found.append(entry)
                first = entry.seq
                count += begins_run(entry)
                if count == runs:
                    return found[::-1], first
            page = await self.store.read(session_id, before=page[0].seq, limit=PAGE)
        return found[::-1], first if page else 0

    async def _records(self, session_id: str, entries: Sequence[Entry]) -> list[AuditRecord]:
        if not entries:
            return []
        since, until = entries[0].at - _MARGIN_SECONDS, entries[-1].at + _MARGIN_SECONDS
        return await AuditTrail(self.store).search(
            session_id=session_id, since=_moment(since), until=_moment(until)
        )


def _living(entries: Sequence[Entry]) -> list[Entry]:
    return list(Living().backwards(entries))[::-1]


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def _decided(summary: Summary, submitted: RunRow | None) -> Summary:
    """What was decided about a submitted run waits no more, though its worker has yet to write it down."""
    is_decided = (
        submitted is not None and submitted.state in ("queued", "running") and bool(submitted.decisions)
    )
    return replace(summary, in_use=True) if is_decided and summary.state == "waiting" else summary


def _masked(summary: Summary) -> Summary:
    return replace(summary, title=PLAIN.beginning(summary.title))


def _digest(value: object) -> str:
    return f"{zlib.crc32(repr(value).encode()):08x}"


def _state(summary: Summary) -> str:
    return "running" if summary.in_use else summary.state or "finished"
