"""What people and the reaper do to submitted runs: retry, cancel, decide; give the runs of dead workers to others; clear away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolhand.core.approvals import Decision, check_decisions, decision_to_json
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.durable.functions import CHANNEL
from toolhand.durable.ledger import CANCELS, HEADS, NOW, Puts, RunLedger, decisions_json
from toolhand.durable.rows import COLUMNS, RunRow, row_of
from toolhand.sessions.holder import is_dead
from toolhand.sessions.migrations import Script

_REAPERS_LOCK: Final = 7_411_309_172_048
_AT_ONCE: Final = 200
_STALE_SECONDS: Final = 15.0
"""After so long a run whose job may have been lost has one put in again, unless one waits."""

_LAPSED: Final = f"""
SELECT {COLUMNS} FROM run LEFT JOIN session s ON s.id = run.session
WHERE run.state = 'running' AND (s.no IS NULL OR s.epoch <> run.epoch OR s.holder <> run.worker OR s.lease_until <= {NOW}
    OR run.worker = ANY(?)) ORDER BY run.no LIMIT {_AT_ONCE} FOR UPDATE OF run SKIP LOCKED
"""  # noqa: S608

_STALE: Final = f"""
SELECT {COLUMNS} FROM run WHERE state = 'queued' AND enqueued <= {NOW} - {_STALE_SECONDS} AND due <= {NOW}
ORDER BY enqueued LIMIT {_AT_ONCE} FOR UPDATE SKIP LOCKED
"""  # noqa: S608

_RETRY: Final = f"""
UPDATE run SET attempts = 0, ended = 0, error = '', cancels = false, due = 0, enqueued = {NOW},
    first_seq = CASE WHEN ? OR last_seq < (
        SELECT COALESCE(max(e.seq), 0) FROM entry e JOIN session s ON s.no = e.session WHERE s.id = run.session
    ) THEN 0 ELSE first_seq END,
    state = CASE WHEN EXISTS (SELECT 1 FROM run r WHERE r.session = run.session AND r.state IN ({HEADS})) THEN 'behind'
        ELSE 'queued' END
WHERE id = ? RETURNING state
"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaped:
    """What a look for lost runs has found.

    Args:
        lost: runs of workers that are gone, and now wait for another.
        given_up: runs that every worker died of.
        put_again: runs whose job may have been lost.
    """

    lost: int = 0
    given_up: int = 0
    put_again: int = 0


async def reap(ledger: RunLedger, *, most_attempts: int) -> Reaped:
    """Gives the runs of workers that are gone to others. One worker does it at a time; the rest find nothing to do.

    Args:
        ledger: the runs.
        most_attempts: after so many workers a run is given up: it is "dead" until somebody has it tried again.
    """
    workers = await ledger.look("SELECT DISTINCT worker FROM run WHERE state = 'running'", ())
    gone = [row[0] for row in workers if is_dead(row[0])]

    def script(puts: Puts) -> Script[tuple[int, list[str], int]]:
        rows = yield "SELECT pg_try_advisory_xact_lock(?)", (_REAPERS_LOCK,)
        if not rows[0][0]:
            return 0, [], 0
        rows = yield _LAPSED, (gone,)
        lapsed = [row_of(row) for row in rows]
        lost = [row for row in lapsed if row.attempts < most_attempts]
        yield from _queued(lost, puts)
        rows = yield _STALE, ()
        stale = [row_of(row) for row in rows]
        yield from _queued(stale, puts)
        return len(lost), [row.id for row in lapsed if row.attempts >= most_attempts], len(stale)

    lost, hopeless, put_again = await ledger.change(script)
    for run_id in hopeless:
        await _give_up(ledger, run_id, gone)
    return Reaped(lost=lost, given_up=len(hopeless), put_again=put_again)


def _queued(rows: list[RunRow], puts: Puts) -> Script[None]:
    if rows:
        yield (
            f"UPDATE run SET state = 'queued', enqueued = {NOW} WHERE id = ANY(?)",  # noqa: S608
            ([row.id for row in rows],),
        )
    for row in rows:
        yield from puts.again(row)


async def _give_up(ledger: RunLedger, run_id: str, gone: list[str]) -> None:
    def script(puts: Puts) -> Script[None]:
        found = yield from ledger.locked(run_id)
        if found is None:  # its session was removed
            yield _END, ("failed", say("its session was removed", "它的会话已被删除"), run_id)
            return
        (_, _, epoch, holder, is_over), row = found
        is_held = holder == row.worker and epoch == row.epoch and not is_over and holder not in gone
        if row.state == "running" and not is_held:
            why = say(
                f"{row.attempts} workers in a row ended in the midst of it, the last was {row.worker.replace('|', ' ')}",
                f"连续 {row.attempts} 个 worker 在运行它时中断，最后一个是 {row.worker.replace('|', ' ')}",
            )
            yield _END, ("dead", why, run_id)
            yield from puts.next_of(row.session_id)

    await ledger.change(script)


_END: Final = f"""
UPDATE run SET state = ?, error = ?, ended = {NOW}, cancels = false, last_seq = COALESCE((SELECT max(e.seq) FROM entry e
    JOIN session s ON s.no = e.session WHERE s.id = run.session), 0)
WHERE id = ? RETURNING pg_notify('{CHANNEL}', id)
"""  # noqa: S608


