"""The ledger of submitted runs: who may take one, in what order, and how it ended.

The order of a session is decided here and not by a queue: a session has one run at most whose turn it is, and the one that
ends calls the next. A run is taken by taking its session's lease, so that the number under which a worker may add to the history
is also the one under which it may say how the run ended.

Every transaction locks the session first and its run then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolhand.core.errors import SessionError, StoreError
from toolhand.core.language import say
from toolhand.durable.functions import CHANNEL, SETTLE, TAKE
from toolhand.durable.queues import Job, Queue
from toolhand.durable.rows import COLUMNS, HEAD, Claim, NewRun, RunRow, RunState, row_of
from toolhand.durable.schema import is_made, made
from toolhand.sessions import codec
from toolhand.sessions.entries import Lease
from toolhand.sessions.holder import is_dead
from toolhand.sessions.migrations import Rows, Script
from toolhand.sessions.session import refusal

if TYPE_CHECKING:
    from toolhand.sessions.postgres import PostgresStore

T = TypeVar("T")

NOW: Final = "extract(epoch from clock_timestamp())::double precision"

CANCELS: Final = "toolhand_cancel"
"""Where workers are told of a run that is to end. They hear nothing else: most of what happens is none of their business."""

_DUPLICATE: Final = "23505"
"""PostgreSQL's code for a row that is there already."""

BUSY_SECONDS: Final = 0.3
"""How long a run waits before it is tried again where a run that was not submitted has its session."""

HEADS: Final = ", ".join(f"'{state}'" for state in HEAD)

_SESSION: Final = f"""
INSERT INTO session (id, owner, created, updated) VALUES (?, ?, {NOW}, {NOW}) ON CONFLICT (id) DO NOTHING
"""  # noqa: S608 - our own words

_INSERT: Final = f"""
INSERT INTO run (id, session, owner, agent, queue, priority, state, asked, created, due, enqueued, streams)
SELECT ?, ?, ?, ?, ?, ?::int, CASE WHEN EXISTS (SELECT 1 FROM run WHERE session = ? AND state IN ({HEADS})) THEN 'behind'
    ELSE 'queued' END, ?, {NOW}, ?::float8, {NOW}, ?::boolean ON CONFLICT (id) DO NOTHING RETURNING state
"""  # noqa: S608

_LOCK: Final = f"""
WITH held AS (
    SELECT no, owner, epoch, holder, lease_until <= {NOW} AS is_over FROM session
    WHERE id = (SELECT session FROM run WHERE id = ?) FOR UPDATE
)
SELECT held.no, held.owner, held.epoch, held.holder, held.is_over, {COLUMNS} FROM run, held WHERE run.id = ? FOR UPDATE OF run
"""  # noqa: S608

_HOMELESS: Final = f"""
UPDATE run SET state = 'failed', ended = {NOW}, error = ? WHERE id = ? AND ended = 0 RETURNING pg_notify('{CHANNEL}', id)
"""  # noqa: S608

_NEXT: Final = f"""
UPDATE run SET state = 'queued', enqueued = {NOW}
WHERE no = (SELECT no FROM run WHERE session = ? AND state = 'behind' ORDER BY no LIMIT 1)
RETURNING id, queue, priority, due
"""  # noqa: S608

_BEAT: Final = f"""
WITH asked AS (SELECT * FROM unnest(?::text[], ?::bigint[], ?::text[]) AS a(id, epoch, holder)),
free AS (
    SELECT s.no FROM asked a JOIN session s ON s.id = a.id AND s.epoch = a.epoch AND s.holder = a.holder
    ORDER BY s.no FOR NO KEY UPDATE OF s SKIP LOCKED
), kept AS (
    UPDATE session s SET lease_until = {NOW} + ? FROM free WHERE s.no = free.no RETURNING s.id
), told AS (
    INSERT INTO worker (id, started, beat, queues, running, concurrency) VALUES (?, {NOW}, {NOW}, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET beat = {NOW}, running = excluded.running
)
SELECT id FROM kept
"""  # noqa: S608


