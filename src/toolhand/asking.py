"""Asks the model once and reads its reply: render, send, read. What follows from the reply is the loop's (`conversation.py`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from toolhand.arguments.grounding import checked_values, id_parameters, sent_back, without_idle
from toolhand.arguments.grounds import Grounds
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ModelError, SettingsError, ToolError
from toolhand.core.events import (
    AskedAgain,
    ModelReplied,
    ReadingMended,
    SteppedDown,
    SteppedUp,
    TextDelta,
    TurnStarted,
)
from toolhand.core.language import say
from toolhand.core.messages import Message, ModelOutput, ModelRequest, Reply, ToolCall, Usage, assistant
from toolhand.core.tools import ToolChoice
from toolhand.ladder import way_of
from toolhand.models.announcing import heard_by
from toolhand.models.facts import facts
from toolhand.output import FINAL_ANSWER
from toolhand.protocols import Doubt, ModelProtocol, Reader, Said
from toolhand.protocols.sources import asked_first
from toolhand.run import WORDS
from toolhand.sessions.session import Session
from toolhand.setup import Setup
from toolhand.tools.collection import ToolCollection
from toolhand.toolset import Toolset


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one asking gave.

    Args:
        reply: what was understood.
        message: the reply as it stands in the history.
        usage: tokens, and what they cost.
        raw: what the model wrote.
    """

    reply: Reply
    message: Message
    usage: Usage
    raw: str


