"""A run's entries as the events that happened in it, read from the ledger as they come, with the words of answers before that."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from toolhand.core.approvals import PendingCall
from toolhand.core.events import ApprovalNeeded, CallFinished, CallStarted, Event, RunStarted, TextDelta
from toolhand.core.messages import Message, ToolCall, ToolResult
from toolhand.durable.ledger import RunLedger
from toolhand.durable.notices import words_of
from toolhand.durable.rows import RunRow
from toolhand.sessions.entries import Entry
from toolhand.sessions.reading import Stretch, add_entry

_PAGE: Final = 500


class Following:
    """How far somebody has followed a run.

    Args:
        ledger: where it stands.
        run_id: the run.
    """

    def __init__(self, ledger: RunLedger, run_id: str) -> None:
        self._ledger, self._run_id = ledger, run_id
        self._next_seq = 0
        self._stretch, self._results = Stretch(), dict[str, ToolResult]()
        self._calls: dict[str, ToolCall] = {}
        self._began: dict[str, float] = {}
        self._turn, self._told = 1, ""  # of the reply that is under way

    @property
    def messages(self) -> list[Message]:
        """The run's messages so far."""
        return self._stretch.messages

    async def news(self, row: RunRow) -> list[Event]:
        """What has happened since the last time."""
        if not row.first_seq:
            return []
        found: list[Event] = []
        if not self._next_seq:
            self._next_seq = row.first_seq
            found.append(RunStarted(text=row.text, agent=row.agent))
        while True:
            last = row.last_seq or None
            entries = await self._read(last)
            for entry in entries:
                found += self._events(entry)
                self._next_seq = entry.seq + 1
            if len(entries) < _PAGE:
                break
        if row.state == "waiting":
            found += [
                ApprovalNeeded(pending=PendingCall.from_json(p)) for p in row.outcome.get("pending", ())
            ]
        return found

    async def _read(self, last: int | None) -> Sequence[Entry]:
        rows = await self._ledger.look(
            "SELECT e.seq, e.kind, e.body, e.call_id, e.at FROM entry e JOIN session s ON s.no = e.session "
            "JOIN run ON run.session = s.id WHERE run.id = ? AND e.seq >= ? AND e.seq <= ? ORDER BY e.seq LIMIT ?",
            (self._run_id, self._next_seq, 2**62 if last is None else last, _PAGE),
        )
        return [
            Entry(seq=seq, kind=kind, body=body, call_id=call_id, at=at)
            for seq, kind, body, call_id, at in rows
        ]

    def _events(self, entry: Entry) -> list[Event]:
        before = len(self._stretch.messages)
        if entry.kind == "undone":
            return []
        add_entry(self._stretch, entry, self._results)
        match entry.kind:
            case "message" if len(self._stretch.messages) > before:
                return self._said(self._stretch.messages[-1])
            case "started" if entry.call_id in self._calls and not json.loads(entry.body).get("waits"):
                self._began[entry.call_id] = entry.at
                return [CallStarted(call=self._calls[entry.call_id])]
            case "ended" if entry.call_id in self._calls and entry.call_id in self._results:
                seconds = max(0.0, entry.at - self._began.get(entry.call_id, entry.at))
                call, result = self._calls[entry.call_id], self._results[entry.call_id]
                return [CallFinished(call=call, result=result, seconds=seconds)]
        return []

    def _said(self, message: Message) -> list[Event]:
        if message.role != "assistant":
            return []
        self._calls.update({call.id: call for call in message.calls})
        told, self._told = self._told, ""
        self._turn += 1
        text = message.text
        if not text or (told and not text.startswith(told)):
            return []  # what was told as it came was not kept in these words: it is not told again
        return [TextDelta(text=text[len(told) :])] if len(text) > len(told) else []

    def hear(self, notice: str) -> list[Event] | None:
        """The words that a notice brings; None where it brings none, and the ledger has to be looked at."""
        words = words_of(notice)
        if words is None:
            return None
        turn, offset, piece = words
        if turn != self._turn or offset > len(self._told):
            return (
                [] if turn <= self._turn else None
            )  # a piece is missing: the whole reply comes with the ledger
        new: Any = piece[len(self._told) - offset :]
        if not new:
            return []
        self._told += new
        return [TextDelta(text=new)]
