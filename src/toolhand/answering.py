"""A run whose answer has a type: how the model is told, what it may call, and whether what it gave is the answer.

Where there are tools, or calls are written in the prompt, the model answers by a tool, `final_answer`, which only ends the run;
else the server is given the answer's JSON Schema. Where the model answers in words instead, they are read as tolerantly as a
call; what does not fit is told to the model, and the next reply is forced: by that tool, or by the schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolhand.arguments.feedback import feedback
from toolhand.arguments.settings import BindSettings
from toolhand.core.errors import ErrorCode, ModelError, ModelFault, ToolError
from toolhand.core.jsonable import jsonable
from toolhand.core.language import Language
from toolhand.core.messages import Message, Note, Opaque, Reply, ToolCall, ToolResult, assistant
from toolhand.core.tools import ToolChoice
from toolhand.output import FINAL_ANSWER, OutputType
from toolhand.output.output_type import Made
from toolhand.setup import Asked, Setup
from toolhand.toolset import Toolset

WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "tool": "When you know everything that the answer needs, call final_answer with it. Do not answer in words.",
        "schema": "Give the answer as one JSON value that fits this JSON Schema, and write nothing else:\n{schema}",
        "alone": "The answer was not taken: other tools were called with it. Look at their results, then give it again, alone.",
        "twice": "One answer is enough: another one was looked at.",
    },
    "zh": {
        "tool": "知道答案所需的全部内容后，调用 final_answer 给出答案，不要用文字回答。",
        "schema": "请只用一个符合下面 JSON Schema 的 JSON 值给出答案，不要写其他内容：\n{schema}",
        "alone": "答案没有被采用：同时还调用了其他工具。请先看它们的结果，再单独给出答案。",
        "twice": "一个答案就够了：已检查另一个答案。",
    },
}


class Answering:
    """The answer of one run.

    Args:
        output: what it has to be.
        setup: what the agent is made of.
        most_failures: how many answers in a row may be wrong.
    """

    def __init__(self, output: OutputType, setup: Setup, *, most_failures: int) -> None:
        self.output = output
        self.made: Made | None = None
        """The answer, once it is there."""
        self.text = ""
        """The model's last words for it."""
        self.error: ToolError | None = None
        """What was wrong with the last one; None when nothing was, or it gave none."""
        self.failures = 0
        self.has_looked = False
        """Whether the last reply was an answer, right or wrong."""
        self.grammar: Mapping[str, Any] | None = None
        """The schema that the next reply is forced into, where it is."""
        self._most_failures = most_failures
        self._has_tools = len(setup.tools) > 0
        # A small model keeps to its tools better when the answer is none of them until it has said that it is done.
        self._is_late = self._has_tools and getattr(setup.model, "answers_late", False)
        self._sends_schema = True
        self._protocol = "native"
        self._is_forced = self._is_last = False
        self._results: list[ToolResult] = []
        self._shown: tuple[Toolset | None, Language, Toolset | None] = (None, "en", None)

    # before a reply

    def prepare(
        self, choice: ToolChoice, tools: Toolset, protocol: str, language: Language
    ) -> tuple[ToolChoice, Toolset, str | None]:
        """How the next reply is asked for; also sets `grammar`.

        Args:
            choice: which tools may be called.
            tools: the tools.
            protocol: the name of the one that is spoken now.
            language: of the words.

        Returns:
            The choice, the tools to offer, and what the instructions say about the answer (None: their own words).
        """
        self._protocol, self.grammar = protocol, None
        is_forced = self._is_forced or not self._has_tools or choice.mode == "none"
        if is_forced and self._by_schema:
            self.grammar = self.output.parameters if self._sends_schema else None
            sentence = "" if self._has_tools else self._schema_words(language)
            return ToolChoice("none"), tools, sentence
        if self._is_late and not is_forced:
            return choice, tools, None
        offered, words = self._offered(tools, language), WORDS[language]["tool"]
        if is_forced:
            return ToolChoice("required", (FINAL_ANSWER,)), offered, words
        if choice.mode == "required":  # a tool is wanted first, not an answer
            return ToolChoice("required", choice.names or tools.names), offered, words
        names = (*choice.names, FINAL_ANSWER) if choice.names else ()
        return ToolChoice(choice.mode, names), offered, words

    @property
    def _by_schema(self) -> bool:
        """Whether a forced answer is one by schema, and not by a call."""
        if not self._has_tools:
            return self._protocol in (
                "native",
                "constrained",
                "constrained_first",
                "calls_first",
            )  # they leave the reply's form to the server
        is_deaf = self.failures > 1  # it was made to call, and did not
        return self._protocol == "native" and self._sends_schema and (self._is_late or is_deaf)

    def _offered(self, tools: Toolset, language: Language) -> Toolset:
        """The tools, with the one for the answer."""
        known, spoken, made = self._shown
        if made is None or known is not tools or spoken != language:
            made = tools.extended(self.output.tool(language))
            self._shown = (tools, language, made)
        return made

    def force(self, language: Language, *, is_last: bool = False) -> str:
        """Makes the next reply the answer; gives the words that say so.

        Args:
            language: of the words.
            is_last: whether there is no other try after it.
        """
        self._is_forced, self._is_last = True, is_last
        return self._schema_words(language) if self._by_schema else WORDS[language]["tool"]

    def gives_up_schema(self, error: ModelError) -> bool:
        """Whether the schema was what a server may have refused; it is then not sent again."""
        if self.grammar is None or error.fault not in (ModelFault.REFUSED, ModelFault.FAILED):
            return False
        self.grammar, self._sends_schema = None, False
        return True

    def _schema_words(self, language: Language) -> str:
        return WORDS[language]["schema"].format(schema=self.output.shown())

    # after a reply

    async def judge(
        self, reply: Reply, message: Message, raw: str, settings: BindSettings
    ) -> tuple[Reply, Message]:
        """Looks whether a reply is the answer, and takes it out of the reply.

        Args:
            reply: what was understood.
            message: how it would stand in the history.
            raw: what the model wrote.
            settings: how values are read.

        Returns:
            The reply without the answer, and the message for the history. An answer stands there as text, so that the next
            run of the session needs no `final_answer`.
        """
        self.error, self._results, self.has_looked = None, [], False
        if self.grammar is not None:
            reply = Reply(text=raw)
        finals, rest = _parted((*reply.calls, *reply.broken))
        if rest and not self._is_last:
            self.failures = 0
            self._refuse(finals, "alone", settings.language)
            return _without_finals(reply), message
        if not finals and not (reply.text or "").strip():
            return reply, message
        error = await self.hear(reply.text or "", settings, finals[0] if finals else None)
        self.has_looked = True
        if error is not None and finals and not self._is_last and not self.is_exhausted:
            self._results = [ToolResult(call_id=finals[0].id, name=FINAL_ANSWER, outcome=error)]
            self._refuse(finals[1:], "twice", settings.language)
            return _without_finals(reply), message
        opaque = next((part for part in message.parts if isinstance(part, Opaque)), None)
        return Reply(text=self.text, thinking=reply.thinking), assistant(self.text, opaque=opaque)

    async def hear(self, text: str, settings: BindSettings, call: ToolCall | None = None) -> ToolError | None:
        """Reads the answer out of words, or out of a call's arguments; gives what is wrong with it.

        Args:
            text: the words.
            settings: how values are read.
            call: a call of `final_answer`, which counts more.
        """
        if call is None:
            self.text = text
            made = self.output.read(text, settings)
        else:
            self.text = json.dumps(jsonable(dict(call.arguments)), ensure_ascii=False)
            made = call.problem or self.output.take(call.arguments, settings)
        if isinstance(made, Made):
            self.error = await self.output.objection(made.value, settings.language)
            self.made = made if self.error is None else None
        else:
            self.error = made
        self.failures += self.error is not None
        return self.error

    def _refuse(self, calls: Sequence[ToolCall], word: str, language: Language) -> None:
        error = ToolError(code=ErrorCode.NOT_ALLOWED, message=WORDS[language][word], retryable=True)
        self._results += [ToolResult(call_id=c.id, name=FINAL_ANSWER, outcome=error) for c in calls]

    @property
    def is_exhausted(self) -> bool:
        """Whether no further answer is asked for."""
        return self.failures >= self._most_failures

    @property
    def has_ended(self) -> bool:
        """Whether the answer is there, or no other is asked for."""
        return self.made is not None or self.is_exhausted

    def replies(self, language: Language) -> list[Message]:
        """What the model is told about answers that were not taken, for the history."""
        if self._results:
            return [Message(role="tool", parts=tuple(self._results))]
        if self.error is None or self.has_ended:
            return []
        words = feedback(replace(self.error, retryable=False), self.output.tool(language), language)
        return [Message(role="user", parts=(Note(f"{words}\n{self.force(language)}"),))]


