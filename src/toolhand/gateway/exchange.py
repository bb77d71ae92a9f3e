"""One request of a client: the model is asked until there is an answer that can be given, or the budget is used up.

A call is only given out when its tool is there and its arguments fit. What cannot be used goes back to the model with what was
wrong; the client sees nothing of it. Text that was given while it came is never taken back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from toolhand.arguments.feedback import feedback
from toolhand.asking import Answer, Asking
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ModelError, ModelFault, ToolError
from toolhand.core.events import Event, ModelReplied, TextDelta, TurnStarted
from toolhand.core.language import language_of
from toolhand.core.messages import (
    Message,
    Note,
    Opaque,
    Reply,
    ToolCall,
    ToolResult,
    Usage,
    assistant,
    system,
)
from toolhand.core.tools import ToolChoice
from toolhand.gateway.fronts import Answered
from toolhand.gateway.hosting import Beside
from toolhand.gateway.plain import PLAIN
from toolhand.gateway.upstreams import Reached, told
from toolhand.gateway.wanted import Wanted
from toolhand.observability import Sink, listening
from toolhand.policies.shrinking.read_result import read_result_tool
from toolhand.policies.shrinking.store import has_results
from toolhand.protocols.parse import fresh_id
from toolhand.run import WORDS
from toolhand.sessions.session import Session
from toolhand.setup import Setup
from toolhand.toolset import Toolset

_ID: Final = re.compile(r"[a-zA-Z0-9_-]{4,64}")
"""What every client takes for a call's id, and no provider counts from 0 anew with each reply."""

MOST_TURNS: Final = 20
"""How often one request asks the model at most, whatever runs here in between."""

READ_RESULT: Final = "read_result"

_BESIDE: Final = {
    "en": "This call has not run, as another one of the same reply could not be used. Write it again with that one, mended.",
    "zh": "这次调用没有执行，因为同一条回复中的另一个调用无法使用。请改正那个调用，并一起重新写出。",
}

Show = Callable[[str], None]


class Conversation(Session):
    """A client's conversation: ids of calls are unique in it, and unlike those of any other."""

    def new_call_id(self) -> str:
        """A fresh id."""
        return fresh_id()

    def claim(self, call_id: str, taken: Iterable[str] = ()) -> str:
        """The provider's id where it is of a kind that every client takes and that no call has, else a fresh one."""
        fits = _ID.fullmatch(call_id) is not None and call_id not in self._ids and call_id not in taken
        made = call_id if fits else fresh_id()
        self._ids.add(made)
        return made


