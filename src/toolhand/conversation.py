"""The loop: render the history, ask the model, read its reply, run its calls, until there is an answer.

It knows no protocol's text, no provider's field names and no tool's types. What an agent is made of stands in `Setup`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from toolhand.arguments.feedback import feedback
from toolhand.asking import Answer, Asking
from toolhand.core.approvals import PendingCall, decide, pending_of
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ModelError, SettingsError, ToolError
from toolhand.core.events import Event, LimitReached, RunFailed, RunFinished, RunStarted, TextDelta
from toolhand.core.language import language_of
from toolhand.core.messages import Message, Note, Reply, Text, ToolCall, ToolResult, user
from toolhand.core.tools import ToolChoice
from toolhand.observability import listening
from toolhand.observability.defaults import default_sinks
from toolhand.policies.deduplicate import is_stuck
from toolhand.policies.sharing.loops import LoopDetector
from toolhand.policies.shrinking.read_result import read_result_tool
from toolhand.policies.shrinking.store import has_results
from toolhand.run import WORDS, Progress, Run, Stopped
from toolhand.setup import Asked, Setup
from toolhand.showing import Showing

READ_RESULT = "read_result"

EQUAL_ROUNDS = 5
"""How many equal rounds, calls and results alike, make a loop."""


SHORTEST_GRACE, LONGEST_GRACE, SHARE_OF_GRACE = 1.0, 10.0, 0.25
"""When time ran out between two turns, the model has this share of the run's seconds, within bounds, for its best answer."""


class _TimeIsUp(Exception):  # noqa: N818 - the end of a wait, not a fault
    """The run's time ended while the model was being asked."""


@dataclass(frozen=True, slots=True)
class _Listener:
    """A caller's `on_event` as a sink: what it raises never reaches the run."""

    listen: Callable[[Event], None]

    def __call__(self, event: Event, context: RunContext) -> None:
        del context
        self.listen(event)


