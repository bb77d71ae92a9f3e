"""A session's log as runs, turns and calls with their times: what a timeline shows. Pure; what is secret is masked here.

A run begins with a user's message. When a turn began, whom it asked and what it used stands in the reply's own entry (see
`toolhand.auditing.turns_of`); in a log from before that was kept, a turn begins where the entry before it ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolhand.core.approvals import PendingCall
from toolhand.core.errors import ToolError
from toolhand.core.messages import Fix, Message, Note, Text, ToolCall, ToolResult, Value
from toolhand.observability.audit import AuditRecord
from toolhand.observability.excerpts import PLAIN
from toolhand.sessions import codec
from toolhand.sessions.entries import Entry

MOST_CHARACTERS: Final = 20_000
"""How much of one text, value or result is shown."""

_LOST_SECONDS: Final = 1.0
"""So far two clocks of one process, read at slightly different moments, are never apart."""


@dataclass(slots=True, kw_only=True)
class CallView:
    """A call as the page shows it. Moments are seconds since 1970, or 0.0 where nothing is known.

    Args:
        id: the call's id.
        name: the tool.
        arguments: as they were understood, masked.
        fixes: what was mended in reading it, masked.
        problem: why it could not run.
        records: what the audit says of it, oldest first: one for each time that it ended or had to wait.
        tried: when and why it was tried again: `why` and `wait` (seconds).
        result: what came of it.
        asked: when the model had asked for it.
        reached: when it was about to reach its tool.
        ended: when it had a result.
        pending: set while it waits for a person.
        approval_id: the name under which it waited for a person, or "".
        carrier: the id of the plan or program that it is a step of, or "".
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fixes: Sequence[Mapping[str, Any]] = ()
    problem: ToolError | None = None
    records: Sequence[AuditRecord] = ()
    tried: Sequence[Mapping[str, Any]] = ()
    result: ToolResult | None = None
    asked: float = 0.0
    reached: float = 0.0
    ended: float = 0.0
    pending: PendingCall | None = None
    approval_id: str = ""
    carrier: str = ""

    @property
    def record(self) -> AuditRecord | None:
        """What the audit says last."""
        return self.records[-1] if self.records else None

    @property
    def began(self) -> float:
        """When it began, its waits for limits and earlier attempts included."""
        if self.record is not None and self.ended:
            return max(self.asked, self.ended - self.record.seconds)
        return self.reached or self.asked

    @property
    def was_lost(self) -> bool:
        """Whether the process that had started it ended in its midst: it was at its tool before the try that ended began."""
        return bool(self.reached and self.ended and self.record) and self.reached < self.began - _LOST_SECONDS

    @property
    def error(self) -> ToolError | None:
        """Why it did not succeed."""
        return self.problem if self.result is None else self.result.error


@dataclass(slots=True, kw_only=True)
class TurnView:
    """A reply of the model.

    Args:
        number: which of its run, from 1.
        began: when the model was asked, in seconds since 1970.
        ended: when its reply was there.
        text: what it said to the user.
        calls: what it asked for, the steps of plans and programs behind the call that carries them.
        model: whom was asked; "" where it was not kept.
        protocol: how calls are written down.
        used: tokens of the prompt, of the reply, and from the cache; empty where they were not kept.
        cost: what it cost, or None.
        currency: of the cost.
        ending: why the model stopped, where that says something.
        told: what happened on the way to it, each with a `what`.
        notes: the program's words to the model before it.
    """

    number: int
    began: float
    ended: float
    text: str = ""
    calls: list[CallView] = field(default_factory=list)
    model: str = ""
    protocol: str = ""
    used: Sequence[int] = ()
    cost: float | None = None
    currency: str = ""
    ending: str = ""
    told: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()