class Exchange:
    """One request.

    Args:
        wanted: what is asked for.
        reached: the model.
        context: who asks.
        tools: the client's own, and those that run here.
        beside: what is remembered of calls that ran here beside the client's.
        rounds: how often a reply may be sent back.
        sinks: who hears of what happens.
        show: takes the text as it comes; None where it is wanted whole.
    """

    def __init__(
        self,
        wanted: Wanted,
        reached: Reached,
        context: RunContext,
        *,
        tools: Toolset,
        beside: Beside,
        rounds: int,
        sinks: Sequence[Sink] = (),
        show: Show | None = None,
    ) -> None:
        self.wanted, self.tools, self._beside = wanted, tools, beside
        self._messages = beside.restored(wanted.messages)
        self._rounds_left, self._rounds = rounds, 0
        self._show = show
        language = language_of(_last_words(wanted.messages))
        self._context = listening(replace(context, language=language, emit=self._hear), sinks)
        session = Conversation(context.session_id)
        session.append(*self._messages)
        is_plain = not self.tools and not any(message.calls for message in self._messages)
        setup = Setup(
            model=told(reached.model, wanted.stop, wanted.extra),
            tools=self.tools,
            protocol=PLAIN if is_plain else reached.protocol,
            instructions=None,
            language=language,
            sampling=wanted.sampling,
        )
        self._asking = Asking(setup, session, streams=show is not None)
        self._settings = self.tools.dispatch.settings[language]
        self._turn = 0
        self._given = ""  # all that the client has of the text
        self._is_sent_back = False  # whether the reply that is under way stands for one that was sent back
        self._live = 0  # how much of this turn's text was given while it came
        self._finish: ModelReplied | None = None
        self._protocol = ""
        self._sends_schema = True
        self._spent = Usage()

    # ------------------------------------------------------------------ the loop
    async def run(self) -> Answered:
        """Asks until there is an answer.

        Raises:
            ModelError: when the model's server fails.
        """
        history, choice = list(self._messages), self.wanted.choice
        if self.wanted.shape is not None and self.tools:
            history = _instructed(history, self.wanted.shape.told(self._context.language))
        is_forced = self.wanted.shape is not None and not self.tools
        while True:
            answer = await self._ask(
                history, ToolChoice("none") if is_forced else choice, is_forced=is_forced
            )
            calls, text, objections = self._judged(answer, choice)
            if objections and self._rounds_left:
                self._rounds_left -= 1
                self._rounds += 1
                self._is_sent_back = True
                is_forced = is_forced or (self.wanted.shape is not None and not answer.reply.problems)
                history += [answer.message, *objections]
                continue
            if objections:
                calls = (*calls, *_insisted(answer.reply, choice))
            here = [call for call in calls if call.name not in self.wanted.tools]
            given = tuple(call for call in calls if call not in here)
            if not here or self._turn >= MOST_TURNS:
                return self._answered(answer, given, text)
            self._take(text, has_calls=True)
            history += await self._run_here(answer, calls, here, text, choice)
            if given:
                return self._answered(answer, given, "")
            choice = choice.now((READ_RESULT,) if READ_RESULT in self.tools else (), is_done=True)
            if self._turn == MOST_TURNS - 1:  # the last asking is for the answer
                history.append(_note(WORDS[self._context.language]["limit"]))
                choice = ToolChoice("none")

    async def _run_here(
        self,
        answer: Answer,
        calls: Sequence[ToolCall],
        here: Sequence[ToolCall],
        text: str,
        choice: ToolChoice,
    ) -> list[Message]:
        """Runs the calls that run here; gives the reply and their results for the history."""
        results = await self.tools.dispatch.each(here, replace(self._context, turn=self._turn), choice)
        given = [call for call in calls if call not in here]
        if given:
            self._beside.keep(given, here, results)
        if has_results(self._context) and READ_RESULT not in self.tools:
            self.tools = self.tools.extended(read_result_tool(name=READ_RESULT))
        opaque = next((part for part in answer.message.parts if isinstance(part, Opaque)), None)
        return [assistant(text, calls, opaque=opaque), Message(role="tool", parts=tuple(results))]

    async def _ask(self, history: Sequence[Message], choice: ToolChoice, *, is_forced: bool) -> Answer:
        self._turn += 1
        self._live = 0
        shape = self.wanted.shape
        grammar = shape.grammar if shape is not None and is_forced and self._sends_schema else None
        context = replace(self._context, turn=self._turn)
        try:
            answer = await self._asking.ask(history, self.tools, choice, context, grammar=grammar)
        except ModelError as error:
            if grammar is None or shape is None or error.fault not in (ModelFault.REFUSED, ModelFault.FAILED):
                raise
            self._sends_schema = False  # the schema may be what the server does not take
            history = _instructed(history, shape.told(context.language))
            answer = await self._asking.ask(history, self.tools, choice, context)
        self._spent += answer.usage
        return answer

    def _hear(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            # What is surely no call has been taken into `shown`; the rest of a reply is given once it is judged.
            shown = self._asking.shown
            if self._may_show and len(shown) > self._live:
                begin = "\n\n" if self._given and not self._live else ""
                self._give(begin + shown[self._live :])
                self._live = len(shown)
        elif isinstance(event, ModelReplied):
            self._finish = event
        elif isinstance(event, TurnStarted):
            self._protocol = event.protocol

    @property
    def _may_show(self) -> bool:
        return self._show is not None and self.wanted.shape is None and not self._is_sent_back

    def _give(self, text: str) -> None:
        if text:
            self._given += text
            if self._show is not None:
                self._show(text)

    # ------------------------------------------------------------------ what a reply is worth
    def _judged(self, answer: Answer, choice: ToolChoice) -> tuple[tuple[ToolCall, ...], str, list[Message]]:
        """The calls and the text that can be given, and what the model is told about the rest."""
        reply = _without_waiting(_first_steps(answer.reply))
        calls = tuple(call for call in reply.calls if choice.allows(call.name))
        if not self.wanted.is_parallel:
            calls = calls[:1]
        text, shape = reply.text or "", self.wanted.shape
        if reply.problems:
            cut = self._was_cut and all(problem.code is ErrorCode.TRUNCATED for problem in reply.problems)
            return calls, text, [] if cut else self._mistakes(reply)
        if calls:
            return calls, text, []
        if shape is not None and text.strip():
            made = shape.read(text, self._settings)
            if isinstance(made, str):
                return (), made, []
            return (), text, [] if self._was_cut else [_note(shape.objection(made, self._context.language))]
        words = WORDS[self._context.language]
        if choice.mode == "required" or (reply.calls and not text.strip()):
            said = words["call" if choice.mode == "required" else "limit"]
            return (), text, [*self._unused(reply, said), _note(said)]
        is_silent = not text.strip() and self._finish is not None and self._finish.finish_reason == "stop"
        return (), text, [_note(words["empty"])] if is_silent else []

    @property
    def _was_cut(self) -> bool:
        return self._finish is not None and self._finish.finish_reason == "length"

    def _mistakes(self, reply: Reply) -> list[Message]:
        """What the model is told of calls that could not be used: a result for each call, and a note for what has no name."""
        language = self._context.language
        results = self._unused(reply, _BESIDE[language])
        told = {id(call.problem) for call in reply.broken}
        rest = [feedback(problem, None, language) for problem in reply.problems if id(problem) not in told]
        return [*results, *([_note("\n".join(dict.fromkeys(rest)))] if rest else [])]

    def _unused(self, reply: Reply, words: str) -> list[Message]:
        beside = ToolError(code=ErrorCode.NOT_ALLOWED, message=words, retryable=True)
        results = [
            ToolResult(call_id=call.id, name=call.name, outcome=call.problem or beside)
            for call in (*reply.calls, *reply.broken)
        ]
        return [Message(role="tool", parts=tuple(results))] if results else []

    # ------------------------------------------------------------------ the answer
    def _answered(self, answer: Answer, calls: tuple[ToolCall, ...], text: str) -> Answered:
        if not calls and not text and answer.reply.problems and not self._was_cut:
            text = answer.raw  # better what it wrote than nothing
        self._take(text, has_calls=bool(calls))
        finish = "tool_calls" if calls else self._finish.finish_reason if self._finish else "stop"
        return Answered(
            text=self._given,
            calls=calls,
            finish_reason="stop" if finish == "tool_calls" and not calls else finish,
            usage=answer.usage,
            spent=self._spent,
            rounds=self._rounds,
            model=self._asking.setup.model.name,
            protocol=self._protocol,
        )

    def _take(self, text: str, *, has_calls: bool) -> None:
        """Gives what is still to be given of a reply's text; the next one begins anew."""
        if self._live:
            rest = text[self._live :]
        elif not self._given or text.startswith(self._given):
            rest = text[len(self._given) :] if self._given else text
        else:  # beside what was said for a reply that was sent back, only an answer is worth another word
            rest = "" if not text.strip() or (has_calls and self._is_sent_back) else f"\n\n{text}"
        self._give(rest)
        self._is_sent_back = False
        self._live = 0


def _insisted(reply: Reply, choice: ToolChoice) -> list[ToolCall]:
    """Calls that fit, but for an id that nobody gave: a model that insists may know it from where we cannot look."""
    return [
        replace(call, problem=None)
        for call in reply.broken
        if call.problem is not None and "invented" in call.problem.details and choice.allows(call.name)
    ]


def _first_steps(reply: Reply) -> Reply:
    """A plan's reply without the word that its later steps wait: the client runs the first ones, and the model goes on."""
    if reply.program is None or not reply.calls:
        return reply
    broken = {id(call.problem) for call in reply.broken}
    return replace(reply, problems=tuple(problem for problem in reply.problems if id(problem) in broken))


def _without_waiting(reply: Reply) -> Reply:
    """A reply without the calls whose value another call of it will tell: the client runs that one, and the model goes on."""
    named = {call.name for call in reply.calls}
    waiting = {
        id(call.problem)
        for call in reply.broken
        if call.problem is not None
        and "invented" in call.problem.details
        and not named.isdisjoint(call.problem.details.get("tools", ()))
    }
    if not waiting:
        return reply
    return replace(
        reply,
        broken=tuple(call for call in reply.broken if id(call.problem) not in waiting),
        problems=tuple(problem for problem in reply.problems if id(problem) not in waiting),
    )


def _note(text: str) -> Message:
    return Message(role="user", parts=(Note(text),))


def _last_words(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def _instructed(messages: Sequence[Message], words: str) -> list[Message]:
    """The messages with more instructions."""
    if messages and messages[0].role == "system":
        return [system(f"{messages[0].text}\n\n{words}"), *messages[1:]]
    return [system(words), *messages]
