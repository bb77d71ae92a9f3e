"""The loop: render the history, ask the model, read its reply, run its calls, until there is an answer.

It knows no protocol's text, no provider's field names and no tool's types. What an agent is made of stands in `Setup`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolhand.arguments.feedback import feedback
from toolhand.core.approvals import Decision, PendingCall, decide
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError, ToolError
from toolhand.core.events import (
    Event,
    LimitReached,
    ModelReplied,
    ReadingMended,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    TurnStarted,
)
from toolhand.core.language import Language, language_of
from toolhand.core.messages import (
    Message,
    ModelOutput,
    ModelRequest,
    Note,
    Reply,
    Sampling,
    Text,
    ToolCall,
    ToolResult,
    system,
    user,
)
from toolhand.core.tools import ToolChoice
from toolhand.models import Model
from toolhand.observability import Sink, listening
from toolhand.observability.defaults import default_sinks
from toolhand.policies.deduplicate import is_stuck
from toolhand.policies.sharing.loops import LoopDetector
from toolhand.policies.shrinking.read_result import read_result_tool
from toolhand.policies.shrinking.store import has_results
from toolhand.protocols import ModelProtocol, Reader
from toolhand.run import WORDS, Limits, Progress, Run, Stopped
from toolhand.sessions.session import Session
from toolhand.toolset import Toolset

READ_RESULT = "read_result"

EQUAL_ROUNDS = 5
"""How many equal rounds, calls and results alike, make a loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What an agent is made of, for all its runs.

    Args:
        model: what is asked.
        tools: what it may call.
        protocol: how calls are written down.
        instructions: what the model is told first; None for one sentence that says to use the tools.
        language: of the words to the model; None for that of the user's message.
        sampling: temperature and the like.
        sinks: who hears of every event.
    """

    model: Model
    tools: Toolset
    protocol: ModelProtocol
    instructions: str | None
    language: Language | None
    sampling: Sampling
    sinks: tuple[Sink, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one run is asked to do.

    Args:
        text: the user's message; None to go on with the calls that wait for a decision.
        session: the conversation.
        choice: which tools may be called.
        limits: how far it may go.
        user: who asks.
        permissions: what the user holds.
        roles: what the user is.
        facts: values for `Injected` parameters.
        decisions: what was decided about waiting calls, by approval id or call id.
        streams: whether the text is wanted as it comes.
        on_event: called with every event.
    """

    text: str | None
    session: Session
    choice: ToolChoice
    limits: Limits
    user: str = ""
    permissions: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    facts: Mapping[str, Any] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    streams: bool = False
    on_event: Callable[[Event], None] | None = None


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
        self.shown = ""
        seconds = asked.limits.seconds
        said = asked.text if asked.text is not None else self.session.last_words
        self._base = RunContext(
            user=asked.user or self.session.user,
            session_id=self.session.id,
            language=setup.language or language_of(said),
            deadline=None if seconds is None else time.monotonic() + seconds,
            facts=asked.facts,
            permissions=asked.permissions,
            roles=asked.roles,
            # What policies knew when the run was suspended that is resumed now.
            memory=self.session.suspended if asked.text is None else {},
        )
        listener = () if asked.on_event is None else (_Listener(asked.on_event),)
        self._sinks = (*listener, *default_sinks(), *setup.sinks)
        self.context = listening(self._base, self._sinks) if self._sinks else self._base
        self.words = WORDS[self.context.language]

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
            start = len(self.session.messages)
            await self._open()
            output: str | None = "" if self.pending else None
            stopped: Stopped | None = None
            while output is None:
                stopped = self._limit_reached()
                output = await self._turn() if stopped is None else await self._forced_answer(stopped)
            return self._run(output, "approval" if self.pending else stopped or "answered", start)

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
            waiting = [
                result.error
                for result in results
                if result.error and result.error.code == ErrorCode.APPROVAL_REQUIRED
            ]
            self.pending = tuple(PendingCall.from_json(error.details["pending"]) for error in waiting)
            answered = [result for result in results if result.error not in waiting]
            self.session.suspended = self.context.memory if waiting else {}
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

    async def _ask(self, choice: ToolChoice) -> Reply:
        """Asks the model once; its reply is in the history afterwards."""
        turn = self.progress.turns = self.progress.turns + 1
        self.context = replace(self._base, turn=turn)
        if self._sinks:
            self.context = listening(self.context, self._sinks)
        if has_results(self.context) and READ_RESULT not in self.tools:
            self.tools = self.tools.extended(read_result_tool(name=READ_RESULT))
        protocol, shown = self.setup.protocol, self.tools.offered(self.context)
        if choice.names:  # a tool that is not shown cannot be chosen
            names = tuple(name for name in choice.names if name in shown)
            choice = ToolChoice(choice.mode, names) if names else ToolChoice("none")
        request = protocol.render(self._history(), shown, choice, self.context.language)
        request = replace(request, sampling=self.setup.sampling)
        model = self.setup.model.name
        self.context.emit(TurnStarted(turn=turn, protocol=protocol.name, model=model, request=request))
        settings = self.tools.dispatch.settings[self.context.language]
        reader = protocol.reader(self.tools, self.session.new_call_id, settings)
        reply, output = await self._reply(request, reader)
        self.progress.usage += output.usage
        asked = (*reply.calls, *reply.broken)
        parts = (*((Text(reply.text),) if reply.text else ()), *asked)
        raw = output.text or output.thinking
        self.session.append(Message(role="assistant", parts=parts or (Text(raw if reply.problems else ""),)))
        replied = ModelReplied(
            turn=turn,
            reply=reply,
            raw=raw,
            usage=output.usage,
            raw_calls=output.calls,
            finish_reason=output.finish_reason,
        )
        self.context.emit(replied)
        if reply.problems or any(call.fixes for call in asked):
            mended = ReadingMended(
                raw=raw,
                problems=reply.problems,
                calls=asked,
                raw_calls=output.calls,
                model=model,
                protocol=protocol.name,
                tools=tuple(shown),
            )
            self.context.emit(mended)
        return reply

    def _history(self) -> list[Message]:
        history = self.session.recent()
        instructions = self.setup.instructions
        if instructions is None and len(self.tools):
            instructions = self.words["instructions"]
        if instructions:
            history.insert(0, system(instructions))
        return history

    async def _reply(self, request: ModelRequest, reader: Reader) -> tuple[Reply, ModelOutput]:
        """The model's output, read; what is surely for the user is shown as it comes."""
        self.shown = ""
        if self.asked.streams:
            output: ModelOutput | None = None
            async for piece in self.setup.model.stream(request):
                if not isinstance(piece, TextDelta):
                    output = piece
                elif visible := reader.feed(piece.text):
                    self.shown += visible
                    self.context.emit(TextDelta(text=visible))
            if output is None:
                raise SettingsError(
                    f"the model '{self.setup.model.name}' ended its stream without a whole output"
                )
            reply = reader.finish(output.calls, output.finish_reason)
            if rest := (reply.text or "").removeprefix(self.shown):
                self.context.emit(TextDelta(text=rest))
        else:
            output = await self.setup.model.complete(request)
            reply = reader.read(output.text, output.calls, output.finish_reason)
        if reply.program is not None:
            reply = self._first_steps(reply)
        if output.calls:
            reply = self._claimed(reply, {call.id for call in output.calls})
        return reply, output

    def _first_steps(self, reply: Reply) -> Reply:
        """Of several steps in one reply those that need no other's result; the model is told to go on from there."""
        ready: tuple[ToolCall, ...] = reply.program.ready
        if len(ready) == len(reply.calls):
            return reply
        message = self.words["steps"].format(count=len(ready))
        problem = ToolError(code=ErrorCode.UNPARSEABLE, message=message, retryable=True)
        return replace(reply, calls=ready, problems=(*reply.problems, problem))

    def _claimed(self, reply: Reply, sent: set[str]) -> Reply:
        """The reply with every provider's id (those that were `sent`) made unique in the session."""

        def claimed(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
            return tuple(replace(c, id=self.session.claim(c.id)) if c.id in sent else c for c in calls)

        return replace(
            reply, calls=claimed(reply.calls), broken=claimed(reply.broken) if reply.broken else ()
        )

    async def _forced_answer(self, limit: Stopped) -> str:
        """The model's best answer from what it has; what it still asks for is not run."""
        self.context.emit(LimitReached(limit=limit))
        self.session.append(Message(role="user", parts=(Note(self.words["limit"]),)))
        reply = await self._ask(ToolChoice("none"))
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
