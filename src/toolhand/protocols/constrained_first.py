"""Constrained first, then native: what a user's words ask for is decided under a schema, and what follows results is not.

Small models call the right tools most surely under a schema, where they decide before they write; but with results before them
they ask for the same again there, and answer in worse words than in their own form. So a turn is constrained until a call of it
had a result, and native from there on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolhand.core.language import Language
from toolhand.core.messages import Message, ModelRequest, Text
from toolhand.core.tools import ToolChoice
from toolhand.protocols.constrained import Constrained
from toolhand.protocols.native import PROTOCOL as NATIVE
from toolhand.tools.collection import ToolCollection

_GO_ON: Final[Mapping[Language, str]] = {
    "en": "Use the tools to find facts and to calculate; never guess what a tool can tell. "
    "Then answer the question in one short sentence with the values found.",
    "zh": "请用工具查找事实和进行计算，工具能告诉你的不要猜测。然后用一句话回答问题，并写出查到的数值。",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstrainedFirst(Constrained):
    """A protocol that forces what answers the user, and leaves what follows results to the server.

    Args:
        name: its file's name.
        least_sure: as in `Constrained`.
    """

    name: str = "constrained_first"

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """The whole history: in text and with a schema, or, once there is a result, as it is."""
        if choice.mode == "required" or not has_result(messages):
            return Constrained.render(self, messages, tools, choice, language)
        return NATIVE.render(_led(messages, language), tools, choice, language)


def has_result(messages: Sequence[Message]) -> bool:
    """Whether a call has succeeded since the user last spoke."""
    for message in reversed(messages):
        if message.role == "tool" and any(result.ok for result in message.results):
            return True
        if message.role == "user" and any(isinstance(part, Text) for part in message.parts):
            return False
    return False


def _led(messages: Sequence[Message], language: Language) -> Sequence[Message]:
    """The history with the words that say what to do with results, which the constrained form does without."""
    head = messages[0] if messages and messages[0].role == "system" else None
    words = "\n\n".join(filter(None, (head.text if head else "", _GO_ON[language])))
    return [Message(role="system", parts=(Text(words),)), *(messages[1:] if head else messages)]


PROTOCOL = ConstrainedFirst()
