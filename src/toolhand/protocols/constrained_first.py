"""Constrained first, then native: what a user's words ask for is decided under a schema, and what follows results is not.

Small models call the right tools most surely under a schema, where they decide before they write; but with results before them
they ask for the same again there, and answer in worse words than in their own form. So a turn is constrained until a call of it
had a result, and native from there on, except where that result has just told an id that a further tool asks for: then the
next step is decided under the schema as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolhand.arguments.grounding import id_parameters
from toolhand.arguments.grounds import HAN
from toolhand.core.language import Language
from toolhand.core.messages import Message, ModelRequest, Text, ToolResult, Value
from toolhand.core.tools import Tool, ToolChoice
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
        has_more = choice.mode == "auto" and opens_a_step(messages, tools)
        if choice.mode == "required" or has_more or not has_result(messages):
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


def opens_a_step(messages: Sequence[Message], tools: ToolCollection) -> bool:
    """Whether the last results told an id that a tool asks for which was not called since the user last spoke."""
    if not messages or messages[-1].role != "tool":
        return False
    told = {key for result in messages[-1].results if result.ok for key in _keys(result)}
    called: set[str] = set()
    for message in reversed(messages):
        if message.role == "user" and any(isinstance(part, Text) for part in message.parts):
            break
        called |= {result.name for result in message.results if result.ok}
    return bool(told) and any(_asks_for(tool, told) for tool in tools if tool.name not in called)


_DEEPEST: Final = 3
_MOST_ROWS: Final = 5


def _keys(result: ToolResult) -> Iterator[str]:
    data = result.outcome.data if isinstance(result.outcome, Value) else None
    todo: list[tuple[Any, int]] = [(data, 0)]
    while todo:
        value, depth = todo.pop()
        if depth > _DEEPEST:
            continue
        if isinstance(value, Mapping):
            yield from (str(key).casefold() for key, item in value.items() if item is not None)
            todo += [(item, depth + 1) for item in value.values()]
        elif isinstance(value, list | tuple):
            todo += [(item, depth + 1) for item in value[:_MOST_ROWS]]


def _asks_for(tool: Tool, told: set[str]) -> bool:
    """Whether a tool requires an id that goes by one of these names, or is described by one."""
    for name in id_parameters(tool):
        about = str(tool.properties[name].get("description") or "").casefold()
        is_told = name.casefold() in told or any(HAN.search(key) and key in about for key in told)
        if is_told and name in tool.required:
            return True
    return False


def _led(messages: Sequence[Message], language: Language) -> Sequence[Message]:
    """The history with the words that say what to do with results, which the constrained form does without.

    A call that was sent back for a value that nobody gave is left out with its error, now that the step before it was taken:
    a small model answers with the error's words.
    """
    head = messages[0] if messages and messages[0].role == "system" else None
    words = "\n\n".join(filter(None, (head.text if head else "", _GO_ON[language])))
    shown = [Message(role="system", parts=(Text(words),))]
    for message in messages[1:] if head else messages:
        failed = message.results if message.role == "tool" else ()
        if failed and all(map(_was_invented, failed)) and len(shown[-1].calls) == len(failed):
            shown.pop()
        else:
            shown.append(message)
    return shown


def _was_invented(result: ToolResult) -> bool:
    return result.error is not None and "invented" in result.error.details


PROTOCOL = ConstrainedFirst()
