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
        self.showing = Showing(setup, asked.session)
        self.answering = answering(setup, asked)
        # Half a value is of no use: the words of a run whose answer has a type are not shown as they come.
        self.asking = Asking(setup, asked.session, streams=asked.streams and self.answering is None)

    async def reply(self, tools: Toolset, choice: ToolChoice, context: RunContext) -> Answer:
        """Asks, and once more where the model refuses what it is asked and there is another way to ask.

        Args:
            tools: what it may call.
            choice: which of them.
            context: the turn's.

        Raises:
            ModelError: when the model's server fails.
        """
        try:
            answer = await self._asked_once(tools, choice, context)
        except ModelError as error:
            is_mended = self.showing.makes_room(error) or (
                self.answering is not None and self.answering.gives_up_schema(error)
            )
            if self.asking.shown or not is_mended:
                raise
            answer = await self._asked_once(tools, choice, context)
        self.showing.count(answer.usage)
        if self.answering is None:
            return answer
        settings = tools.dispatch.settings_for(context)
        reply, message = await self.answering.judge(answer.reply, answer.message, answer.raw, settings)
        return replace(answer, reply=reply, message=message)

    async def _asked_once(self, tools: Toolset, choice: ToolChoice, context: RunContext) -> Answer:
        """Shows the model what there is room for, and what it may call."""
        sentence = grammar = None
        if self.answering is not None:
            protocol = self.asking.way.protocol.name
            choice, tools, sentence = self.answering.prepare(choice, tools, protocol, context.language)
            grammar = self.answering.grammar
        messages = await self.showing.messages(tools, context, sentence)
        return await self.asking.ask(messages, tools, choice, context, grammar=grammar)
