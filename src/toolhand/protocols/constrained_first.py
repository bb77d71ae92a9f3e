"""Constrained first, then native: what a user's words ask for is decided under a schema, and what follows results is not.

Small models call the right tools most surely under a schema, where they decide before they write; but with results before them
they ask for the same again there, and answer in worse words than in their own form. So a turn is constrained until a call of it
had a result, and native from there on, except where that result opens a step: where it has just told an id that a further tool
asks for, the next step is decided under the schema as well, and where the user asked for something that only a further tool
speaks of, that tool is called. Where the user names a file, the tools that list it are the only ones that may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from toolhand.core.errors import ErrorCode
from toolhand.core.language import Language
from toolhand.core.messages import Message, ModelRequest, Text, ToolCall, ToolResult, user
from toolhand.core.tools import ToolChoice
from toolhand.protocols.constrained import Constrained, framed, led
from toolhand.protocols.named_things import tools_of_named_files
from toolhand.protocols.native import PROTOCOL as NATIVE
from toolhand.protocols.next_steps import (
    has_fallen_silent,
    has_result,
    opens_a_step,
    overcome_results,
    repeated_results,
    since_the_user_spoke,
    steps_asked_for,
)
from toolhand.tools.collection import ToolCollection

_GO_ON: Final[Mapping[Language, str]] = {
    "en": "Use the tools to find facts and to calculate; never guess what a tool can tell. "
    "Then answer the question in one short sentence with the values found.",
    "zh": "请用工具查找事实和进行计算，工具能告诉你的不要猜测。然后用一句话回答问题，并写出查到的数值。",
}
_ANSWER: Final[Mapping[Language, str]] = {
    "en": "Answer the question in one short sentence with the values found in the results.",
    "zh": "请根据结果用一句话回答问题，并写出查到的数值。",
}
"""Where a call was only repeated, or nothing was said: all is known, and no tool may be called any more."""


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
        if choice.mode == "auto" and (asked := steps_asked_for(messages, tools, choice)):
            choice = ToolChoice("required", asked)
        if choice.mode == "auto" and (named := tools_of_named_files(messages, tools, choice)):
            choice = ToolChoice("auto", named)
        has_more = choice.mode == "auto" and opens_a_step(messages, tools)
        if choice.mode == "required" or has_more or not has_result(messages):
            return Constrained.render(self, messages, tools, choice, language)
        repeated = repeated_results(messages, tools)
        gone = _left_out(messages, repeated, overcome_results(messages, tools))
        if choice.mode == "auto" and (repeated or has_fallen_silent(messages)):
            told = told_at_once(messages, gone, language)
            return NATIVE.render(told, ToolCollection(), ToolChoice("none"), language)
        return NATIVE.render(_led(messages, gone, _GO_ON[language]), tools, choice, language)


def told_at_once(
    messages: Sequence[Message],
    gone: AbstractSet[int],
    language: Language,
    written: Callable[[ToolResult, Language], str] = framed,
) -> Sequence[Message]:
    """The history up to the user's last words, with what was found since beside them: there is no call in it to be imitated.

    What failed and was not got past is told as well: a mail that was not sent is a part of the answer.

    Args:
        messages: the history.
        gone: the results that say nothing any more, by identity.
        language: of the words that ask for the answer.
        written: how a result is written.
    """
    at, _ = since_the_user_spoke(messages)
    found = [
        result
        for message in messages[at + 1 :]
        for result in message.results
        if id(result) not in gone and (result.ok or not _was_repeated(result))
    ]
    told = "\n".join((*(written(result, language) for result in found), _ANSWER[language]))
    if at < 0:
        return [user(told)]
    others = [part for part in messages[at].parts if not isinstance(part, Text)]
    return [*messages[:at], replace(messages[at], parts=(*others, Text(f"{messages[at].text}\n\n{told}")))]


def _led(messages: Sequence[Message], left_out: AbstractSet[int], words: str) -> Sequence[Message]:
    """The history with the words that say what to do with results, which the constrained form does without.

    A call that was sent back for a value that nobody gave is left out with its error, now that the step before it was taken: a
    small model answers with the error's words. So is any mistake that was got past, and a call that only repeated another, which
    it goes on to do.
    """
    shown: list[Message] = []
    for message in led(messages, words):
        gone = [one for one in message.results if id(one) in left_out]
        if message.role != "tool" or not gone or len(shown[-1].calls) != len(message.results):
            shown.append(message)
            continue
        calls = shown.pop()
        ids = {result.call_id for result in gone}
        if len(gone) < len(message.results):
            shown.append(replace(calls, parts=tuple(part for part in calls.parts if not _is_of(part, ids))))
            shown.append(
                replace(message, parts=tuple(part for part in message.parts if not _is_of(part, ids)))
            )
    return shown


def _is_of(part: object, ids: set[str]) -> bool:
    """Whether a part is a call of these ids, or its result."""
    return (isinstance(part, ToolCall) and part.id in ids) or (
        isinstance(part, ToolResult) and part.call_id in ids
    )


def _left_out(messages: Sequence[Message], *without_use: Sequence[ToolResult]) -> set[int]:
    """The results that say nothing that counts any more, by identity: these, and those of calls with invented values."""
    invented = [one for message in messages for one in message.results if _was_invented(one)]
    return {id(one) for results in (*without_use, invented) for one in results}


def _was_invented(result: ToolResult) -> bool:
    return result.error is not None and "invented" in result.error.details


def _was_repeated(result: ToolResult) -> bool:
    return result.error is not None and result.error.code is ErrorCode.REPEATED_CALL


PROTOCOL = ConstrainedFirst()
