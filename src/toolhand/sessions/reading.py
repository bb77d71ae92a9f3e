"""A stretch of a session's log as messages: what was undone is left out, results find their calls, the ledger is rebuilt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from toolhand.core.approvals import PendingCall
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import Message, ToolResult
from toolhand.sessions import codec
from toolhand.sessions.entries import Entry, Ledger


@dataclass(slots=True)
class Stretch:
    """Messages that follow one another, and what is known at their end.

    Args:
        messages: the messages, oldest first.
        seqs: the number of each one's entry.
        first_seq: the number of the first entry that counts.
        offset: how many messages are before them.
        calls: how many call ids had been given by then.
        ledger: what is known of the calls of the last reply.
        view: where what a model is shown was cut, as JSON; None where it was not.
    """

    messages: list[Message] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    first_seq: int = 1
    offset: int = 0
    calls: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    view: list[int] | None = None


def live(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that count: without those that were undone, and without the marks of that."""
    found = list(Living().backwards(entries))
    found.reverse()
    return found


@dataclass(slots=True)
class Living:
    """Tells the entries that count from those that do not, where a log is read from its end, page by page.

    Args:
        gone: the stretches of numbers that were undone, each from its first to the mark that says so, the newest first.
    """

    gone: list[tuple[int, int]] = field(default_factory=list)
    _below: int | None = None

    def backwards(self, entries: Sequence[Entry]) -> Iterator[Entry]:
        """The entries of a page that count, the newest first."""
        for entry in reversed(entries):
            if self._below is not None and entry.seq >= self._below:
                continue
            if entry.kind == "undone":
                self._below = int(json.loads(entry.body)["from"])
                self.gone.append((self._below, entry.seq))
                continue
            yield entry

    def forwards(self, entries: Sequence[Entry]) -> Iterator[Entry]:
        """The entries of a page that count, oldest first, once all of the log was read backwards."""
        for entry in entries:
            while self.gone and entry.seq > self.gone[-1][1]:
                self.gone.pop()
            if not self.gone or entry.seq < self.gone[-1][0]:
                yield entry


def may_be_first(entry: Entry) -> bool:
    """Whether a stretch may begin with it: a result never stands before its call."""
    return entry.kind == "message" and not entry.body.startswith('{"role":"tool"')


def is_whole(entries: Sequence[Entry]) -> bool:
    """Whether a stretch can be made of them: they reach to the beginning, or to a message that may stand first."""
    return not entries or entries[0].seq <= 1 or any(may_be_first(entry) for entry in live(entries))


def stretch(entries: Sequence[Entry]) -> Stretch:
    """Entries, oldest first, as messages."""
    found = Stretch()
    counting = live(entries)
    if entries and entries[0].seq > 1:
        first = next((place for place, entry in enumerate(counting) if may_be_first(entry)), len(counting))
        counting = counting[first:]
    if counting:
        found.first_seq = counting[0].seq
    results: dict[str, ToolResult] = {}
    for entry in counting:
        add_entry(found, entry, results)
    return found


def add_entry(found: Stretch, entry: Entry, results: dict[str, ToolResult]) -> None:
    """Takes the next entry into a stretch.

    Args:
        found: the stretch.
        entry: an entry that counts.
        results: the results since the last reply, by call id.
    """
    value, ledger = json.loads(entry.body), found.ledger
    if entry.kind == "message":
        message = codec.message_from(value, lambda call_id: results.get(call_id) or _lost(call_id))
        if message.role == "assistant":
            ledger.clear()
            results.clear()
        if not found.messages:
            found.offset = value.get("i", 0)
        found.calls = value.get("n", found.calls)
        found.view = value.get("v", found.view)
        found.messages.append(message)
        found.seqs.append(entry.seq)
    elif entry.kind == "started":
        state = ledger.of(entry.call_id)
        state.started, state.started_seq = not value.get("waits"), entry.seq
        state.is_repeatable = bool(value.get("repeatable"))
    elif entry.kind == "ended":
        results[entry.call_id] = ledger.of(entry.call_id).result = codec.result_from(value)
    elif entry.kind == "waiting":
        ledger.waiting = tuple(map(PendingCall.from_json, value["calls"]))
    elif entry.kind == "decided":
        ledger.decisions.update(value)


def _lost(call_id: str) -> ToolResult:
    error = ToolError(code=ErrorCode.OUTCOME_UNKNOWN, message="The result of this call was not kept.")
    return ToolResult(call_id=call_id, name="", outcome=error)
