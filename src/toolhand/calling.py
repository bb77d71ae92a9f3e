"""Runs the calls of a reply: each is written down before it starts and when it ends, and gets exactly one result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolhand.core.approvals import PENDING, PendingCall, pending_of
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import ApprovalNeeded, CallFinished
from toolhand.core.messages import BoundCall, Message, ToolCall, ToolResult
from toolhand.core.tools import ToolChoice
from toolhand.planning import CARRIERS, Planning
from toolhand.policies.sharing.loops import LoopDetector
from toolhand.policies.sharing.repeats import is_recalled
from toolhand.run import WORDS, Progress
from toolhand.settling import Settling
from toolhand.setup import Asked
from toolhand.toolset import Toolset
from toolhand.way import Way

EQUAL_ROUNDS: Final = 5
"""How many equal rounds, calls and results alike, make a loop."""
KNOWN_ROUNDS: Final = 3
"""How many do where the last one told only what stood already: the second showed that nothing changes, and said so."""


class Calling:
    """The calls of one run.

    Args:
        asked: what the run is asked to do.
        planning: its plans.
    """

    def __init__(self, asked: Asked, planning: Planning) -> None:
        self.asked, self.session, self.planning = asked, asked.session, planning
        self.progress = Progress()
        self.pending: tuple[PendingCall, ...] = ()
        self._running: set[str] = set()
        self._loops = LoopDetector(EQUAL_ROUNDS)
        self._rounds: list[tuple[Sequence[ToolCall], Sequence[ToolResult]]] = []

    def forget(self) -> None:
        """What was settled of an earlier run is none of this one's account."""
        self.pending, self.progress = (), Progress()

    async def before_tool(self, call: BoundCall) -> None:
        """Writes into the ledger that a call is about to reach its tool, and waits until it is kept.

        The reply that asked for it is kept with it: whatever happens then, the history says what was asked for and had begun.
        A run that has slept while another took its session over learns it here, before the tool does anything.
        """
        if call.call.id in self._running:  # and not one that a tool makes itself
            self.session.note_started(call.call.id, call.tool.name, is_repeatable=call.tool.repeatable)
            await self.session.assured()

    async def run(
        self,
        calls: Sequence[ToolCall],
        tools: Toolset,
        context: RunContext,
        choice: ToolChoice,
        known: Mapping[str, ToolResult] | None = None,
    ) -> None:
        """Runs the calls that end the history; each gets exactly one result, but for those that wait for a person.

        Args:
            calls: the calls.
            tools: the run's tools.
            context: the turn's.
            choice: which tools may be called.
            known: results of calls that do not run, by call id.
        """
        finished = dict(known or {})
        for call in calls if finished else ():  # whoever listens has not heard how these ended
            if call.id in finished and self.session.ledger.of(call.id).result is None:
                tool = tools.lookup(call.name)
                context.emit(CallFinished(call=call, result=finished[call.id], seconds=0.0, tool=tool))
        most = self.asked.limits.calls
        if most is not None and len(self.progress.calls) + len(calls) > most:
            calls = self._within_limit(calls, most, context)
        running = [call for call in calls if call.id not in finished]
        self._running = {call.id for call in running}

        def ended(result: ToolResult) -> None:
            finished[result.call_id] = result
            if PENDING in result.notes:
                self.session.note_waiting(result.call_id, result.name)
            else:
                self.session.note_ended(result)

        try:
            if any(call.name in CARRIERS for call in running):
                await self.planning.each(running, self.way(tools, context, choice), ended)
            else:
                await tools.dispatch.each(running, context, choice, on_result=ended)
        finally:
            if unfinished := [call for call in calls if call.id not in finished]:
                settling = Settling(self.session, tools, context)
                finished |= {call.id: settling.unfinished(call) for call in unfinished}
            self._answer(calls, [finished[call.id] for call in calls], tools, context)
        self.session.begin_saving()  # while the model thinks on

    def way(self, tools: Toolset, context: RunContext, choice: ToolChoice) -> Way:
        """What the calls of a plan or a program run with."""
        most = self.asked.limits.calls
        return Way(
            tools=tools,
            context=context,
            choice=choice,
            session=self.session,
            decisions=self.asked.decisions,
            running=self._running,
            most_calls=None if most is None else max(0, most - len(self.progress.calls)),
        )

    def _answer(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult], tools: Toolset, context: RunContext
    ) -> None:
        """Puts the results into the history, and takes note of them for the run's account."""
        waiting = [result for result in results if PENDING in result.notes]
        self.pending = tuple(pending for result in waiting if (pending := pending_of(result)) is not None)
        for pending in self.pending:
            context.emit(ApprovalNeeded(pending=pending))
        self.session.suspended = context.memory if waiting else {}
        if len(waiting) < len(results):
            answered = tuple(result for result in results if PENDING not in result.notes)
            self.session.append(Message(role="tool", parts=answered))
        if self.pending:
            self.session.note_pending(self.pending)
        told = self.planning.account(calls, results) if self.planning.steps else (calls, results)
        self.progress.calls.extend(told[0])
        self.progress.results.extend(told[1])
        self._rounds.append((calls, results))
        if self.progress.turns > 1:  # a single turn is no circle, and its results need not be compared
            self._look_for_circles(tools)

    def _look_for_circles(self, tools: Toolset) -> None:
        for calls, results in self._rounds:
            if not any(_polls(call, tools) for call in calls):
                limit = KNOWN_ROUNDS if all(map(is_recalled, results)) else EQUAL_ROUNDS
                asked = [(call.name, call.arguments) for call in calls]
                self.progress.is_looping = self._loops.turn(asked, results, limit=limit)
        self._rounds.clear()

    def _within_limit(self, calls: Sequence[ToolCall], most: int, context: RunContext) -> Sequence[ToolCall]:
        """The calls, those beyond the run's limit with a problem instead of a run."""
        left = max(0, most - len(self.progress.calls))
        message = WORDS[context.language]["calls"].format(limit=most)
        problem = ToolError(code=ErrorCode.NOT_ALLOWED, message=message)
        return [*calls[:left], *(replace(call, problem=call.problem or problem) for call in calls[left:])]


def _polls(call: ToolCall, tools: Toolset) -> bool:
    tool = tools.get(call.name)
    return tool is not None and tool.rules.poll
