"""What the model is shown in a turn: the instructions, and of the history what there is room for."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from toolhand.core.context import RunContext
from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.history_events import HistoryTrimmed
from toolhand.core.messages import Message, Usage, system
from toolhand.core.tokens import estimate_tokens
from toolhand.ladder import Way
from toolhand.models.facts import facts
from toolhand.protocols.constrained import Constrained
from toolhand.run import WORDS
from toolhand.sessions.session import Session
from toolhand.sessions.trimming import Bounds, Window
from toolhand.setup import Setup
from toolhand.toolset import Toolset

UNKNOWN_CONTEXT: Final = 100_000
"""Tokens that a model of which nothing is known is taken to read; if it refuses, less is shown."""

LONGEST_REPLY: Final = 4_096
"""Tokens that are kept free for a reply whose length nobody bounded."""

SHARE_OF_REPLY: Final = 0.25

LEAST_TOKENS: Final = 300
"""However little room there is, so much of the history is asked for."""

AFTER_OVERFLOW: Final = 0.5
"""The part of what was too long that is shown at the second try."""

_MARGIN: Final = 0.97


class Showing:
    """What one run shows its model.

    The tokens of messages are estimated; what the model's server counted of the last request corrects the estimate, for this
    session and model.

    Args:
        setup: what the agent is made of.
        session: the conversation.
        way: how it speaks to its model.
    """

    def __init__(self, setup: Setup, session: Session, way: Way) -> None:
        self.setup, self.session, self.way = setup, session, way
        self._window, self._known = Window(), facts(setup.model)
        self._fixed = 0

    async def messages(
        self, tools: Toolset, context: RunContext, sentence: str | None = None
    ) -> list[Message]:
        """The messages for the next request, trimmed first where they are too long.

        Args:
            tools: what the model may call; their descriptions take room too.
            context: the run's; hears of it when the history is trimmed.
            sentence: what the instructions say about the answer; None for their own words about it.
        """
        session, history = self.session, self.setup.history
        window = self._window = session.window = session.window or Window()
        window.language = context.language
        head = self._instructions(tools, context, sentence)
        offered = tools if self.setup.chooser is None else tools.offered(context)
        self._fixed = offered.tokens + sum(map(_tokens_of, head))
        bounds = self._bounds()
        if window.seen or session.count <= 1:
            window.extend(session.since(window.seen))
        else:
            self._begin(bounds)
        cuts = window.cuts
        shown = await window.fit(bounds, history.keep, history.summarise)
        if window.cuts > cuts:
            trimmed = HistoryTrimmed(messages=len(shown), tokens=window.tokens, left_out=window.last_cut)
            context.emit(trimmed)
        if window.has_left_out or window.view.short_until:
            head.append(WORDS[context.language]["left_out"])
        text = "\n\n".join(filter(None, head))
        return [system(text), *shown] if text else shown

    def count(self, usage: Usage) -> None:
        """Takes note of what the server counted of the request that was made of the last messages."""
        if usage.requests != 1 or not self._window.is_counted:
            return
        estimated = self._window.tokens + self._fixed
        if estimated >= LEAST_TOKENS:
            self._window.correct(usage.input_tokens / estimated)

    def makes_room(self, error: ModelError) -> bool:
        """Whether the model refused what it was shown as too long, and now less would be shown."""
        if error.fault is not ModelFault.CONTEXT_OVERFLOW or self._window.tokens <= LEAST_TOKENS:
            return False
        self._window.most_tokens = max(LEAST_TOKENS, int(self._window.tokens * AFTER_OVERFLOW))
        return True

    def _instructions(self, tools: Toolset, context: RunContext, sentence: str | None) -> list[str]:
        """What is said before the history: by the program, and by a history that begins with such words itself."""
        words, given, first = WORDS[context.language], self.setup.instructions, self.session.first
        head = [given or "", sentence or ""]
        # A constrained protocol's own rules say all that a model has to know.
        if given is None and tools.tokens and not isinstance(self.way.protocol, Constrained):
            head = [f"{words['facts']} {words['answer'] if sentence is None else sentence}".strip()]
        if first is not None and first.role == "system":
            head.append(first.text)
        return head

    def _bounds(self) -> Bounds:
        history, known = self.setup.history, self._known
        context = known.context_tokens or UNKNOWN_CONTEXT
        longest = self.setup.sampling.max_tokens or min(LONGEST_REPLY, known.max_output or LONGEST_REPLY)
        reply = min(longest, int(context * SHARE_OF_REPLY))
        room = (context - reply) * _MARGIN / self._window.factor - self._fixed
        if history.tokens is not None:
            room = min(room, history.tokens / self._window.factor)
        if self._window.most_tokens is not None:
            room = min(room, self._window.most_tokens)
        tokens = max(LEAST_TOKENS if history.tokens is None else 1, int(room))
        return Bounds(turns=history.turns, messages=history.messages, tokens=tokens)

    def _begin(self, bounds: Bounds) -> None:
        """What is shown first of a conversation that was begun before."""
        window, session = self._window, self.session
        if session.view is not None and session.view.fits(session.count):
            window.restore(session.view, session.messages[session.view.start :])
        else:
            window.begin(session.newest_first(), session.count, bounds, self.setup.history.keep)


_tokens_of = lru_cache(maxsize=64)(estimate_tokens)
"""The same for instructions, which stay the same from turn to turn."""