class Puts:
    """The jobs that a transaction puts in, to be told to the engine once it is kept."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.jobs: list[Job] = []

    def put(self, job: Job) -> Script[None]:
        """Puts a job in."""
        self.jobs.append(job)
        yield from self._queue.put(job)

    def next_of(self, session_id: str) -> Script[None]:
        """Calls the next run of a session whose turn has ended. The session is locked."""
        rows = yield _NEXT, (session_id,)
        for run_id, queue, priority, due in rows:
            yield from self.put(Job(run_id=run_id, queue=queue, priority=priority, due=due))

    def again(self, row: RunRow, delay: float = 0.0) -> Script[None]:
        """Puts a run's job in once more, for so many seconds from now."""
        yield from self.put(Job(run_id=row.id, queue=row.queue, priority=row.priority, delay=delay))


class RunLedger:
    """The runs of a store.

    Args:
        store: where they are, with the sessions.
        queue: what carries their jobs.
    """

    def __init__(self, store: PostgresStore, queue: Queue) -> None:
        self.store, self.queue = store, queue
        self._is_ready = False

    async def ready(self) -> None:
        """Makes the tables and what the queue needs, where they are not there yet."""
        if not self._is_ready:
            if not await self.store.look(is_made):
                await self.store.change(lambda: made(self.store.name))
            await self.queue.prepare()
            self._is_ready = True

    async def change(self, script: Callable[[Puts], Script[T]]) -> T:
        """Runs a transaction that may put jobs in, and tells the engine of them once it is kept."""
        await self.ready()
        puts = Puts(self.queue)

        def begun() -> Script[T]:
            puts.jobs.clear()  # it is run again where the server was away
            return script(puts)

        found = await self._tried(begun)
        if puts.jobs:
            await self.queue.sent(puts.jobs)
        return found

    async def _tried(self, begun: Callable[[], Script[T]], tries: int = 5) -> T:
        """Again where somebody put the same job in at the same moment: then it is seen."""
        while True:
            tries -= 1
            try:
                return await self.store.change(begun)
            except StoreError as error:
                if not tries or getattr(error.__cause__, "sqlstate", "") != _DUPLICATE:
                    raise

    async def submit(self, new: NewRun) -> bool:
        """Writes a run down and has it carried to a worker, both or neither. A second time changes nothing.

        Returns:
            False where there was one of that name.

        Raises:
            SessionError: when the session is another user's.
        """

        def script(puts: Puts) -> Script[bool]:
            yield _SESSION, (new.session_id, new.user)
            rows = yield "SELECT owner FROM session WHERE id = ? FOR UPDATE", (new.session_id,)
            if not rows or rows[0][0] != new.user:
                raise SessionError(refusal(new.session_id, new.user))
            asked = codec.written(new.asked)
            rows = yield (
                _INSERT,
                (
                    *(new.id, new.session_id, new.user, new.agent, new.queue, new.priority, new.session_id),
                    *(asked, new.due, new.streams),
                ),
            )
            if rows and rows[0][0] == "queued":
                yield from puts.put(Job(run_id=new.id, queue=new.queue, priority=new.priority, due=new.due))
            return bool(rows)

        return await self.change(script)

    def locked(self, run_id: str) -> Script[tuple[Sequence[Any], RunRow] | None]:
        """Locks a run's session and then the run; what the session's lease says, and the run. None where it is gone."""
        rows = yield _LOCK, (run_id, run_id)
        return (rows[0][:5], row_of(rows[0][5:])) if rows else None

    async def claim(self, run_id: str, *, holder: str, lease_seconds: float) -> Claim | None:
        """Takes a run with its session's lease, where it is the run's turn and nobody has the session.

        Args:
            run_id: the run.
            holder: names the worker's hold on it; see `toolhand.sessions.holder`.
            lease_seconds: how long the worker may be out of touch.

        Returns:
            None where it cannot be taken: it has ended, another has it, or its session is in use; then it comes again.
        """
        gone = ""
        while True:
            values = (run_id, holder, lease_seconds, gone)
            told, holds, epoch, next_seq, first_seq, *columns = (await self.look(TAKE, values))[0]
            if told != "busy" or not is_dead(holds):
                break
            gone = holds
        if told == "homeless":
            await self.look(_HOMELESS, (say("its session was removed", "它的会话已被删除"), run_id))
        if told not in ("taken", "busy"):
            return None
        row = row_of(columns)
        if told == "busy":
            await self.change(lambda puts: puts.again(row, delay=BUSY_SECONDS))
            return None
        lease = Lease(
            session_id=row.session_id, owner=row.user, holder=holder, epoch=epoch, next_seq=next_seq
        )
        return Claim(row=row, lease=lease, attempt=row.attempts + 1, first_seq=first_seq)

    async def settle(
        self,
        claim: Claim,
        state: RunState,
        *,
        outcome: Mapping[str, Any] | None = None,
        error: str = "",
        title: str = "",
        messages: int | None = None,
        delay: float = 0.0,
    ) -> bool:
        """Says how a run ended or why it waits, gives its session back and calls the next, in one transaction.

        Args:
            claim: under which it was taken.
            state: how it stands now.
            outcome: what came of it, as JSON values.
            error: why it failed, in a sentence.
            title: how the session began, where that is known.
            messages: how many messages the session has, where that is known.
            delay: where it is queued again, not before so many seconds from now.

        Returns:
            False where another has taken it over: then nothing was written.
        """
        row, lease = claim.row, claim.lease
        # What waits for a person, or was handed over, has done nothing to be given up for.
        attempts = 0 if state == "waiting" else claim.attempt - (state == "queued" and not error)
        kept = "" if outcome is None else codec.written(outcome)
        values = (
            *(row.id, row.session_id, lease.epoch, lease.holder, title, messages),
            *(state, kept, error[:2000], delay, attempts),
        )
        if state != "queued":
            told = (await self.look(SETTLE, (*values, False)))[0][0]
            if told != "crowded":
                return bool(told == "settled")

        def script(puts: Puts) -> Script[bool]:
            rows = yield SETTLE, (*values, True)
            told, run_id, queue, priority, due = rows[0]
            if run_id is not None:
                yield from puts.put(Job(run_id=run_id, queue=queue, priority=priority, due=due))
            elif told == "settled" and state == "queued":
                yield from puts.again(row, delay)
            return bool(told == "settled")

        return await self.change(script)

    async def beat(
        self,
        claims: Sequence[Claim],
        *,
        worker: str,
        lease_seconds: float,
        queues: Sequence[str],
        concurrency: int,
    ) -> set[str]:
        """Keeps up a worker's leases, in one statement; the ids of sessions whose lease was kept.

        One that is locked at that moment is left out: the caller renews it by itself.
        """
        await self.ready()
        values = (
            [claim.lease.session_id for claim in claims],
            [claim.lease.epoch for claim in claims],
            [claim.lease.holder for claim in claims],
            lease_seconds,
            *(worker, ",".join(queues), len(claims), concurrency),
        )
        rows = await self.look(_BEAT, values)
        return {row[0] for row in rows}

    async def cancels(self, run_ids: Sequence[str]) -> set[str]:
        """Which of these runs somebody wants to end."""
        if not run_ids:
            return set()
        rows = await self.look("SELECT id FROM run WHERE id = ANY(?) AND cancels", (list(run_ids),))
        return {row[0] for row in rows}

    async def gone(self, worker: str) -> None:
        """Strikes a worker off."""
        await self.look("DELETE FROM worker WHERE id = ? RETURNING 1", (worker,))

    async def find(self, run_id: str) -> RunRow | None:
        """A run, or None where there is none of that name."""
        await self.ready()
        rows = await self.look(f"SELECT {COLUMNS} FROM run WHERE id = ?", (run_id,))  # noqa: S608
        return row_of(rows[0]) if rows else None

    async def look(self, statement: str, values: Sequence[Any]) -> Rows:
        """What one statement gives."""

        def script() -> Script[Rows]:
            return (yield statement, values)

        return await self.store.look(script)


def decisions_json(decisions: Mapping[str, Any]) -> str:
    """Decisions as the ledger keeps them."""
    return json.dumps(decisions, ensure_ascii=False)