@dataclass(slots=True, kw_only=True)
class RunView:
    """A message of the user and all that came of it.

    Args:
        seq: the number of the message's entry.
        words: what the user said, masked.
        began: when, in seconds since 1970.
        ended: when the last thing of it happened.
        turns: the model's replies.
        decisions: what persons decided: moment, approval id, decision as JSON.
        state: "finished", "running", "waiting" or "unfinished".
        notes: the program's words to the model since the last reply.
    """

    seq: int
    words: str
    began: float
    ended: float
    turns: list[TurnView] = field(default_factory=list)
    decisions: list[tuple[float, str, Mapping[str, Any]]] = field(default_factory=list)
    state: str = "finished"
    notes: list[str] = field(default_factory=list)

    @property
    def calls(self) -> list[CallView]:
        """All its calls, in order."""
        return [call for turn in self.turns for call in turn.calls]

    @property
    def answer(self) -> str:
        """What the model said last, where that is an answer."""
        return self.turns[-1].text if self.turns and not self.turns[-1].calls else ""

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens of all prompts and of all replies, as far as they were kept."""
        used = [turn.used for turn in self.turns if turn.used]
        return sum(one[0] for one in used), sum(one[1] for one in used)

    @property
    def costs(self) -> dict[str, float]:
        """What its turns cost, by currency."""
        found: dict[str, float] = {}
        for turn in self.turns:
            if turn.cost is not None:
                found[turn.currency] = found.get(turn.currency, 0.0) + turn.cost
        return found


def begins_run(entry: Entry) -> bool:
    """Whether an entry is a user's own message."""
    if entry.kind != "message" or not entry.body.startswith('{"role":"user"'):
        return False
    return any("text" in part for part in json.loads(entry.body)["parts"])


