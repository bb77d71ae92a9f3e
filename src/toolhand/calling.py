"""Runs the calls of a reply: each is written down before it starts and when it ends, and gets exactly one result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolhand.core.approvals import PendingCall, pending_of
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import ApprovalNeeded, CallFinished
from toolhand.core.messages import BoundCall, Message, ToolCall, ToolResult
from toolhand.core.tools import ToolChoice
from toolhand.planning import Planning, Way
from toolhand.policies.sharing.loops import LoopDetector
from toolhand.run import WORDS, Progress
from toolhand.settling import Settling
from toolhand.setup import Asked
from toolhand.toolset import Toolset

EQUAL_ROUNDS: Final = 5
"""How many equal rounds, calls and results alike, make a loop."""


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

    def forget(self) -> None:
        """What was settled of an earlier run is none of this one's account."""
        self.pending, self.progress = (), Progress()

    async def before_tool(self, call: BoundCall) -> None:
        """Writes into the ledger that a call is about to reach its tool; it may only do so once that is kept."""
        if call.call.id in self._running:  # and not one that a tool makes itself
            repeatable = call.tool.repeatable
            self.session.note_started(call.call.id, call.tool.name, is_repeatable=repeatable)
            await self.session.saved()

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
        for call in calls:  # whoever listens has not heard how these ended
            if call.id in finished and self.session.ledger.of(call.id).result is None:
                tool = tools.lookup(call.name)
                context.emit(CallFinished(call=call, result=finished[call.id], seconds=0.0, tool=tool))
        calls = self._within_limit(calls, context)
        running = [call for call in calls if call.id not in finished]
        self._running = {call.id for call in running}

        def ended(result: ToolResult) -> None:
            finished[result.call_id] = result
            if pending_of(result) is None:
                self.session.note_ended(result)

        try:
            await self.session.saved()  # the reply is kept before any of its calls runs
            await self.planning.each(running, self.way(tools, context, choice), ended)
        finally:
            settling = Settling(self.session, tools, context)
            results = [finished.get(call.id) or settling.unfinished(call) for call in calls]
            self._answer(calls, results, context)
        await self.session.saved()
        if self.progress.turns > 1 and not any(_polls(call, tools) for call in calls):
            self.progress.is_looping = self._loops.turn(
                [(call.name, call.arguments) for call in calls], results
            )

    def way(self, tools: Toolset, context: RunContext, choice: ToolChoice) -> Way:
        """What calls run with."""
        return Way(
            tools=tools,
            context=context,
            choice=choice,
            session=self.session,
            decisions=self.asked.decisions,
            running=self._running,
            most_calls=self._calls_left,
        )

    def _answer(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], context: RunContext) -> None:
        waiting = [(pending_of(result), result) for result in results]
        self.pending = tuple(pending for pending, _ in waiting if pending is not None)
        for pending in self.pending:
            context.emit(ApprovalNeeded(pending=pending))
        answered = [result for pending, result in waiting if pending is None]
        self.session.suspended = context.memory if self.pending else {}
        if answered:
            self.session.append(Message(role="tool", parts=tuple(answered)))
        self.progress.note(*self.planning.account(calls, results))

    @property
    def _calls_left(self) -> int | None:
        limit = self.asked.limits.calls
        return None if limit is None else max(0, limit - len(self.progress.calls))

    def _within_limit(self, calls: Sequence[ToolCall], context: RunContext) -> Sequence[ToolCall]:
        """The calls, those beyond the run's limit with a problem instead of a run."""
        limit, left = self.asked.limits.calls, self._calls_left
        if left is None or left >= len(calls):
            return calls
        problem = ToolError(
            code=ErrorCode.NOT_ALLOWED, message=WORDS[context.language]["calls"].format(limit=limit)
        )
        return [*calls[:left], *(replace(call, problem=call.problem or problem) for call in calls[left:])]


def _polls(call: ToolCall, tools: Toolset) -> bool:
    tool = tools.get(call.name)
    return tool is not None and tool.rules.poll
