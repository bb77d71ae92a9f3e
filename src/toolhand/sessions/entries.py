"""What a stored session is made of: numbered entries that are only ever added, and the lease under which they are.

message   something was said
started   a call is about to reach its tool
ended     a call has a result
waiting   calls wait for a person
decided   a person has decided about calls that waited
undone    everything from an earlier entry on counts no longer
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from toolhand.core.approvals import PendingCall
from toolhand.core.messages import ToolResult

Kind: TypeAlias = Literal["message", "started", "ended", "waiting", "decided", "undone"]
State: TypeAlias = Literal["", "finished", "waiting", "unfinished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a session's log.

    Args:
        seq: its number in the session, from 1, without gaps.
        kind: what it is.
        body: what it says, as JSON text.
        call_id: the call that it is about, or "".
        at: when it was made, in seconds since 1970.
    """

    seq: int
    kind: str
    body: str
    call_id: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to add to a session, until another has it.

    Args:
        session_id: the session.
        owner: whose session it is.
        holder: names the run that holds it; see `toolhand.sessions.holder`.
        epoch: how often the session has been leased. Each entry is added under this number and refused when it is out of date:
            a run that was thought dead cannot write behind the back of the one that went on.
        next_seq: the number of the next entry.
    """

    session_id: str
    owner: str
    holder: str
    epoch: int
    next_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """A session that another run has.

    Args:
        holder: that run.
        ticket: the place in the row of those who wait.
    """

    holder: str
    ticket: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A session as a list shows it.

    Args:
        id: its name.
        owner: whose it is; "" where nobody was named.
        title: how it began.
        messages: how many messages it has.
        created: when it began, in seconds since 1970.
        updated: when it was last used.
        in_use: whether a run has it now.
        state: how its last run stands: "waiting" for a person's approval, "unfinished" where its process died, else "finished";
            "" until `Archive.standing` has looked.
        open_calls: the ids of calls without a result.
    """

    id: str
    owner: str
    title: str = ""
    messages: int = 0
    created: float = 0.0
    updated: float = 0.0
    in_use: bool = False
    state: State = ""
    open_calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message that a search found.

    Args:
        session_id: the session.
        owner: whose it is.
        seq: the entry's number.
        role: who said it.
        text: the words around what was looked for.
        at: when it was said, in seconds since 1970.
    """

    session_id: str
    owner: str
    seq: int
    role: str
    text: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One call as the audit keeps it.

    Args:
        at: when it ended, in seconds since 1970.
        user: who asked.
        session_id: the conversation.
        trace_id: the run.
        tool: the tool's name.
        outcome: "ok" or an error's code.
        body: the whole record as JSON text.
    """

    at: float
    user: str
    session_id: str
    trace_id: str
    tool: str
    outcome: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which rows of the audit are wanted; what is None fits everything.

    Args:
        user: who asked.
        tool: the tool's name.
        session_id: the conversation.
        trace_id: the run.
        outcome: "ok", an error's code, or "error" for every error.
        since: from this moment on, in seconds since 1970.
        until: before this moment.
        limit: how many at most, the newest; None for all.
    """

    user: str | None = None
    tool: str | None = None
    session_id: str | None = None
    trace_id: str | None = None
    outcome: str | None = None
    since: float | None = None
    until: float | None = None
    limit: int | None = None


@dataclass(slots=True, kw_only=True)
class CallState:
    """What the ledger knows of a call of the last reply.

    Args:
        started: whether it was about to reach a tool.
        started_seq: the number of the entry that says so.
        is_repeatable: whether every tool that it reached may run again without harm.
        result: its result, once there is one.
    """

    started: bool = False
    started_seq: int = 0
    is_repeatable: bool = True
    result: ToolResult | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether it may or may not have had its effect, and running it again might do it twice."""
        return self.started and self.result is None and not self.is_repeatable


@dataclass(slots=True)
class Ledger:
    """The calls of the last reply, which of them wait for a person, and what was decided about them."""

    calls: dict[str, CallState] = field(default_factory=dict)
    waiting: tuple[PendingCall, ...] = ()
    decisions: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, call_id: str) -> CallState:
        """A call's state; a fresh one where nothing is known."""
        return self.calls.setdefault(call_id, CallState())

    def clear(self) -> None:
        """A new reply has come: nothing is known of its calls."""
        self.calls.clear()
        self.waiting = ()
        self.decisions.clear()
