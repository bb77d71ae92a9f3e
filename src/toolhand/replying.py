"""Gets one reply of the model: what it is shown, what it may call, and whether its reply is the answer."""

from __future__ import annotations

from dataclasses import replace

from toolhand.answering import answering
from toolhand.asking import Answer, Asking
from toolhand.core.context import RunContext
from toolhand.core.errors import ModelError
from toolhand.core.tools import ToolChoice
from toolhand.setup import Asked, Setup
from toolhand.showing import Showing
from toolhand.toolset import Toolset


class Replying:
    """How one run gets its model's replies.

    Args:
        setup: what the agent is made of.
        asked: what the run is asked to do.
    """

    def __init__(self, setup: Setup, asked: Asked) -> None:
        self.answering = answering(setup, asked) if asked.output or setup.output else None
        self._asked, self._has_chosen = asked, setup.chooser is None
        # Half a value is of no use: the words of a run whose answer has a type are not shown as they come.
        self.asking = Asking(setup, asked.session, streams=asked.streams and self.answering is None)
        self.showing = Showing(setup, asked.session, self.asking.way)

    async def reply(
        self, tools: Toolset, choice: ToolChoice, context: RunContext, *, is_second: bool = False
    ) -> Answer:
        """Asks, and once more where the model refuses what it is asked and there is another way to ask.

        Args:
            tools: what it may call.
            choice: which of them.
            context: the turn's.
            is_second: whether it was asked in vain already.

        Raises:
            ModelError: when the model's server fails.
        """
        if not self._has_chosen:
            await self._choose(tools, choice, context)
        sentence = grammar = None
        shown, allowed = tools, choice
        if self.answering is not None:
            protocol = self.asking.way.protocol.name
            allowed, shown, sentence = self.answering.prepare(choice, tools, protocol, context.language)
            grammar = self.answering.grammar
        messages = await self.showing.messages(shown, context, sentence)
        try:
            answer = await self.asking.ask(messages, shown, allowed, context, grammar=grammar)
        except ModelError as error:
            if is_second or self.asking.shown or not self._mends(error):
                raise
            return await self.reply(tools, choice, context, is_second=True)
        if answer.usage.input_tokens:
            self.showing.count(answer.usage)
        if self.answering is None:
            return answer
        settings = tools.dispatch.settings_for(context)
        reply, message = await self.answering.judge(answer.reply, answer.message, answer.raw, settings)
        return replace(answer, reply=reply, message=message)

    def _mends(self, error: ModelError) -> bool:
        """Whether another request may be taken where this one was refused: a shorter one, or one without a schema."""
        return self.showing.makes_room(error) or (
            self.answering is not None and self.answering.gives_up_schema(error)
        )

    async def _choose(self, tools: Toolset, choice: ToolChoice, context: RunContext) -> None:
        """Chooses at a run's first turn which of many tools it is about."""
        chooser, asked, self._has_chosen = self.showing.setup.chooser, self._asked, True
        if chooser is not None:
            text = asked.text or asked.session.last_words
            hidden = tools.dispatch.hidden(context)
            await chooser.begin(asked.session, text, context, hidden=hidden, must=choice.names)
