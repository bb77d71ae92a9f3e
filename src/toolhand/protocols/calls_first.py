"""Calls first: a first reply is calls in any case, and whether they are meant is told by its signs alone.

The smallest models write good calls when nothing else may be written, and decide badly whether to: the 0.5B model answers in
words what a tool would tell. So the decision is taken from it. From the first result on it is `constrained_first`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolhand.core.language import Language
from toolhand.core.messages import Message, ModelRequest
from toolhand.core.tools import ToolChoice
from toolhand.protocols import Doubt, Said, Settled
from toolhand.protocols.constrained_first import ConstrainedFirst
from toolhand.protocols.doubts import fit_of, is_answering_results
from toolhand.protocols.reply_schema import calls_of, reply_schema
from toolhand.tools.collection import ToolCollection


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsFirst(ConstrainedFirst):
    """A protocol that has the model call a tool, and then doubts it. Without `least_sure` it is `constrained_first`.

    Args:
        name: its file's name.
        least_sure: as in `Constrained`.
    """

    name: str = "calls_first"

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """As `constrained_first`, without the branch of the answer as long as nothing was called."""
        request = ConstrainedFirst.render(self, messages, tools, choice, language)
        if not request.odds or request.grammar is None or is_answering_results(messages):
            return request
        return replace(request, grammar=calls_of(request.grammar))

    def again(self, said: Said) -> Doubt | None:
        """A server that tells no odds is asked once more, with both branches: without them nothing could be doubted."""
        is_forced = bool(said.request.odds) and not is_answering_results(said.messages)
        if is_forced and said.reply.calls and fit_of(said.output.odds) is None:
            free = replace(said.request, grammar=reply_schema(said.tools, ToolChoice()), odds=0)
            return Doubt("fit", None, lambda _: Settled(0.0, free))
        return ConstrainedFirst.again(self, said)


PROTOCOL = CallsFirst()
