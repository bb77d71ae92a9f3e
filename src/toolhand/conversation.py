"""The loop: render the history, ask the model, read its reply, run its calls, until there is an answer.

It knows no protocol's text, no provider's field names and no tool's types. What an agent is made of stands in `Setup`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolhand.answering import left
from toolhand.arguments.feedback import feedback
from toolhand.asking import Answer
from toolhand.auditing import audit_of, turns_of
from toolhand.calling import Calling
from toolhand.core.context import RunContext
from toolhand.core.errors import SessionError, SettingsError
from toolhand.core.events import (
    Event,
    LimitReached,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
)
from toolhand.core.history_events import HistoryHealed
from toolhand.core.language import language_of, say
from toolhand.core.messages import Message, Note, Reply, Text, ToolCall, assistant, user
from toolhand.core.tools import ToolChoice
from toolhand.observability import listening
from toolhand.observability.defaults import default_sinks
from toolhand.planning import Planning, rules_of
from toolhand.policies.shrinking.read_result import read_result_tool
from toolhand.policies.shrinking.store import has_results
from toolhand.replying import Replying
from toolhand.run import WORDS, Run, Stopped
from toolhand.sessions.healing import heal
from toolhand.sessions.stored import StoredSession
from toolhand.settling import Settling
from toolhand.setup import Asked, Setup

READ_RESULT = "read_result"

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
        # a server's list may have changed since the last run
        self.tools = setup.tools.now() if setup.tools.may_change else setup.tools
        if setup.chooser is not None:
            self.tools = setup.chooser.ready(self.tools)
        self.planning = (
            Planning(**rules_of(setup.protocol)) if hasattr(setup.protocol, "rules") else Planning()
        )
        self.calling = Calling(asked, self.planning)
        self.replying = Replying(setup, asked)
        self.answering = self.replying.answering
        listener = () if asked.on_event is None else (_Listener(asked.on_event),)
        kept = (
            (turns_of(self.session), audit_of(self.session))
            if isinstance(self.session, StoredSession)
            else ()
        )
        self._sinks = (*listener, *default_sinks(), *setup.sinks, *kept)
        self._base = RunContext(
            user=asked.user or self.session.user,
            session_id=self.session.id,
            language=setup.language or language_of(asked.text or ""),
            facts=asked.facts,
            permissions=asked.permissions,
            roles=asked.roles,
            before_tool=self.calling.before_tool,
        )
        self._know()

    def _know(self, **changes: Any) -> None:
        """Changes what the run's policies and tools know of it, and who listens hears with its events."""
        self._base = replace(self._base, **changes) if changes else self._base
        self.context = listening(self._base, self._sinks) if self._sinks else self._base
        self.words = WORDS[self.context.language]

    async def drive(self) -> Run[Any]:
        """The whole run."""
        model, said = self.setup.model.name, self.asked.text or ""
        self.context.emit(RunStarted(text=said, model=model, tools=tuple(self.tools)))
        try:
            if self.asked.text is None:
                await self._check_exists()
            async with self.session.held(self.asked.user):
                run = await self._held()
        except BaseException as error:
            self.context.emit(RunFailed(exception=error))
            raise
        self.context.emit(RunFinished(run=run))
        return run

    async def _held(self) -> Run[Any]:
        """The run, once it has the session to itself."""
        if (seconds := self.asked.limits.seconds) is not None:
            self._know(deadline=time.monotonic() + seconds)
        if self.tools.dispatch.cold:
            self.tools.dispatch.warm_up()
        if self.asked.history:
            self._take_over()
        session, start = self.session, self.session.count
        if self.asked.text is None:
            await self._go_on()
        else:
            if start and (waiting := session.unanswered):  # no call stays without a result
                await self._let_go(waiting)
            session.append(user(self.asked.text))
            await session.saved()
        output: str | None = "" if self.calling.pending else None
        if output is None and self.planning.answer is not None:
            output = await self._planned_answer()
        stopped: Stopped | None = None
        while output is None:
            stopped = self.calling.progress.limit_reached(self.asked.limits, self.context)
            try:
                output = await self._turn() if stopped is None else await self._forced_answer(stopped)
            except _TimeIsUp:
                if stopped is None:
                    stopped = "time_limit"
                    self.context.emit(LimitReached(limit=stopped))
                output = self._out_of_time()
        return self._run(output, "approval" if self.calling.pending else stopped, start)

    def _out_of_time(self) -> str:
        """What is said when the time ended in the midst of a reply: what had come of it, and that it is not all."""
        said = self.words["time"].format(seconds=self.asked.limits.seconds)
        shown = self.replying.asking.shown
        rest = f"\n\n{said}" if shown else said
        if self.replying.asking.streams:
            self.context.emit(TextDelta(text=rest))
        self.session.append(Message(role="assistant", parts=(Text(shown + rest),)))
        return shown + rest

    async def _check_exists(self) -> None:
        if not await self.session.exists():
            raise SessionError(
                say(
                    f"there is no session '{self.session.id}': there is nothing to resume",
                    f"没有会话“{self.session.id}”，无法继续",
                )
            )

    async def _go_on(self) -> None:
        """Goes on with an interrupted run, with what it knew."""
        session = self.session
        self._know(language=self.setup.language or language_of(session.last_words), memory=session.suspended)
        if not session.suspended:
            told = session.run_calls()
            self.tools.dispatch.recall(*told, self._base)
            self.planning.recall(*told, self._base)
            self.calling.progress.had_called = bool(told[0])
        if not session.is_under_way:
            raise SettingsError(
                say(
                    f"the last run of session '{session.id}' has come to its end: there is nothing to resume",
                    f"会话“{session.id}”的上一次运行已经结束，没有可以继续的",
                )
            )
        Settling(session, self.tools, self.context).check(session.unanswered, self.asked.decisions)
        if self.answering is not None:
            session.append(*left(session.unanswered, self.context.language))
        if waiting := session.unanswered:
            settling = Settling(session, self.tools, self.context)
            known = settling.resumed(waiting, self.asked.decisions)
            await self.calling.run(waiting, self.tools, self.context, self._choice(), known)

    async def _let_go(self, waiting: Sequence[ToolCall]) -> None:
        """Settles the calls of an interrupted run, as the user says something new instead."""
        settling = Settling(self.session, self.tools, self.context)
        way = self.calling.way(self.tools, self.context, ToolChoice())
        known = {**settling.let_go(waiting), **self.planning.left(waiting, way)}
        await self.calling.run(waiting, self.tools, self.context, ToolChoice(), known)
        self.calling.forget()
        if left := self.session.unanswered:  # they would wait for a person
            self.session.append(Message(role="tool", parts=tuple(map(settling.not_run, left))))

    def _take_over(self) -> None:
        """Begins the session with a history from elsewhere, mended where it is damaged."""
        if self.session.count:
            raise SettingsError(
                say(
                    f"the session '{self.session.id}' has a history of its own: give message_history=… with a new session",
                    f"会话“{self.session.id}”已有自己的历史：message_history=… 请配合新会话使用",
                )
            )
        healed = heal(self.asked.history, language=self.context.language)
        self.session.append(*healed.messages)
        if healed.repairs:
            self.context.emit(HistoryHealed(repairs=healed.repairs))

    def _choice(self) -> ToolChoice:
        choice = self.asked.choice
        if choice.mode != "required" and not choice.names:
            return choice
        more = (READ_RESULT,) if has_results(self.context) else ()
        return choice.now(more, is_done=self.calling.progress.has_called)

    async def _turn(self) -> str | None:
        """One reply and what it asks for; its text if it is the answer."""
        choice = self._choice()
        reply = await self._ask(choice)
        calls = (*reply.calls, *reply.broken)
        if calls:
            await self.calling.run(calls, self.tools, self.context, choice)
        if self.answering is not None:
            self.session.append(*self.answering.replies(self.context.language))
            if self.answering.has_looked:
                return self.answering.text if self.answering.has_ended else None
        progress = self.calling.progress
        progress.repairs = 0 if reply.calls else progress.repairs + 1
        note = self._objection(reply)
        if note is not None and not self.calling.pending:
            self.session.append(Message(role="user", parts=(Note(note),)))
        if self.calling.pending:
            return reply.text or ""
        if self.planning.answer is not None and (answer := await self._planned_answer()) is not None:
            return answer
        return None if calls or note is not None else reply.text

    async def _planned_answer(self) -> str | None:
        """The answer that a plan itself has given; it is in the history afterwards."""
        answer, self.planning.answer = self.planning.answer, None
        if answer is None:
            return None
        if self.replying.asking.streams:
            self.context.emit(TextDelta(text=answer))
        self.session.append(Message(role="assistant", parts=(Text(answer),)))
        if self.answering is None:
            return answer
        await self.answering.hear(answer, self.tools.dispatch.settings_for(self.context))
        self.session.append(*self.answering.replies(self.context.language))
        return answer if self.answering.has_ended else None

    def _objection(self, reply: Reply) -> str | None:
        """What the model is told, beside its calls' results, about what could not be used; None where all was well."""
        answered = {id(call.problem) for call in reply.broken}
        nameless = [problem for problem in reply.problems if id(problem) not in answered]
        if nameless:
            return "\n".join(feedback(problem, None, self.context.language) for problem in nameless)
        if reply.calls or reply.broken:
            return None
        progress = self.calling.progress
        if self.asked.choice.mode == "required" and not progress.has_called and not progress.has_insisted:
            progress.has_insisted = True
            return self.words["call"]
        return None if (reply.text or "").strip() else self.words["empty"]

    async def _ask(self, choice: ToolChoice, grace: float | None = None) -> Reply:
        """Asks the model once, for `grace` seconds instead of those that are left; its reply is in the history afterwards."""
        progress = self.calling.progress
        progress.turns += 1
        self._know(turn=progress.turns)
        if has_results(self.context) and READ_RESULT not in self.tools:
            self.tools = self.tools.extended(read_result_tool(name=READ_RESULT))
        if grace is None and self.context.deadline is not None:
            grace = self.context.seconds_left
        asked = self.replying.reply(self.tools, choice, self.context)
        answer = await (asked if grace is None else _within(grace, asked))
        progress.usage += answer.usage
        self.session.append(answer.message)
        return answer.reply

    async def _forced_answer(self, limit: Stopped) -> str:
        """The model's best answer from what it has; what it still asks for is not run."""
        self.context.emit(LimitReached(limit=limit))
        words = self.words["limit"]
        if self.answering is not None:
            words = f"{words}\n{self.answering.force(self.context.language, is_last=True)}"
        self.session.append(Message(role="user", parts=(Note(words),)))
        seconds = self.asked.limits.seconds
        grace = None
        if limit == "time_limit" and seconds is not None:
            grace = min(LONGEST_GRACE, max(SHORTEST_GRACE, seconds * SHARE_OF_GRACE))
        reply = await self._ask(ToolChoice("none"), grace)
        said = reply.text or "" if self.answering is None else self.answering.text
        calls = (*reply.calls, *reply.broken)
        if calls:
            await self.calling.run(calls, self.tools, self.context, ToolChoice("none"))
        if not said and self.answering is None:
            said = self.words["no_answer"].format(limit=limit)
            if self.replying.asking.streams:
                self.context.emit(TextDelta(text=said))
        if calls:  # the run is over: nothing is left to go on with
            self.session.append(assistant(said))
        return said

    def _run(self, said: str, stopped: Stopped | None, start: int) -> Run[Any]:
        progress, made = self.calling.progress, self.answering and self.answering.made
        if self.answering is not None and made is None:
            stopped = stopped or "output_invalid"
        return Run(
            output=said if self.answering is None else made and made.value,
            said=said,
            stopped=stopped or "answered",
            messages=self.session.messages,
            new_messages=tuple(self.session.since(start)),
            calls=tuple(progress.calls),
            results=tuple(progress.results),
            pending=self.calling.pending,
            usage=progress.usage,
            session_id=self.session.id,
            trace_id=self.context.trace_id,
        )


async def _within(seconds: float, asked: Coroutine[Any, Any, Answer]) -> Answer:
    """What the model answers in so many seconds."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await asked
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise _TimeIsUp from error
