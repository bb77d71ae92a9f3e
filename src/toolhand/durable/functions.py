"""What a worker asks for with every run, as functions in the database: one round trip and one commit each.

They are no single statements because each of their steps has to see what was kept before it: while one waits for the session's
row a run may be submitted or an entry added, and a statement looks at all as it was before the wait.
"""

from __future__ import annotations

from typing import Final

from toolhand.durable.rows import COLUMNS

CHANNEL: Final = "toolhand_run"
"""Where it is told that something has happened to a run: its id, or more words before it."""

TAKE: Final = f"""
SELECT told, holds, taken_epoch, next_seq, began_seq, {COLUMNS.replace("run.", "(asked).")} FROM run_take(?, ?, ?, ?)
"""  # noqa: S608 - our own words
"""Takes a run. Values: its id, the worker's hold on it, the lease in seconds, a hold whose process is known to be gone or ""."""

SETTLE: Final = """
SELECT told, next_id, next_queue, next_priority, next_due FROM run_settle(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
"""Says how a run ended or why it waits, and calls the next of its session.

Values: its id, its session, the epoch and hold under which it was taken; the session's title and how many messages it has; the
state, the outcome, the error, the delay in seconds, the attempts; and whether a next one's job can be put in with it: where it
cannot and there is a next one, "crowded" is told and nothing is done."""

TAKING: Final = """
    CREATE OR REPLACE FUNCTION run_take(of text, hold text, seconds double precision, gone text, OUT told text, OUT holds text,
        OUT taken_epoch bigint, OUT next_seq bigint, OUT began_seq bigint, OUT asked run) LANGUAGE plpgsql AS $$
    DECLARE
        held session;
        moment double precision;
    BEGIN
        SELECT s.* INTO held FROM session s WHERE s.id = (SELECT r.session FROM run r WHERE r.id = of) FOR UPDATE;
        told := 'homeless';
        IF held.no IS NULL THEN RETURN; END IF;
        SELECT r.* INTO asked FROM run r WHERE r.id = of FOR UPDATE;
        moment := extract(epoch FROM clock_timestamp());
        told := 'no';
        IF asked.id IS NULL OR NOT (asked.state = 'queued' OR (asked.state = 'running' AND asked.worker = hold)) THEN RETURN;
        END IF;
        told := 'busy';
        holds := held.holder;
        IF holds NOT IN ('', hold, gone) AND held.lease_until > moment THEN RETURN; END IF;
        told := 'taken';
        taken_epoch := held.epoch + (holds <> hold)::int;
        next_seq := COALESCE((SELECT e.seq FROM entry e WHERE e.session = held.no ORDER BY e.seq DESC LIMIT 1), 0) + 1;
        began_seq := CASE WHEN asked.first_seq > 0 THEN asked.first_seq ELSE next_seq END;
        UPDATE session s SET epoch = taken_epoch, holder = hold, lease_until = moment + seconds WHERE s.no = held.no;
        UPDATE run r SET state = 'running', epoch = taken_epoch, worker = hold, attempts = r.attempts + 1, error = '', ended = 0,
            started = CASE WHEN r.started > 0 THEN r.started ELSE moment END, first_seq = began_seq WHERE r.no = asked.no;
    END $$"""

SETTLING: Final = f"""
    CREATE OR REPLACE FUNCTION run_settle(of text, home text, under bigint, hold text, begun text, count bigint, becomes text,
        outcome_is text, error_is text, delay double precision, tries integer, has_room boolean, OUT told text,
        OUT next_id text, OUT next_queue text, OUT next_priority integer, OUT next_due double precision)
        LANGUAGE plpgsql AS $$
    DECLARE
        held bigint;
        behind bigint;
        has_ended boolean;
        moment double precision;
    BEGIN
        SELECT s.no INTO held FROM session s WHERE s.id = home AND s.epoch = under AND s.holder = hold FOR UPDATE;
        told := 'late';
        IF held IS NULL THEN RETURN; END IF;
        IF becomes IN ('queued', 'waiting') AND (SELECT r.cancels FROM run r WHERE r.id = of) THEN becomes := 'cancelled'; END IF;
        has_ended := becomes NOT IN ('queued', 'waiting');
        IF has_ended THEN
            SELECT r.no INTO behind FROM run r WHERE r.session = home AND r.state = 'behind' ORDER BY r.no LIMIT 1;
            told := 'crowded';
            IF behind IS NOT NULL AND NOT has_room THEN RETURN; END IF;
        END IF;
        told := 'settled';
        moment := extract(epoch FROM clock_timestamp());
        UPDATE session s SET holder = '', updated = moment, title = COALESCE(NULLIF(begun, ''), s.title),
            messages = COALESCE(count, s.messages) WHERE s.no = held;
        UPDATE run r SET state = becomes, ended = CASE WHEN has_ended THEN moment ELSE 0 END, outcome = outcome_is,
            error = error_is, due = CASE WHEN delay > 0 THEN moment + delay ELSE 0 END, enqueued = moment, cancels = false,
            decisions = CASE WHEN becomes = 'queued' THEN r.decisions ELSE '' END, attempts = tries,
            last_seq = COALESCE((SELECT e.seq FROM entry e WHERE e.session = held ORDER BY e.seq DESC LIMIT 1), 0)
        WHERE r.id = of AND r.epoch = under;
        PERFORM pg_notify('{CHANNEL}', of);
        IF behind IS NOT NULL THEN
            UPDATE run r SET state = 'queued', enqueued = moment WHERE r.no = behind
                RETURNING r.id, r.queue, r.priority, r.due INTO next_id, next_queue, next_priority, next_due;
        END IF;
    END $$"""  # noqa: S608 - our own words

REMOVED: Final = "its session was removed / 它的会话已被删除"
"""Why a run ended whose session is gone. The database says it, to people of either language."""

HOMELESS: Final = (
    f"""CREATE FUNCTION run_homeless() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE run SET state = 'failed', ended = extract(epoch FROM clock_timestamp()), error = '{REMOVED}', cancels = false
            WHERE session = OLD.id AND ended = 0;
        RETURN NULL;
    END $$""",  # noqa: S608
    f"""UPDATE run SET state = 'failed', ended = extract(epoch FROM clock_timestamp()), error = '{REMOVED}'
        WHERE ended = 0 AND NOT EXISTS (SELECT 1 FROM session s WHERE s.id = run.session)""",  # noqa: S608
    "CREATE TRIGGER session_removed AFTER DELETE ON session FOR EACH ROW EXECUTE FUNCTION run_homeless()",
)
"""Ends the runs of a session that is removed, by whatever removes it: else they would wait for ever, and what is submitted under
the session's name behind them."""

STATEMENTS: Final = (TAKING, SETTLING)
"""Makes what a worker asks for. A step that changes one makes it anew."""
