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
from toolhand.core.messages import Message, Note, Reply, ToolCall, ToolResult, Usage, system
from toolhand.core.tools import ToolChoice
from toolhand.gateway.fronts import Answered
from toolhand.gateway.plain import PLAIN
from toolhand.gateway.upstreams import Reached, told
from toolhand.gateway.wanted import Wanted
from toolhand.observability import Sink, listening
from toolhand.protocols.parse import fresh_id
from toolhand.run import WORDS
from toolhand.sessions.session import Session
from toolhand.setup import Setup

_ID: Final = re.compile(r"[a-zA-Z0-9_-]{4,64}")
"""What every client takes for a call's id, and no provider counts from 0 anew with each reply."""

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
        rounds: int,
        sinks: Sequence[Sink] = (),
        show: Show | None = None,
    ) -> None:
        self.wanted, self.tools = wanted, wanted.tools
        self._rounds_left, self._rounds = rounds, 0
        self._show = show
        language = language_of(_last_words(wanted.messages))
        self._context = listening(replace(context, language=language, emit=self._hear), sinks)
        session = Conversation(context.session_id)
        session.append(*wanted.messages)
        is_plain = not self.tools and not any(message.calls for message in wanted.messages)
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
        history, choice = list(self.wanted.messages), self.wanted.choice
        if self.wanted.shape is not None and self.tools:
            history = _instructed(history, self.wanted.shape.told(self._context.language))
        is_forced = self.wanted.shape is not None and not self.tools
        while True:
            answer = await self._ask(
                history, ToolChoice("none") if is_forced else choice, is_forced=is_forced
            )
            calls, text, objections = self._judged(answer, choice)
            if not objections or not self._rounds_left:
                return self._answered(answer, calls, text)
            self._rounds_left -= 1
            self._rounds += 1
            is_forced = is_forced or (self.wanted.shape is not None and not answer.reply.problems)
            history += [answer.message, *objections]

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
                self._give(shown[self._live :])
                self._live = len(shown)
        elif isinstance(event, ModelReplied):
            self._finish = event
        elif isinstance(event, TurnStarted):
            self._protocol = event.protocol

    @property
    def _may_show(self) -> bool:
        return self._show is not None and self.wanted.shape is None and not self._rounds

    def _give(self, text: str) -> None:
        if text:
            self._given += text
            if self._show is not None:
                self._show(text)

    # ------------------------------------------------------------------ what a reply is worth
    def _judged(self, answer: Answer, choice: ToolChoice) -> tuple[tuple[ToolCall, ...], str, list[Message]]:
        """The calls and the text that can be given, and what the model is told about the rest."""
        reply = _first_steps(answer.reply)
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
        self._give(self._rest(text, has_calls=bool(calls)))
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

    def _rest(self, text: str, *, has_calls: bool) -> str:
        """What is still to be given of the last reply's text."""
        if self._live:
            return text[self._live :]
        if not self._given:
            return text
        if text.startswith(self._given):
            return text[len(self._given) :]
        return "" if has_calls or not text.strip() else f"\n\n{text}"


def _first_steps(reply: Reply) -> Reply:
    """A plan's reply without the word that its later steps wait: the client runs the first ones, and the model goes on."""
    if reply.program is None or not reply.calls:
        return reply
    broken = {id(call.problem) for call in reply.broken}
    return replace(reply, problems=tuple(problem for problem in reply.problems if id(problem) in broken))


def _note(text: str) -> Message:
    return Message(role="user", parts=(Note(text),))


def _last_words(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def _instructed(messages: Sequence[Message], words: str) -> list[Message]:
    """The messages with more instructions."""
    if messages and messages[0].role == "system":
        return [system(f"{messages[0].text}\n\n{words}"), *messages[1:]]
    return [system(words), *messages]
