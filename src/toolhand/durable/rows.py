"""What the ledger of submitted runs says of one: how it was asked for, how it stands, what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast

from toolhand.core.approvals import PendingCall
from toolhand.sessions.entries import Lease

RunState: TypeAlias = Literal[
    "queued", "behind", "running", "waiting", "finished", "failed", "cancelled", "dead"
]
"""queued: next of its session. behind: others of its session come first. waiting: for a person. dead: given up, as every
worker that took it ended in the midst of it."""

HEAD: Final = ("queued", "running", "waiting")
"""The states of which each session has one run at most: the one whose turn it is."""

ENDED: Final = ("finished", "failed", "cancelled", "dead")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run as it is asked for.

    Args:
        id: its name.
        session_id: the conversation.
        user: who asks.
        agent: the name of the agent that is to answer.
        queue: where it waits.
        priority: the higher goes first, among sessions.
        due: not before this moment, in seconds since 1970; 0 for now.
        streams: whether the answer's words are told as they come.
        asked: the text and the options, as JSON values.
    """

    id: str
    session_id: str
    user: str = ""
    agent: str = ""
    queue: str = "default"
    priority: int = 0
    due: float = 0.0
    streams: bool = False
    asked: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A submitted run as it stands.

    Args:
        id: its name.
        session_id: the conversation.
        user: who asked.
        agent: the name of the agent that answers.
        queue: where it waits.
        priority: the higher goes first, among sessions.
        state: how it stands.
        asked: the text and the options; `facts` may hold what is nobody's business.
        created: when it was submitted, in seconds since 1970.
        due: not before this moment; 0 for at once.
        started: when it was first taken; 0 before.
        ended: when it came to its end; 0 before.
        attempts: how many workers have taken it.
        epoch: the number of the lease under which it was taken last.
        worker: who has it, or had it last.
        first_seq: the number of its first entry in the session; 0 before it began.
        last_seq: the number of its last one; 0 before it ended or was parked.
        streams: whether the answer's words are told as they come.
        outcome: what came of it: `stopped`, `said`, `output`, `usage`, `pending`, `trace_id`.
        error: why it failed, in a sentence.
    """

    id: str
    session_id: str
    user: str
    agent: str
    queue: str
    priority: int
    state: RunState
    asked: Mapping[str, Any]
    created: float
    due: float
    started: float
    ended: float
    attempts: int
    epoch: int
    worker: str
    first_seq: int
    last_seq: int
    streams: bool
    outcome: Mapping[str, Any]
    decisions: Mapping[str, Any]
    error: str

    @property
    def text(self) -> str:
        """What the user said."""
        return str(self.asked.get("text", ""))

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come of it, unless somebody has it tried again."""
        return self.state in ENDED

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """Its calls that wait for a person; none where it waits for nobody."""
        told = self.outcome.get("pending", ()) if self.state == "waiting" else ()
        return tuple(PendingCall.from_json(one) for one in told)


COLUMNS: Final = (
    "run.id, run.session, run.owner, run.agent, run.queue, run.priority, run.state, run.asked, run.created, run.due, "
    "run.started, run.ended, run.attempts, run.epoch, run.worker, run.first_seq, run.last_seq, run.streams, run.outcome, "
    "run.decisions, run.error"
)


def row_of(values: Sequence[Any]) -> RunRow:
    """A run from the columns `COLUMNS`."""
    return RunRow(
        id=values[0],
        session_id=values[1],
        user=values[2],
        agent=values[3],
        queue=values[4],
        priority=values[5],
        state=cast("RunState", values[6]),
        asked=json.loads(values[7] or "{}"),
        created=values[8],
        due=values[9],
        started=values[10],
        ended=values[11],
        attempts=values[12],
        epoch=values[13],
        worker=values[14],
        first_seq=values[15],
        last_seq=values[16],
        streams=values[17],
        outcome=json.loads(values[18] or "{}"),
        decisions=json.loads(values[19] or "{}"),
        error=values[20],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A run that a worker has taken, with its session's lease.

    Args:
        row: the run, as it was before.
        lease: the right to add to its session, and to say how the run ended.
        attempt: the how manieth worker this is.
        first_seq: the number of the run's first entry.
    """

    row: RunRow
    lease: Lease
    attempt: int
    first_seq: int

    @property
    def is_new(self) -> bool:
        """Whether nothing of it stands in the session yet."""
        return self.lease.next_seq == self.first_seq
