"""The audit: for each call one record of who asked, what the model wrote, what was understood, decided and run, what came back.

Texts are masked before they are written. A record is a frozen value; where it goes is an `AuditStore` (a file of JSON lines,
a list, or your own).
"""

from __future__ import annotations

import csv
import datetime as dt
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TextIO, TypeAlias

from toolhand.core.approvals import Approve, Edit, decision_for
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode
from toolhand.core.events import (
    CallCancelled,
    CallFinished,
    Event,
    FallbackTaken,
    ModelReplied,
    RunFailed,
    RunFinished,
    RunStarted,
)
from toolhand.core.messages import Fix
from toolhand.observability.excerpts import PLAIN, Excerpts
from toolhand.observability.jsonl import JsonLines, line_of
from toolhand.observability.outcomes import LET_GO, NOT_BOUND, OK, attempts, has_run, outcome

Decision: TypeAlias = Literal[
    "allowed", "approved", "edited", "denied", "rejected", "pending", "overtaken", "held_back", "invalid"
]
"""What became of the wish: allowed without asking; approved or edited by a person; denied by a rule; rejected by a person;
pending until a person decides; overtaken by what the user said next, before it ran; held back by a limit, a circuit, a
condition or as a repeat; invalid: it never came so far."""

_DECISIONS: Final[Mapping[ErrorCode, Decision]] = {
    ErrorCode.NOT_ALLOWED: "denied",
    ErrorCode.NOT_PERMITTED: "denied",
    ErrorCode.APPROVAL_DENIED: "rejected",
    ErrorCode.APPROVAL_REQUIRED: "pending",
    **dict.fromkeys(NOT_BOUND, "invalid"),
}
_MOST_RUNS: Final = 4096
_MOST_TEXT: Final = 2_000
_MOST_RAW: Final = 8_000
_MOST_NAME: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One call.

    Args:
        time: when it ended, ISO 8601 in UTC.
        user: who asked.
        session_id: the conversation.
        trace_id: the run.
        turn: which reply of the model it stands in, from 1; 0 for a call that a program made.
        call_id: the call.
        tool: the tool's name.
        effect: what the tool does: "reads", "writes", "destroys"; "" for a tool that there is not.
        asked: what the user had said.
        raw: what the model wrote.
        sent: the arguments as the model's server sent them, where calls came structured.
        arguments: the arguments as they were understood.
        edited: the arguments as a person changed them, or None.
        fixes: every liberty that was taken: kind, path, before, after.
        decision: what became of the wish.
        decided_by: the person who decided, where that was told.
        outcome: "ok" or the error's code.
        error: the error's sentence.
        exception: the type of what the tool raised.
        result: what came back, as much as fits.
        fallback: the tool that was asked instead, or "".
        seconds: how long it took.
        attempts: how often the tool was tried; 0 when it did not run.
    """

    time: str
    user: str = ""
    session_id: str = ""
    trace_id: str = ""
    turn: int = 0
    call_id: str = ""
    tool: str = ""
    effect: str = ""
    asked: str = ""
    raw: str = ""
    sent: Any = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    edited: Mapping[str, Any] | None = None
    fixes: tuple[Mapping[str, Any], ...] = ()
    decision: Decision = "allowed"
    decided_by: str = ""
    outcome: str = OK
    error: str = ""
    exception: str = ""
    result: Any = None
    fallback: str = ""
    seconds: float = 0.0
    attempts: int = 0

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> AuditRecord:
        """From what `to_json` gave; keys that are not known are left out."""
        known = {f.name: value[f.name] for f in fields(cls) if f.name in value}
        return cls(**{**known, "time": str(known.get("time", "")), "fixes": tuple(known.get("fixes") or ())})


class AuditStore(Protocol):
    """Where records go."""

    def append(self, record: AuditRecord) -> None:
        """Keeps one record."""
        ...

    def records(self) -> Iterable[AuditRecord]:
        """Every record, oldest first."""
        ...


class AuditFile:
    """Records as JSON lines in a file; several processes may share it. Only its owner may read it.

    Args:
        path: the file.
        most_bytes: how large it grows before it is set aside.
        keep_days: how long records are kept, or None for ever.
        now: gives seconds since 1970.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        most_bytes: int = 64 * 1024 * 1024,
        keep_days: float | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._lines = JsonLines(path, most_bytes=most_bytes, keep_days=keep_days, now=now)

    def append(self, record: AuditRecord) -> None:
        """Writes one record in one go.

        Raises:
            OSError: when the file cannot be written.
        """
        self._lines.append(record.to_json())

    def records(self) -> Iterator[AuditRecord]:
        """Every record, also of files that were set aside, oldest first."""
        return map(AuditRecord.from_json, self._lines.lines())

    def close(self) -> None:
        """Closes the file; the next record opens it again."""
        self._lines.close()