class Asking:
    """How one run asks its model.

    Args:
        setup: what the agent is made of.
        session: the conversation, whose ids new calls get.
        streams: whether the text is wanted as it comes.
    """

    def __init__(self, setup: Setup, session: Session, *, streams: bool) -> None:
        self.setup, self.session, self.streams = setup, session, streams
        self.way = way = way_of(setup.protocol, session.id)
        self._price = facts(setup.model).price
        self._mends_all = way.checks_steps or way.drops_idle or setup.chooser is not None
        self.shown = ""
        """What the user has seen of the reply that is under way."""

    async def ask(
        self,
        history: Sequence[Message],
        tools: Toolset,
        choice: ToolChoice,
        context: RunContext,
        *,
        grammar: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Asks for one reply. Where the server refuses what a protocol needs, the next rung is asked at once.

        Args:
            history: what the model is shown.
            tools: what it may call.
            choice: which of them.
            context: the turn's.
            grammar: a JSON Schema that the reply is forced into, instead of the protocol's own.

        Raises:
            ModelError: when the model's server fails.
        """
        self.shown = ""
        protocol, hidden = self.way.protocol, tools.dispatch.hidden(context)
        shown = tools.offered(context, hidden) if hidden or self.setup.chooser is not None else tools
        choice = choice.among(shown) if choice.names else choice  # a tool that is not shown cannot be chosen
        request = protocol.render(history, shown, choice, context.language)
        if grammar is not None or request.sampling != self.setup.sampling:
            request = replace(request, sampling=self.setup.sampling, grammar=grammar or request.grammar)
        model = self.setup.model.name
        context.emit(TurnStarted(turn=context.turn, protocol=protocol.name, model=model, request=request))
        settings = tools.dispatch.settings_for(context, hidden)
        reader = partial(protocol.reader, tools, self.session.new_call_id, settings)
        try:
            reply, output = await self._reply(request, reader(), context)
            if (again := getattr(protocol, "again", None)) is not None:  # `Doubting`, by its one method
                said = Said(messages=history, tools=shown, request=request, output=output, reply=reply)
                reply, output = await self._sure(again(said), said, reader, context)
        except ModelError as error:
            # What was refused may be the caller's own schema, which is the caller's to give up.
            refusal = None if self.shown or grammar is not None else self.way.refused(error, request)
            if refusal is None:
                raise
            context.emit(refusal)
            return await self.ask(history, tools, choice, context)
        step = self.way.heard(reply) if grammar is None else None
        if grammar is None and (self._mends_all or tools.dispatch.needs_grounds):
            reply = self._mended(reply, history, shown, choice, context, tools=tools)
        return self._taken(reply, output, protocol, shown, context, step=step)

    def _mended(
        self,
        reply: Reply,
        history: Sequence[Message],
        shown: ToolCollection,
        choice: ToolChoice,
        context: RunContext,
        *,
        tools: Toolset,
    ) -> Reply:
        """The reply without invented ids, which go back to the model, and idle values; where it gives up, a source is asked."""
        found = [tool for call in reply.calls if (tool := shown.get(call.name)) is not None]
        way, chooser = self.way, self.setup.chooser
        is_checked = way.checks_steps or (way.checks_values and any(map(id_parameters, found)))
        if found and (is_checked or way.drops_idle):
            grounds = Grounds(history)
            if FINAL_ANSWER in shown:  # what an answer says may be worked out
                shown = shown.filter(lambda tool: tool.name != FINAL_ANSWER)
            if way.drops_idle:
                reply = replace(reply, calls=without_idle(reply.calls, grounds, shown))
            if is_checked:
                calls, broken = checked_values(
                    reply.calls, grounds, shown, context.language, checks_steps=way.checks_steps
                )
                if (broken or len(calls) > 1) and (step := way.lacked(calls, broken, shown)) is not None:
                    context.emit(step)
                    calls, broken = (), sent_back((*calls, *broken), context.language)
                problems = (call.problem for call in broken if call.problem is not None)
                reply = replace(reply, calls=calls, problems=(*reply.problems, *problems))
                reply = replace(reply, broken=(*reply.broken, *broken))
        elif not reply.calls and any(tool.rules.source for tool in shown):
            reply = asked_first(reply, history, shown, choice, self.session.new_call_id)
        return reply if chooser is None else chooser.looked_through(reply, tools, context)

    def _taken(
        self,
        reply: Reply,
        output: ModelOutput,
        protocol: ModelProtocol,
        tools: ToolCollection,
        context: RunContext,
        *,
        step: SteppedDown | SteppedUp | None,
    ) -> Answer:
        """The answer as it stands in the history; emits what was read, and what was mended in reading it."""
        if self.streams and (rest := (reply.text or "").removeprefix(self.shown)):
            context.emit(TextDelta(text=rest))  # nothing of it is doubted any more
        raw, usage = output.text or output.thinking, self._priced(output)
        asked = (*reply.calls, *reply.broken)
        replied = ModelReplied(
            turn=context.turn,
            reply=reply,
            raw=raw,
            usage=usage,
            raw_calls=output.calls,
            finish_reason=output.finish_reason,
        )
        context.emit(replied)
        if reply.problems or any(call.fixes for call in asked):
            self._tell_mended(replied, asked, protocol, tools, context)
        if step is not None:
            context.emit(step)
        unread = raw if reply.problems else ""
        message = assistant(reply.text or "", asked, opaque=output.opaque, unread=unread)
        return Answer(reply=reply, message=message, usage=usage, raw=raw)

    def _priced(self, output: ModelOutput) -> Usage:
        """An output's tokens with what they cost, where the price of the model that answered is known."""
        is_own = output.model in ("", self.setup.model.name)
        price = self._price if is_own else facts(output.model).price
        if price is None:
            return output.usage
        return replace(output.usage, cost=price.cost(output.usage), currency=price.currency)

    def _tell_mended(
        self,
        replied: ModelReplied,
        calls: tuple[ToolCall, ...],
        protocol: ModelProtocol,
        tools: ToolCollection,
        context: RunContext,
    ) -> None:
        """Emits what was mended in reading a reply, and what could not be."""
        mended = ReadingMended(
            raw=replied.raw,
            problems=replied.reply.problems,
            calls=calls,
            raw_calls=replied.raw_calls,
            model=self.setup.model.name,
            protocol=protocol.name,
            tools=tuple(tools),
        )
        context.emit(mended)

    async def _sure(
        self, doubt: Doubt | None, said: Said, reader: Callable[[], Reader], context: RunContext
    ) -> tuple[Reply, ModelOutput]:
        """A reply that its protocol doubts, or what the model says when it is asked further."""
        if doubt is None:
            return said.reply, said.output
        told, asked = said.output, Usage()
        if doubt.question is not None:
            with heard_by(context.emit):
                told = await self.setup.model.complete(doubt.question)
            asked = told.usage
        settled, usage = doubt.settled(told), said.output.usage + asked
        reply, output, sure, is_kept = said.reply, said.output, settled.sure, True
        if settled.instead is not None:
            other, heard = await self._reply(settled.instead, reader(), context)
            usage, is_kept = usage + heard.usage, False
            if settled.judged is not None:
                sure, is_better = settled.judged(other)
                is_kept = not is_better
            if not is_kept:
                reply, output = other, heard
        context.emit(AskedAgain(reason=doubt.reason, sure=sure, is_kept=is_kept, usage=asked))
        return reply, replace(output, usage=usage)

    async def _reply(
        self, request: ModelRequest, reader: Reader, context: RunContext
    ) -> tuple[Reply, ModelOutput]:
        """The model's output, read; what is surely for the user is shown as it comes."""
        if self.streams:
            output = await self._streamed(request, reader, context)
            reply = reader.finish(output.calls, output.finish_reason)
        else:
            with heard_by(context.emit):
                output = await self.setup.model.complete(request)
            reply = reader.read(output.text, output.calls, output.finish_reason)
        if reply.program is not None:
            reply = _first_steps(reply, context)
        return await self._unique(reply, {call.id for call in output.calls}), output

    async def _streamed(self, request: ModelRequest, reader: Reader, context: RunContext) -> ModelOutput:
        output: ModelOutput | None = None
        with heard_by(context.emit):
            async for piece in self.setup.model.stream(request):
                if not isinstance(piece, TextDelta):
                    output = piece
                elif visible := reader.feed(piece.text):
                    self.shown += visible
                    context.emit(TextDelta(text=visible))
        if output is None:
            raise SettingsError(
                say(
                    f"the model '{self.setup.model.name}' ended its stream without a whole output",
                    f"模型“{self.setup.model.name}”的流结束时没有完整的输出",
                )
            )
        return output

    async def _unique(self, reply: Reply, taken: Collection[str]) -> Reply:
        """The reply with ids that no other call of the session has: `taken` may be those of others, as the provider's own."""
        while taken or (  # those of long ago, which are not in memory, are looked up
            taken := await self.session.known_calls([c.id for c in (*reply.calls, *reply.broken)])
        ):
            own = {c.id: self.session.claim(c.id) for c in (*reply.calls, *reply.broken) if c.id in taken}
            if any(name != new for name, new in own.items()):
                calls, broken = (
                    tuple(replace(call, id=own.get(call.id, call.id)) for call in calls)
                    for calls in (reply.calls, reply.broken)
                )
                reply = replace(reply, calls=calls, broken=broken)
            taken = ()
        return reply


def _first_steps(reply: Reply, context: RunContext) -> Reply:
    """Of several steps in one reply those that need no other's result; the model is told to go on from there."""
    ready: tuple[ToolCall, ...] = reply.program.ready
    if len(ready) == len(reply.calls):
        return reply
    message = WORDS[context.language]["steps" if ready else "no_steps"].format(count=len(ready))
    problem = ToolError(code=ErrorCode.UNPARSEABLE, message=message, retryable=True)
    return replace(reply, calls=ready, problems=(*reply.problems, problem))