def left(calls: Sequence[ToolCall], language: Language) -> list[Message]:
    """What an interrupted run's model is told about answers that were given beside other calls, for the history."""
    finals, _ = _parted(calls)
    error = ToolError(code=ErrorCode.NOT_ALLOWED, message=WORDS[language]["alone"], retryable=True)
    results = tuple(ToolResult(call_id=call.id, name=FINAL_ANSWER, outcome=error) for call in finals)
    return [Message(role="tool", parts=results)] if results else []


def _parted(calls: Sequence[ToolCall]) -> tuple[list[ToolCall], list[ToolCall]]:
    finals = [call for call in calls if call.name == FINAL_ANSWER]
    return finals, [call for call in calls if call.name != FINAL_ANSWER]


def _without_finals(reply: Reply) -> Reply:
    finals = {id(call.problem) for call in reply.broken if call.name == FINAL_ANSWER}
    return replace(
        reply,
        calls=tuple(call for call in reply.calls if call.name != FINAL_ANSWER),
        broken=tuple(call for call in reply.broken if call.name != FINAL_ANSWER),
        problems=tuple(problem for problem in reply.problems if id(problem) not in finals),
    )


def answering(setup: Setup, asked: Asked) -> Answering | None:
    """The answering of a run; None where its answer is text."""
    output = asked.output or setup.output
    if output is None or output.takes_any_text:
        return None
    return Answering(output, setup, most_failures=max(1, asked.limits.repairs))