class AuditList:
    """Records in memory, for tests and short programs."""

    def __init__(self) -> None:
        self._records: list[AuditRecord] = []

    def append(self, record: AuditRecord) -> None:
        """Keeps one record."""
        self._records.append(record)

    def records(self) -> list[AuditRecord]:
        """Every record, oldest first."""
        return list(self._records)


@dataclass(slots=True)
class _Asked:
    """What is known of a run when its calls end."""

    text: str = ""
    reply: ModelReplied | None = None
    excerpts: Excerpts = PLAIN
    said: tuple[Excerpts, str] | None = None

    def words(self, around: Excerpts) -> str:
        """What the user had said, as it may be kept; the same for each call of a run, as nearly always, is masked once."""
        if self.said is None or self.said[0] != around:
            self.said = (around, around.text(self.text, _MOST_TEXT))
        return self.said[1]


class AuditLog:
    """The sink that writes an `AuditRecord` for each call.

    Args:
        store: a file's path, or where else records go.
        keeps_results: whether what came back is kept, too.
        now: gives seconds since 1970.
    """

    def __init__(
        self,
        store: str | Path | AuditStore,
        *,
        keeps_results: bool = True,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.store: AuditStore = AuditFile(store, now=now) if isinstance(store, str | Path) else store
        self._keeps_results = keeps_results
        self._now = now
        self._runs: OrderedDict[str, _Asked] = OrderedDict()
        self._fallbacks: OrderedDict[tuple[str, str], str] = OrderedDict()

    def __call__(self, event: Event, context: RunContext) -> None:
        """Takes one event."""
        match event:
            case CallFinished() | CallCancelled():
                self.store.append(self._record(event, context))
            case ModelReplied():
                self._asked(context).reply = event
            case RunStarted(text=text, tools=tools):
                asked = self._asked(context)
                asked.text, asked.excerpts, asked.said = text, Excerpts.of_all(tools), None
            case FallbackTaken(call=call, fallback=fallback):
                _kept(self._fallbacks, (context.trace_id, call.id), fallback)
            case RunFinished() | RunFailed():
                self._runs.pop(context.trace_id, None)

    def search(
        self,
        *,
        user: str | None = None,
        tool: str | None = None,
        session_id: str | None = None,
        trace_id: str | None = None,
        outcome: str | None = None,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
    ) -> Iterator[AuditRecord]:
        """The records that fit, oldest first; what is left out fits everything.

        Args:
            user: who asked.
            tool: the tool's name.
            session_id: the conversation.
            trace_id: the run.
            outcome: "ok", an error's code, or "error" for every error.
            since: from this moment on; without a time zone it is local time.
            until: before this moment.
        """
        wanted = {"user": user, "tool": tool, "session_id": session_id, "trace_id": trace_id}
        exact = {name: value for name, value in wanted.items() if value is not None}
        for record in self.store.records():
            if any(getattr(record, name) != value for name, value in exact.items()):
                continue
            if outcome is not None and not _is_outcome(record, outcome):
                continue
            if since is not None or until is not None:
                moment = dt.datetime.fromisoformat(record.time)
                if since is not None and moment < since.astimezone():
                    continue
                if until is not None and moment >= until.astimezone():
                    continue
            yield record

    def _asked(self, context: RunContext) -> _Asked:
        found = self._runs.get(context.trace_id)
        return _kept(self._runs, context.trace_id, _Asked()) if found is None else found

    def _record(self, event: CallFinished | CallCancelled, context: RunContext) -> AuditRecord:
        call, tool = event.call, event.tool
        asked = self._runs.get(context.trace_id) or _Asked()
        excerpts = Excerpts.of(tool, call.arguments) if tool else asked.excerpts
        around = asked.excerpts.joined(excerpts)  # a reply may hold calls of other tools, too
        result = event.result if isinstance(event, CallFinished) else None
        notes = {} if result is None else result.notes
        error = None if result is None else result.error
        fallback = self._fallbacks.pop((context.trace_id, call.id), "")
        edited = notes.get("edited")
        return AuditRecord(
            time=dt.datetime.fromtimestamp(self._now(), dt.UTC).isoformat(timespec="milliseconds"),
            user=context.user,
            session_id=context.session_id,
            trace_id=context.trace_id,
            turn=context.turn,
            call_id=call.id,
            tool=call.name if tool is not None else PLAIN.text(call.name, _MOST_NAME),
            effect="" if tool is None else tool.rules.effect,
            asked=asked.words(around),
            raw="" if asked.reply is None else around.text(asked.reply.raw, _MOST_RAW),
            sent=_sent(asked.reply, call.id, around),
            arguments=excerpts.value(dict(call.arguments), _MOST_RAW),
            edited=None if edited is None else excerpts.value(edited, _MOST_RAW),
            fixes=tuple(_fix(fix, excerpts) for fix in call.fixes),
            decision=_decision(event, context),
            decided_by=getattr(decision_for(call, context), "by", ""),
            outcome=outcome(event),
            error="" if error is None else excerpts.text(error.message, _MOST_TEXT),
            exception=str(notes.get("exception", "")),
            result=excerpts.value(result.data, _MOST_TEXT) if result and self._keeps_results else None,
            fallback=fallback,
            seconds=round(event.seconds, 6),
            attempts=1 if result is None else attempts(result) if has_run(result) else 0,
        )


def _kept(memory: OrderedDict[Any, Any], key: Any, value: Any) -> Any:
    memory[key] = value
    if len(memory) > _MOST_RUNS:  # runs whose end was never told must not pile up
        memory.popitem(last=False)
    return value


def _is_outcome(record: AuditRecord, wanted: str) -> bool:
    return record.outcome != OK if wanted == "error" else record.outcome == wanted


def _sent(reply: ModelReplied | None, call_id: str, excerpts: Excerpts) -> Any:
    """The structured call behind an id, or all of the reply's where its id was changed."""
    if reply is None or not reply.raw_calls:
        return None
    mine = [raw for raw in reply.raw_calls if raw.id == call_id] or list(reply.raw_calls)
    sent = [{"name": raw.name, "arguments": raw.arguments} for raw in mine]
    return excerpts.value(sent[0] if len(sent) == 1 else sent, _MOST_RAW)


def _fix(fix: Fix, excerpts: Excerpts) -> dict[str, Any]:
    name = fix.path.rpartition(".")[2]
    before, after = (
        next(iter(excerpts.value({name: value}, _MOST_TEXT).values())) for value in (fix.before, fix.after)
    )
    return {"kind": fix.kind, "path": PLAIN.text(fix.path, _MOST_NAME), "before": before, "after": after}


def _decision(event: CallFinished | CallCancelled, context: RunContext) -> Decision:
    error = event.result.error if isinstance(event, CallFinished) else None
    if error is not None and error.code in _DECISIONS:
        return _DECISIONS[error.code]
    if isinstance(event, CallFinished) and not has_run(event.result):
        return "overtaken" if LET_GO in event.result.notes else "held_back"
    match decision_for(event.call, context):
        case Approve():
            return "approved"
        case Edit():
            return "edited"
        case _:
            return "allowed"


def export_jsonl(records: Iterable[AuditRecord], file: TextIO) -> int:
    """Writes records as JSON lines.

    Returns:
        how many.
    """
    count = 0
    for count, record in enumerate(records, 1):  # noqa: B007 - the count is what is given back
        file.write(line_of(record.to_json()) + "\n")
    return count


_FORMULA: Final = re.compile(r"[\s\x00-\x1f\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠|%]|[\t\r\n]")
"""A cell's beginning that a spreadsheet reads as a formula, also behind blanks and marks that it leaves out."""


def export_csv(records: Iterable[AuditRecord], file: TextIO) -> int:
    """Writes records as a table; open the file with `newline=""`.

    A cell that a spreadsheet would take for a formula gets an apostrophe in front.
    Source: https://owasp.org/www-community/attacks/CSV_Injection

    Returns:
        how many.
    """
    names = [f.name for f in fields(AuditRecord)]
    writer = csv.writer(file)
    writer.writerow(names)
    count = 0
    for count, record in enumerate(records, 1):  # noqa: B007 - as above
        writer.writerow(_cell(getattr(record, name)) for name in names)
    return count


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else line_of(value)
    return f"'{text}" if _FORMULA.match(text) else text