async def retry(ledger: RunLedger, run_id: str) -> None:
    """Has a run tried again that failed, was cancelled or was given up.

    It goes on where it was; where its session has gone on since, it begins anew.

    Raises:
        SettingsError: when there is none of that name, or it has not ended so.
    """

    def script(puts: Puts) -> Script[bool]:
        found = yield from ledger.locked(run_id)
        if found is None or found[1].state not in ("failed", "cancelled", "dead"):
            return False
        row = found[1]
        rows = yield _RETRY, (bool(row.outcome.get("overtaken")), run_id)
        if rows[0][0] == "queued":
            yield from puts.again(row)
        return True

    if await ledger.change(script):
        return
    left = await _found(ledger, run_id)
    if left.state in ("failed", "cancelled", "dead"):
        raise SettingsError(
            say(
                f"the run '{run_id}' cannot be retried: its session '{left.session_id}' was removed; submit it anew",
                f"运行“{run_id}”无法重试：它的会话“{left.session_id}”已被删除；请重新提交",
            )
        )
    raise SettingsError(
        say(
            f"the run '{run_id}' is {left.state}: only one that failed, was cancelled or is dead can be retried",
            f"运行“{run_id}”的状态是 {left.state}：只有 failed、cancelled 或 dead 的运行可以重试",
        )
    )


async def cancel(ledger: RunLedger, run_id: str) -> bool:
    """Ends a run: at once where nobody works at it, else its worker is told and ends it with a whole history.

    Returns:
        False where it had ended already.

    Raises:
        SettingsError: when there is none of that name.
    """

    def script(puts: Puts) -> Script[bool]:
        found = yield from ledger.locked(run_id)
        if found is None or found[1].has_ended:
            return False
        row = found[1]
        if row.state == "running":
            yield (
                f"UPDATE run SET cancels = true WHERE id = ? RETURNING pg_notify('{CANCELS}', id)",  # noqa: S608
                (run_id,),
            )
            return True
        yield _END, ("cancelled", "", run_id)
        if row.state != "behind":
            yield from puts.next_of(row.session_id)
        return True

    done = await ledger.change(script)
    await _found(ledger, run_id)
    return done


async def decide(ledger: RunLedger, run_id: str, decisions: Mapping[str, Decision]) -> None:
    """Tells a parked run what a person decided; any worker goes on with it.

    Args:
        ledger: the runs.
        run_id: the run.
        decisions: by approval id or call id.

    Raises:
        SettingsError: when it does not wait for a person, or a decision is none or is about no call that waits.
    """
    check_decisions(decisions)
    told = {name: decision_to_json(decision) for name, decision in decisions.items()}

    def script(puts: Puts) -> Script[bool]:
        found = yield from ledger.locked(run_id)
        if found is None or not _is_about(found[1], decisions):
            # the same once more, as when the answer was lost on its way, is no mistake
            return (
                found is not None and found[1].state in ("queued", "running") and found[1].decisions == told
            )
        yield (
            f"UPDATE run SET state = 'queued', enqueued = {NOW}, due = 0, decisions = ? WHERE id = ?",  # noqa: S608
            (decisions_json(told), run_id),
        )
        yield from puts.again(found[1])
        return True

    if not await ledger.change(script):  # somebody else was quicker
        raise _nothing_waits(await _found(ledger, run_id))


def _is_about(row: RunRow, decisions: Mapping[str, Decision]) -> bool:
    """Whether a run waits for just these decisions."""
    known = {name for call in row.pending for name in (call.approval_id, call.call_id)}
    return bool(decisions) and decisions.keys() <= known


def _nothing_waits(row: RunRow) -> SettingsError:
    what = ", ".join(f"'{call.approval_id}' ({call.name})" for call in row.pending)
    if not what:
        return SettingsError(
            say(
                f"the run '{row.id}' is {row.state} and waits for no decision: somebody may have decided already; "
                f"`toolhand runs show {row.id}` tells how it stands",
                f"运行“{row.id}”的状态是 {row.state}，没有等待决定：可能已有人做了决定；用 `toolhand runs show {row.id}` 查看",
            )
        )
    return SettingsError(
        say(
            f"the run '{row.id}' is {row.state}, and what waits for a decision is {what}: decide about one of these",
            f"运行“{row.id}”的状态是 {row.state}，等待决定的是 {what}：请对其中之一做决定",
        )
    )


async def _found(ledger: RunLedger, run_id: str) -> RunRow:
    row = await ledger.find(run_id)
    if row is None:
        raise no_such(ledger, run_id)
    return row


def no_such(ledger: RunLedger, run_id: str) -> SettingsError:
    """What is said to whoever names a run that there is not."""
    return SettingsError(
        say(
            f"there is no run '{run_id}' in the store {ledger.store.name}",
            f"存储 {ledger.store.name} 里没有运行“{run_id}”",
        )
    )


def as_json(row: RunRow) -> dict[str, Any]:
    """A run as it may be shown: what was asked, without the facts, which may be nobody's business."""
    asked = {key: value for key, value in row.asked.items() if key != "facts"}
    names = (name for name in row.__dataclass_fields__ if name not in ("asked", "decisions"))
    return {**{name: getattr(row, name) for name in names}, "asked": asked}