def parted(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Entries that count, oldest first, run by run; what stands before the first message of a user is one of its own."""
    start = 0
    for place, entry in enumerate(entries):
        if place > start and begins_run(entry):
            yield entries[start:place]
            start = place
    if entries:
        yield entries[start:]


def run_of(entries: Sequence[Entry], records: Iterable[AuditRecord] = ()) -> RunView:
    """One run.

    Args:
        entries: its entries that count, oldest first, at least one.
        records: what the audit says of its calls, oldest first.
    """
    builder = _Builder(entries[0])
    for entry in entries:
        builder.take(entry)
    builder.add_records(records)
    return builder.run


class _Builder:
    """Takes the entries of a run one by one."""

    def __init__(self, first: Entry) -> None:
        self.run = RunView(seq=first.seq, words="", began=first.at, ended=first.at)
        self._calls: dict[str, CallView] = {}

    def take(self, entry: Entry) -> None:
        value = json.loads(entry.body)
        if entry.kind == "message":
            self._message(codec.message_from(value, _named), value.get("t") or {}, entry.at)
        elif entry.kind == "started":  # what waits for a person is at no tool, whatever it had reached before
            call = self._call(entry.call_id, value.get("tool", ""))
            call.reached = 0.0 if value.get("waits") else entry.at
        elif entry.kind == "ended":
            self._end(codec.result_from(value), entry.at)
        elif entry.kind == "waiting":
            self._wait(map(PendingCall.from_json, value["calls"]), entry.at)
        elif entry.kind == "decided":
            for name, told in value.items():
                self.run.decisions.append((entry.at, name, told))
                self._settle(name)
        self.run.ended = max(self.run.ended, entry.at)

    def _message(self, message: Message, told: Mapping[str, Any], at: float) -> None:
        if message.role == "assistant":
            self._turn(message, told, at)
        elif message.role == "tool":
            for result in message.results:
                if (
                    (call := self._calls.get(result.call_id)) is not None
                    and call.result is None
                    and result.name
                ):
                    self._end(result, at)
        elif message.role == "user":
            words = "".join(part.text for part in message.parts if isinstance(part, Text))
            if words and not self.run.words:
                self.run.words = PLAIN.text(words, MOST_CHARACTERS)
            self.run.notes += [
                PLAIN.text(p.text, MOST_CHARACTERS) for p in message.parts if isinstance(p, Note)
            ]

    def _turn(self, message: Message, told: Mapping[str, Any], at: float) -> None:
        turn = TurnView(
            number=len(self.run.turns) + 1,
            began=min(at, told.get("at") or self.run.ended),
            ended=at,
            text=PLAIN.text(message.text, MOST_CHARACTERS),
            model=told.get("model", ""),
            protocol=told.get("protocol", ""),
            used=tuple(told.get("use", ())),
            cost=told.get("cost"),
            currency=told.get("currency", ""),
            ending=told.get("end", ""),
            told=[one for one in told.get("told", ()) if one.get("what") != "call_retried"],
            notes=tuple(self.run.notes),
        )
        for one in told.get("told", ()):
            if (
                one.get("what") == "call_retried"
                and (tried := self._calls.get(one.get("call", ""))) is not None
            ):
                tried.tried = (*tried.tried, one)
        self.run.notes = []
        self.run.turns.append(turn)
        for call in message.calls:
            view = _view(call, at)
            self._calls[call.id] = view
            turn.calls.append(view)

    def _call(self, call_id: str, name: str) -> CallView:
        """A call by its id; one that no reply names is a step of a plan or a program."""
        found = self._calls.get(call_id)
        if found is None:
            carrier = next(
                (known for known in self._calls if call_id.startswith((f"{known}.", f"{known}~"))), ""
            )
            found = self._calls[call_id] = CallView(id=call_id, name=name, carrier=carrier)
            if self.run.turns:
                self.run.turns[-1].calls.append(found)
        return found

    def _end(self, result: ToolResult, at: float) -> None:
        call = self._call(result.call_id, result.name)
        call.result, call.ended, call.pending = _masked(result), at, None

    def _wait(self, waiting: Iterable[PendingCall], at: float) -> None:
        for call in self._calls.values():
            call.pending = None
        for pending in waiting:
            call = self._call(pending.call_id, pending.name)
            call.pending, call.approval_id, call.asked = pending, pending.approval_id, call.asked or at
            call.arguments = call.arguments or PLAIN.value(dict(pending.arguments), MOST_CHARACTERS)

    def _settle(self, name: str) -> None:
        for call in self._calls.values():
            if call.pending is not None and name in (call.pending.approval_id, call.id):
                call.pending = None

    def add_records(self, records: Iterable[AuditRecord]) -> None:
        for record in records:
            call = self._calls.get(record.call_id)
            if call is None:
                continue
            call.records = (*call.records, record)
            call.name = call.name or record.tool
            call.arguments, call.fixes = record.arguments, record.fixes or call.fixes
            if call.pending is not None:
                call.pending = replace(call.pending, effect=record.effect or call.pending.effect)


def _view(call: ToolCall, at: float) -> CallView:
    return CallView(
        id=call.id,
        name=call.name,
        arguments=PLAIN.value(dict(call.arguments), MOST_CHARACTERS),
        fixes=[_fix(fix) for fix in call.fixes],
        problem=call.problem,
        asked=at,
    )


def _fix(fix: Fix) -> dict[str, Any]:
    name = fix.path.rpartition(".")[2]
    before, after = (
        next(iter(PLAIN.value({name: value}, MOST_CHARACTERS).values())) for value in (fix.before, fix.after)
    )
    return {"kind": fix.kind, "path": fix.path, "before": before, "after": after}


def _masked(result: ToolResult) -> ToolResult:
    if result.error is not None:
        message = PLAIN.text(result.error.message, MOST_CHARACTERS)
        return replace(result, outcome=replace(result.error, message=message))
    return replace(result, outcome=Value(PLAIN.value(result.data, MOST_CHARACTERS)))


def _named(call_id: str) -> ToolResult:
    """A result that stands in an entry of its own and is only named here."""
    return ToolResult(call_id=call_id, name="", outcome=Value(None))
