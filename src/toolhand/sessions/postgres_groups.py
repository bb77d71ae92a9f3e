"""Appends to PostgreSQL that come while one is under way go out together: one statement, one round trip, one commit.

A group waits for nobody: a session whose row is locked at that moment is left out of it and written by itself, so that one
stuck transaction holds up one session and no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from toolhand.parsing.strings import mend_surrogates
from toolhand.sessions.background import begin_elsewhere
from toolhand.sessions.entries import AuditRow, Entry, Lease

Addition: TypeAlias = tuple[Lease, Sequence[Entry], Sequence[AuditRow]]
_Waiting: TypeAlias = "tuple[Addition, asyncio.AbstractEventLoop, asyncio.Future[None]]"

MOST_IN_A_GROUP: Final = 128
_GATHERING_SECONDS: Final = 0.02
"""How long the next group waits at most for what is written by itself."""

STATEMENT: Final = """
WITH asked AS (
    SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[], $4::text[], $5::bigint[])
        AS a(place, id, epoch, holder, first)
), held AS (
    SELECT a.place, s.no FROM asked a JOIN session s ON s.id = a.id AND s.epoch = a.epoch AND s.holder = a.holder
        AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.session = s.no AND e.seq = a.first)
    FOR SHARE OF s SKIP LOCKED
), noted AS (
    INSERT INTO audit (at, who, session_id, trace_id, tool, outcome, body)
    SELECT x.at, x.who, x.session_id, x.trace_id, x.tool, x.outcome, x.body FROM held JOIN unnest(
        $12::int[], $13::float8[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[])
        WITH ORDINALITY AS x(place, at, who, session_id, trace_id, tool, outcome, body, nth) USING (place) ORDER BY x.nth
), added AS (
    INSERT INTO entry (session, seq, kind, call_id, at, body)
    SELECT held.no, x.seq, x.kind, x.call_id, x.at, x.body FROM held JOIN unnest(
        $6::int[], $7::bigint[], $8::text[], $9::text[], $10::float8[], $11::text[])
        AS x(place, seq, kind, call_id, at, body) USING (place) ORDER BY held.no, x.seq
)
SELECT place FROM held
"""
"""The fence for many: each session's entries go in only where its lease has the number under which they come."""


def text(value: Any) -> Any:
    """PostgreSQL's texts hold no NUL and no lone surrogate; where JSON holds one it is escaped already."""
    if not isinstance(value, str):
        return value
    if "\0" in value:
        value = value.replace("\0", "")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return mend_surrogates(value)
    return value


def values_of(group: Sequence[Addition]) -> tuple[list[Any], ...]:
    """A group as the columns of `STATEMENT`."""
    leases = [lease for lease, _, _ in group]
    entries = [(place, entry) for place, (_, entries, _) in enumerate(group) for entry in entries]
    rows = [(place, row) for place, (_, _, rows) in enumerate(group) for row in rows]
    return (
        list(range(len(group))),
        [lease.session_id for lease in leases],
        [lease.epoch for lease in leases],
        [lease.holder for lease in leases],
        [entries[0].seq if entries else 0 for _, entries, _ in group],
        [place for place, _ in entries],
        [entry.seq for _, entry in entries],
        [entry.kind for _, entry in entries],
        [text(entry.call_id) for _, entry in entries],
        [entry.at for _, entry in entries],
        [text(entry.body) for _, entry in entries],
        [place for place, _ in rows],
        [row.at for _, row in rows],
        *(
            [text(getattr(row, name)) for _, row in rows]
            for name in ("user", "session_id", "trace_id", "tool", "outcome", "body")
        ),
    )


class Groups:
    """Gathers additions from all event loops of the process, or of one.

    Args:
        one: writes one addition by itself; raises where its lease is out of date.
        many: writes a group; gives the places of those that were written.
        loop: where they come from and are written; None for from anywhere, written in the background.
    """

    def __init__(
        self,
        one: Callable[[Addition], Awaitable[None]],
        many: Callable[[Sequence[Addition]], Awaitable[set[int]]],
        *,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._one, self._many, self._loop = one, many, loop
        self._writing: asyncio.Task[None] | None = None
        self._mutex = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._pid = 0  # of the process in which somebody writes; 0 while nobody does
        self._alone: set[asyncio.Task[None]] = set()

    async def add(self, addition: Addition) -> None:
        """Writes an addition with those that come at the same time; it is kept for good when this returns."""
        loop = asyncio.get_running_loop()
        kept: asyncio.Future[None] = loop.create_future()
        with self._mutex:
            if self._pid not in (0, os.getpid()):  # a forked process: whoever wrote is not here
                self._waiting, self._pid = [], 0
            self._waiting.append((addition, loop, kept))
            is_first, self._pid = not self._pid, os.getpid()
        if is_first and self._loop is None:
            begin_elsewhere(self._write_all())
        elif is_first:
            self._writing = asyncio.ensure_future(self._write_all())
        await kept

    async def _write_all(self) -> None:
        """Writes until nothing waits."""
        group: list[_Waiting] = []
        try:
            while True:
                with self._mutex:
                    group, self._waiting = self._waiting[:MOST_IN_A_GROUP], self._waiting[MOST_IN_A_GROUP:]
                    if not group:
                        self._pid = 0
                        return
                await self._write(group)
        except BaseException as error:  # whoever waits must not wait for ever, and the next one writes again
            with self._mutex:
                left, self._waiting, self._pid = [*group, *self._waiting], [], 0
            _tell(left, error)
            raise

    async def _write(self, group: Sequence[_Waiting]) -> None:
        written: set[int] = set()
        if len(group) > 1:
            try:
                written = await self._many([addition for addition, _, _ in group])
            except Exception:  # noqa: BLE001 - one of them may be at fault, such as by its size: each is told its own
                written = set()
        _tell([group[place] for place in written])
        left = [asyncio.ensure_future(self._write_alone(w)) for p, w in enumerate(group) if p not in written]
        self._alone.update(left)
        for task in left:
            task.add_done_callback(self._alone.discard)
        if left:  # what comes meanwhile is a group; but what waits for another's transaction holds up nobody
            await asyncio.wait(left, timeout=_GATHERING_SECONDS)

    async def _write_alone(self, waiting: _Waiting) -> None:
        try:
            await self._one(waiting[0])
        except BaseException as error:  # noqa: BLE001 - told to whoever asked
            _tell([waiting], error)
        else:
            _tell([waiting])


def _tell(waiting: Sequence[_Waiting], error: BaseException | None = None) -> None:
    """Tells those who wait how it ended, each in its own loop."""
    here = asyncio.get_running_loop()
    for loop in dict.fromkeys(loop for _, loop, _ in waiting):
        kept = [future for _, theirs, future in waiting if theirs is loop]
        if loop is here:
            _settle(kept, error)
            continue
        with contextlib.suppress(RuntimeError):  # a loop that was closed: nobody waits there any more
            loop.call_soon_threadsafe(_settle, kept, error)


def _settle(kept: Sequence[asyncio.Future[None]], error: BaseException | None) -> None:
    for future in kept:
        if not future.done():
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