class Conversation:
    """One run, from the user's message to the answer."""

    def __init__(self, setup: Setup, asked: Asked) -> None:
        self.setup, self.asked, self.session = setup, asked, asked.session
        self.tools = setup.tools
        self.progress = Progress()
        self.loops = LoopDetector(EQUAL_ROUNDS)
        self.pending: tuple[PendingCall, ...] = ()
        self.showing = Showing(setup, self.session)
        self.asking = Asking(setup, self.session, streams=asked.streams)
        said = asked.text if asked.text is not None else self.session.last_words
        self._base = RunContext(
            user=asked.user or self.session.user,
            session_id=self.session.id,
            language=setup.language or language_of(said),
            facts=asked.facts,
            permissions=asked.permissions,
            roles=asked.roles,
            # What policies knew when the run was suspended that is resumed now.
            memory=self.session.suspended if asked.text is None else {},
        )
        listener = () if asked.on_event is None else (_Listener(asked.on_event),)
        self._sinks = (*listener, *default_sinks(), *setup.sinks)
        self.context = self._heard(self._base)
        self.words = WORDS[self.context.language]

    def _heard(self, context: RunContext) -> RunContext:
        return listening(context, self._sinks) if self._sinks else context

    async def drive(self) -> Run:
        """The whole run."""
        model, said = self.setup.model.name, self.asked.text or ""
        self.context.emit(RunStarted(text=said, model=model, tools=tuple(self.tools)))
        try:
            run = await self._driven()
        except BaseException as error:
            self.context.emit(RunFailed(exception=error))
            raise
        self.context.emit(RunFinished(run=run))
        return run

    async def _driven(self) -> Run:
        async with self.session.turnstile:
            if (seconds := self.asked.limits.seconds) is not None:  # a run's time begins when it is its turn
                self._base = replace(self._base, deadline=time.monotonic() + seconds)
                self.context = self._heard(self._base)
            start = len(self.session.messages)
            await self._open()
            output: str | None = "" if self.pending else None
            stopped: Stopped | None = None
            while output is None:
                stopped = self._limit_reached()
                try:
                    output = await self._turn() if stopped is None else await self._forced_answer(stopped)
                except _TimeIsUp:
                    if stopped is None:
                        stopped = "time_limit"
                        self.context.emit(LimitReached(limit=stopped))
                    output = self._out_of_time()
            return self._run(output, "approval" if self.pending else stopped or "answered", start)

    def _out_of_time(self) -> str:
        """What is said when the time ended in the midst of a reply: what had come of it, and that it is not all."""
        said = self.words["time"].format(seconds=self.asked.limits.seconds)
        shown = self.asking.shown
        rest = f"\n\n{said}" if shown else said
        if self.asked.streams:
            self.context.emit(TextDelta(text=rest))
        self.session.append(Message(role="assistant", parts=(Text(shown + rest),)))
        return shown + rest

    async def _open(self) -> None:
        """Adds the user's message, or runs the calls that waited; either way no call stays without a result."""
        waiting = self.session.unanswered
        if self.asked.text is None:
            if not waiting:
                raise SettingsError(
                    f"no call of session '{self.session.id}' waits for a decision: there is nothing to resume"
                )
            decide(self.context, self.asked.decisions)
            await self._run_calls(waiting, self._choice())
            return
        if waiting:
            gone = tuple(self._unfinished(call, has_started=False) for call in waiting)
            self.session.append(Message(role="tool", parts=gone))
        self.session.append(user(self.asked.text))

    def _limit_reached(self) -> Stopped | None:
        reached = self.progress.limit_reached(self.asked.limits, self.context.seconds_left)
        return reached or ("loop" if self.progress.is_looping or is_stuck(self.context) else None)

    def _choice(self) -> ToolChoice:
        more = (READ_RESULT,) if has_results(self.context) else ()
        return self.asked.choice.now(more, is_done=bool(self.progress.calls))

    async def _turn(self) -> str | None:
        """One reply and what it asks for; its text if it is the answer."""
        choice = self._choice()
        reply = await self._ask(choice)
        calls = (*reply.calls, *reply.broken)
        if calls:
            await self._run_calls(calls, choice)
        self.progress.repairs = 0 if reply.calls else self.progress.repairs + 1
        note = self._objection(reply)
        if note is not None and not self.pending:
            self.session.append(Message(role="user", parts=(Note(note),)))
        if self.pending:
            return reply.text or ""
        return None if calls or note is not None else reply.text

    def _objection(self, reply: Reply) -> str | None:
        """What the model is told, beside its calls' results, about what could not be used; None where all was well."""
        answered = {id(call.problem) for call in reply.broken}
        nameless = [problem for problem in reply.problems if id(problem) not in answered]
        if nameless:
            return "\n".join(feedback(problem, None, self.context.language) for problem in nameless)
        if reply.calls or reply.broken:
            return None
        if (
            self.asked.choice.mode == "required"
            and not self.progress.calls
            and not self.progress.has_insisted
        ):
            self.progress.has_insisted = True
            return self.words["call"]
        return None if (reply.text or "").strip() else self.words["empty"]

    async def _run_calls(self, calls: Sequence[ToolCall], choice: ToolChoice) -> None:
        """Runs the calls that end the history; each gets exactly one result, but for those that wait for a person."""
        finished: dict[str, ToolResult] = {}
        calls = self._within_limit(calls)
        try:
            await self.tools.dispatch.each(calls, self.context, choice, finished=finished)
        finally:
            results = [finished.get(call.id) or self._unfinished(call) for call in calls]
            waiting = [(pending_of(result), result) for result in results]
            self.pending = tuple(pending for pending, _ in waiting if pending is not None)
            answered = [result for pending, result in waiting if pending is None]
            self.session.suspended = self.context.memory if self.pending else {}
            if answered:
                self.session.append(Message(role="tool", parts=tuple(answered)))
            self.progress.note(calls, results)
        if self.progress.turns > 1 and not any(self._polls(call) for call in calls):
            self.progress.is_looping = self.loops.turn(
                [(call.name, call.arguments) for call in calls], results
            )

    def _within_limit(self, calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        """The calls, those beyond the run's limit with a problem instead of a run."""
        limit = self.asked.limits.calls
        left = len(calls) if limit is None else max(0, limit - len(self.progress.calls))
        if left >= len(calls):
            return calls
        problem = ToolError(code=ErrorCode.NOT_ALLOWED, message=self.words["calls"].format(limit=limit))
        return [*calls[:left], *(replace(call, problem=call.problem or problem) for call in calls[left:])]

    def _polls(self, call: ToolCall) -> bool:
        tool = self.tools.get(call.name)
        return tool is not None and tool.rules.poll

    def _unfinished(self, call: ToolCall, *, has_started: bool = True) -> ToolResult:
        tool = self.tools.lookup(call.name)
        is_safe = not has_started or tool is None or tool.repeatable
        code = ErrorCode.CANCELLED if is_safe else ErrorCode.OUTCOME_UNKNOWN
        error = ToolError(code=code, message=self.words[code], retryable=is_safe)
        return ToolResult(call_id=call.id, name=call.name, outcome=error)

    async def _ask(self, choice: ToolChoice, grace: float | None = None) -> Reply:
        """Asks the model once; its reply is in the history afterwards.

        Args:
            choice: which tools may be called.
            grace: seconds that it may take, instead of those that are left.

        Raises:
            _TimeIsUp: when it takes longer.
        """
        turn = self.progress.turns = self.progress.turns + 1
        self.context = replace(self._base, turn=turn)
        self.context = self._heard(self.context)
        if has_results(self.context) and READ_RESULT not in self.tools:
            self.tools = self.tools.extended(read_result_tool(name=READ_RESULT))
        limit = asyncio.timeout(self.context.seconds_left if grace is None else grace)
        try:
            async with limit:
                answer = await self._answer(choice)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise _TimeIsUp from error
        self.progress.usage += answer.usage
        self.session.append(answer.message)
        return answer.reply

    async def _answer(self, choice: ToolChoice) -> Answer:
        """Shows the model what there is room for; less, once, if it finds that too long."""
        messages = await self.showing.messages(self.tools, self.context)
        try:
            answer = await self.asking.ask(messages, self.tools, choice, self.context)
        except ModelError as error:
            if self.asking.shown or not self.showing.makes_room(error):
                raise
            messages = await self.showing.messages(self.tools, self.context)
            answer = await self.asking.ask(messages, self.tools, choice, self.context)
        self.showing.count(answer.usage)
        return answer

    async def _forced_answer(self, limit: Stopped) -> str:
        """The model's best answer from what it has; what it still asks for is not run."""
        self.context.emit(LimitReached(limit=limit))
        self.session.append(Message(role="user", parts=(Note(self.words["limit"]),)))
        seconds = self.asked.limits.seconds
        grace = None
        if limit == "time_limit" and seconds is not None:
            grace = min(LONGEST_GRACE, max(SHORTEST_GRACE, seconds * SHARE_OF_GRACE))
        reply = await self._ask(ToolChoice("none"), grace)
        if calls := (*reply.calls, *reply.broken):
            await self._run_calls(calls, ToolChoice("none"))
        return reply.text or self.words["no_answer"].format(limit=limit)

    def _run(self, output: str, stopped: Stopped, start: int) -> Run:
        messages = self.session.messages
        return Run(
            output=output,
            stopped=stopped,
            messages=messages,
            new_messages=messages[start:],
            calls=tuple(self.progress.calls),
            results=tuple(self.progress.results),
            pending=self.pending,
            usage=self.progress.usage,
            session_id=self.session.id,
            trace_id=self.context.trace_id,
        )
