"""What the prompted protocols share: the tools in words, and a neutral history as plain text messages.

A protocol gives the words around one call and one result; this file walks the history. What it emits for a longer history
only appends to what it emitted before, so that a server's prompt cache keeps working.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolhand.arguments.expectation import stand_in
from toolhand.arguments.plans import tool_shape
from toolhand.arguments.settings import BindSettings
from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import Language
from toolhand.core.marks import TEMPLATE_MARKS, unforgeable
from toolhand.core.messages import Message, ModelRequest, Note, Text, ToolCall, ToolResult
from toolhand.core.tools import Tool, ToolChoice
from toolhand.protocols import Reader
from toolhand.protocols.reading.stream import TextReader
from toolhand.protocols.turns import WrittenTurns
from toolhand.tools.collection import ToolCollection
from toolhand.tools.export import visible_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How a prompted protocol writes things down.

    Args:
        rules: the format's rules, as a function of the tools and the language.
        calls: an assistant's words and calls as text.
        answer: an assistant's answer as text.
        results: results as text, framed so that what is in them cannot pass for the frame.
        choice: the sentences for a tool_choice other than "auto", as `choice_sentence` takes them, by language.
        stop: sequences at which the server shall stop.
    """

    rules: Callable[[ToolCollection, Language], str]
    calls: Callable[[str, Sequence[ToolCall]], str]
    answer: Callable[[str], str]
    results: Callable[[Sequence[ToolResult], Language], str]
    choice: Mapping[Language, Mapping[str, str]]
    stop: tuple[str, ...] = ()


_TURNS: Final = WrittenTurns()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompted:
    """A protocol that lives in the prompt: rules in the system message, calls and results as text.

    Args:
        name: its file's name.
        writing: how it writes things down.
    """

    name: str
    writing: Writing

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """The whole history in text alone."""
        return rendered(self.writing, messages, tools, choice, language)

    def reader(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """Reads its own spelling, and whatever else the model falls into."""
        return TextReader(tools, new_id, settings)


def rendered(
    writing: Writing,
    messages: Sequence[Message],
    tools: ToolCollection,
    choice: ToolChoice,
    language: Language,
) -> ModelRequest:
    """The history as a request in text alone: system, then user and assistant in turns."""
    instructions = [message.text for message in messages if message.role == "system"]
    if len(tools):
        instructions.append(writing.rules(tools, language))
    said = [message for message in messages if message.role != "system"]
    body = _TURNS.turns(said, lambda message: _written(writing, message, language), writing, language)
    if len(tools) and (choice.mode != "auto" or choice.names):
        _add(body, choice_sentence(choice, writing.choice[language]))
    text = "\n\n".join(part for part in instructions if part)
    head = [Message(role="system", parts=(Text(text),))] if text else []
    stop = writing.stop if len(tools) else ()
    return ModelRequest(messages=(*head, *body), tool_choice=choice, stop=stop, language=language)


def _add(turns: list[Message], text: str) -> None:
    """Adds the program's words as the user's, to his last ones where he spoke last."""
    if turns and turns[-1].role == "user":
        turns[-1] = Message(role="user", parts=(Text(f"{turns[-1].text}\n\n{text}"),))
    else:
        turns.append(Message(role="user", parts=(Text(text),)))


def _written(writing: Writing, message: Message, language: Language) -> str:
    if message.role == "tool":
        return writing.results(message.results, language)
    if message.role == "assistant":
        return writing.calls(message.text, message.calls) if message.calls else writing.answer(message.text)
    return "\n".join(part.text for part in message.parts if isinstance(part, Text | Note))


def tool_lines(tools: ToolCollection) -> str:
    """The tools as one JSON object a line: what models have seen most of in training."""
    return "\n".join(
        json.dumps(
            {"name": tool.name, "description": tool.description, "parameters": visible_parameters(tool)},
            ensure_ascii=False,
        )
        for tool in tools
    )


def written_arguments(call: ToolCall) -> str:
    """A call's arguments as JSON."""
    return json.dumps(jsonable(call.arguments), ensure_ascii=False)


def example_tools(tools: ToolCollection) -> tuple[Tool, Tool]:
    """Two of the user's own tools for the examples: models copy what they see there, so it had better exist.

    The ones with the most parameters teach most; the first comes first among equals.
    """
    ranked = sorted(tools, key=lambda tool: -min(len(tool.properties), 3))
    return ranked[0], ranked[1] if len(ranked) > 1 else ranked[0]


def filled(template: str, **words: str) -> str:
    """A template with `{word}` replaced. Unlike `str.format` it leaves all other braces alone, in the words too."""
    pattern = "|".join(re.escape(f"{{{word}}}") for word in words)
    return re.sub(pattern, lambda found: words[found[0][1:-1]], template)


def choice_sentence(choice: ToolChoice, words: Mapping[str, str]) -> str:
    """The sentence that says what a tool_choice allows.

    Args:
        choice: any but a plain "auto".
        words: sentences under "required", "none", "auto" and "which", with `{which}` and `{names}` in them.
    """
    names = ", ".join(choice.names)
    return filled(words[choice.mode], which=filled(words["which"], names=names) if names else "", names=names)


def example_arguments(tool: Tool) -> dict[str, Any]:
    """Arguments of the right shape, from the schema's own examples, defaults and choices where it has some."""
    shape = tool_shape(tool)
    names = tool.required or tuple(tool.properties)[:1]
    return {name: stand_in(shape.properties.get(name), text="…") for name in names}


def example_call(name: str, arguments: Mapping[str, str], variable: str = "") -> str:
    """An example call as it is written in a line.

    Args:
        name: the tool's.
        arguments: their values as they are written there.
        variable: what stands for the first text among them, or else for the first of them; "" for none.
    """
    written = dict(arguments)
    if variable and written:
        texts = [key for key, value in written.items() if value.startswith('"')]
        written[(texts or list(written))[0]] = variable
    return f"{name}({', '.join(f'{key}={value}' for key, value in written.items())})"


def framed_text(result: ToolResult, language: Language, frame: re.Pattern[str]) -> str:
    """A result's text, made unforgeable; the marks of chat templates, which a server may read as its own, are broken too."""
    return unforgeable(unforgeable(result_text(result, language), frame), TEMPLATE_MARKS)
