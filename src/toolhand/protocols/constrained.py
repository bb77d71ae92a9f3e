"""Constrained: the server forces the reply to be an answer in text, or one or several calls that fit their tools' schemas.

The decision comes first (`"fits"`), then calls or text: a model that has written a tool's name never takes it back. The tools
stand in the prompt as signatures, as the grammar knows their schemas already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolhand.arguments.grounded import grounded_share
from toolhand.arguments.grounds import Grounds
from toolhand.arguments.likeness import words_taken
from toolhand.arguments.settings import BindSettings
from toolhand.core.language import Language
from toolhand.core.messages import (
    Message,
    ModelOutput,
    ModelRequest,
    Reply,
    ToolCall,
    ToolResult,
    system,
)
from toolhand.core.tools import ToolChoice
from toolhand.protocols import Doubt, Reader, Said, Settled
from toolhand.protocols.doubts import (
    ODDS,
    PLAIN_FIT,
    PLAIN_SHARE,
    PLAIN_UNFIT,
    Signs,
    fit_of,
    is_answering_results,
    question,
    sureness,
    yes_of,
)
from toolhand.protocols.native import PROTOCOL as NATIVE
from toolhand.protocols.prompting import Writing, filled, framed_text, rendered, written_arguments
from toolhand.protocols.reading.answers import AnswerReader
from toolhand.protocols.reading.stream import TextReader
from toolhand.protocols.reply_schema import ANSWER, ANSWER_ONLY, CALLS, DECISION, calls_of, reply_schema
from toolhand.protocols.signatures import signatures
from toolhand.tools.collection import ToolCollection

_RULES = {
    "en": """You can call these tools:
{tools}

Reply with one JSON and nothing else.
When a tool above gives exactly what is asked: {"fits": true, "calls": [{"tool": "name", "args": {…}}, …]}, \
with one call for each thing asked.
When none does, or it is only about something similar, or the results already tell the answer: \
{"fits": false, "answer": "your words"}
Take argument values from the conversation, in the form that the comments ask for; never invent them. \
Leave out optional ones (with ?) that are not mentioned.""",
    "zh": """你可以调用下面的工具：
{tools}

只回复一个 JSON，不要写任何其他内容。
上面有工具正好能做所要求的事时：{"fits": true, "calls": [{"tool": "名称", "args": {…}}, …]}，所要求的每一件事一个调用。
没有这样的工具，或者只是相关，或者结果中已有答案时：{"fits": false, "answer": "你的回答"}
参数的值取自对话，按注释要求的格式书写，不要编造。没有提到的可选参数（带 ?）不要写。""",
}
_GO_ON: Mapping[Language, str] = {
    "en": 'If the results tell what was asked, say it in "answer" in one short sentence with the values found. '
    "Otherwise call only what is still missing, never the same again.",
    "zh": '结果已能回答问题时，在 "answer" 中用一句话回答，写出查到的数值。还缺信息时只调用还缺的，不要重复调用。',
}
"""What follows results: said here and not in the rules, where it would draw a model to tools that do not fit. No answer is
written out, as small models copy it."""
_MEND: Mapping[Language, str] = {
    "en": "Do what the error says: make the call that it names, or the same one without the mistake.",
    "zh": "请按错误提示去做：调用它指出的工具，或者改正后再调用。",
}
_CHOICE: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "required": "Call a tool now{which}.",
        "none": "Call no tool now: answer the user, with the values in the results.",
        "auto": "You may only call these tools now: {names}.",
        "which": ", one of: {names}",
    },
    "zh": {
        "required": "现在必须调用工具{which}。",
        "none": "现在不要调用工具：直接回答用户，写出结果中的数值。",
        "auto": "现在只能调用这些工具：{names}。",
        "which": "，只能是：{names}",
    },
}
_NO_TOOL: Mapping[Language, str] = {
    "en": "No tool does what the user asks. Answer from what you surely know; where it takes facts that you cannot know, such as "
    "prices, orders, dates or anybody's data, say that you cannot look them up.",
    "zh": "没有工具能做用户所要求的事。请根据你确实知道的内容回答；如果需要你无法知道的事实，例如价格、订单、日期或个人数据，"
    "请说明你查不到。",
}
_FREELY: Mapping[Language, str] = {
    "en": "Answer the user's question in one short sentence with the values found in the results. Where a result is an error, "
    "make the call again as the error says, or say plainly what could not be found out.",
    "zh": "请根据结果用一句话回答用户的问题，写出查到的数值。如果结果是错误，请按提示改正后再调用，或直接说明没能查到什么。",
}
_PLACEHOLDERS = ("yourwords", "你的回答")
_NOT_WORD = re.compile(r"[\W_]+")
_FRAME = re.compile(r"<\s*/?\s*tool_result", re.IGNORECASE)


def _rules(tools: ToolCollection, language: Language) -> str:
    return filled(_RULES[language], tools=signatures(tools))


def _calls(text: str, calls: Sequence[ToolCall]) -> str:
    del text  # there is no place for words beside calls
    written = ", ".join(
        f'{{"tool": {json.dumps(call.name, ensure_ascii=False)}, "args": {written_arguments(call)}}}'
        for call in calls
    )
    return f'{{"{DECISION}": true, "{CALLS}": [{written}]}}'


def _answer(text: str) -> str:
    return json.dumps({DECISION: False, ANSWER: text}, ensure_ascii=False)


def _results(results: Sequence[ToolResult], language: Language) -> str:
    words = _GO_ON if any(result.ok for result in results) else _MEND
    return "\n".join([*(framed(result, language) for result in results), words[language]])


def framed(result: ToolResult, language: Language) -> str:
    """A result between marks that nothing in it can forge."""
    return f'<tool_result name="{result.name}">\n{framed_text(result, language, _FRAME)}\n</tool_result>'


WRITING = Writing(rules=_rules, calls=_calls, answer=_answer, results=_results, choice=_CHOICE)

_QUESTION = replace(WRITING, rules=lambda tools, _: question(tools))


def goes_round(messages: Sequence[Message]) -> bool:
    """Whether the last reply asked for nothing but calls of the reply before it, whose results it had, and got them again."""
    replies: list[list[ToolCall]] = []
    for message in reversed(messages):
        if message.is_said:
            break
        if message.role == "assistant":
            replies.append(list(message.calls))
            if len(replies) == 2:
                last, before = replies
                return bool(last) and all(
                    any(call.name == other.name and call.arguments == other.arguments for other in before)
                    for call in last
                )
    return False


def steps_left_out(messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice) -> tuple[str, ...]:
    """The tools that alone can help now, where the last calls lacked a value: those that tell it.

    Where one of these was called beside, its result has just told it: then the tools that lacked it.
    """
    if not messages or messages[-1].role != "tool":
        return ()
    named: list[str] = []
    lacking: list[str] = []
    ran = {result.name for result in messages[-1].results if result.error is None}
    for result in messages[-1].results:
        if result.error is None:
            continue
        if "invented" not in result.error.details:
            return ()
        named += result.error.details.get("tools", ())
        lacking.append(result.name)
    if ran:
        named = lacking if ran <= set(named) else []
    return tuple(dict.fromkeys(name for name in named if name in tools and choice.allows(name)))


def echoes(reply: Reply, messages: Sequence[Message]) -> bool:
    """Whether an answer is none: the prompt's word for one, or the question itself."""
    asked = next((message.text for message in reversed(messages) if message.role == "user"), "")
    text = _plain(reply.text or "")
    return is_placeholder(reply) or (bool(text) and not reply.calls and text == _plain(asked))


def is_placeholder(reply: Reply) -> bool:
    """Whether an answer is only the prompt's word for one."""
    return not reply.calls and _plain(reply.text or "") in _PLACEHOLDERS


def _plain(text: str) -> str:
    return _NOT_WORD.sub("", text).casefold()


def answer_of(said: Said) -> ModelRequest:
    """Asks for an answer without any tool, in the model's own form: under the schema small models copy the prompt's words."""
    return _natively(said, _NO_TOOL, ToolCollection(), ToolChoice("none"))


def freely(said: Said) -> ModelRequest:
    """Asks in the model's own form what is to be said or called now that there are results."""
    return _natively(said, _FREELY, said.tools, ToolChoice())


def _natively(
    said: Said, words: Mapping[Language, str], tools: ToolCollection, choice: ToolChoice
) -> ModelRequest:
    language = said.request.language
    plain = NATIVE.render(led(said.messages, words[language]), tools, choice, language)
    return replace(plain, sampling=said.request.sampling)


def led(messages: Sequence[Message], words: str) -> list[Message]:
    """A history with words for the model behind the user's own instructions."""
    head = messages[0] if messages and messages[0].role == "system" else None
    first = system("\n\n".join(filter(None, (head.text if head else "", words))))
    return [first, *messages[1 if head else 0 :]]


def _sure(said: Said, calls: Sequence[ToolCall], share: float | None, yes: float) -> float:
    taken = (
        words_taken(said.messages, calls) if calls else 1
    )  # an answer may yet become calls that take up something
    has_choice = len(said.tools) > 1
    return sureness(Signs(yes=yes, share=share, taken=taken, has_choice=has_choice))


@dataclass(frozen=True, slots=True, kw_only=True)
class Constrained:
    """A protocol whose replies the server forces into shape. A server that forces nothing gets the same prompt.

    Args:
        name: its file's name.
        least_sure: how sure it must be that a call is meant, 0 to 1, as `doubts.sureness` tells it. Where it is less sure, only
            an answer counts, and where it is as sure, only calls do. 0 doubts nothing.
    """

    name: str = "constrained"
    least_sure: float = 0.0

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """The whole history in text, and the schema of what may follow."""
        request = rendered(WRITING, messages, tools, choice, language)
        if choice.mode == "auto" and (missing := steps_left_out(messages, tools, choice)):
            choice = ToolChoice("required", missing)
        grammar: Mapping[str, Any] | None = reply_schema(tools, choice)
        if choice.mode == "auto" and goes_round(messages):
            grammar = ANSWER_ONLY  # small models call what they have the result of, again and again
        odds = ODDS if self.least_sure and grammar is not None and "anyOf" in grammar else 0
        return replace(request, grammar=grammar, odds=odds)

    def reader(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """Reads calls or the answer; the answer's text is shown while it is being written, unless it may yet be doubted."""
        return AnswerReader(TextReader(tools, new_id, settings), is_held=bool(self.least_sure))

    def again(self, said: Said) -> Doubt | None:
        """Where it is not sure whether a tool fits: first a question of one word, then only an answer, or only calls, are left.

        Nothing of such a reply has been shown: calls are not, and the answer was held. The server has read most of both prompts
        already.
        """
        calls, grammar = said.reply.calls, said.request.grammar
        if not said.request.odds or grammar is None:
            return None
        if is_answering_results(said.messages):
            said_nothing = is_placeholder(said.reply)
            return Doubt("placeholder", None, lambda _: Settled(0.0, freely(said))) if said_nothing else None
        fit = fit_of(said.output.odds)
        if fit is None or (said.reply.broken and not calls):
            return None
        share, is_echo = (
            grounded_share(calls, Grounds(said.messages), said.tools),
            echoes(said.reply, said.messages),
        )
        is_said = share is None or share >= PLAIN_SHARE
        is_plain = (fit >= PLAIN_FIT and is_said) if calls else fit < PLAIN_UNFIT
        if is_plain and not is_echo:
            return None

        def settled(output: ModelOutput) -> Settled:
            yes = fit if (told := yes_of(output.odds)) is None else told
            sure = _sure(said, calls, share, yes)
            if bool(calls) is (sure >= self.least_sure) and not is_echo:
                return Settled(sure, None)
            if calls:
                return Settled(sure, answer_of(said))
            return Settled(
                sure,
                replace(said.request, grammar=calls_of(grammar), odds=0),
                judged(yes),
            )

        def judged(yes: float) -> Callable[[Reply], tuple[float, bool]]:
            """Calls in the place of an answer have to be made of what was said: else the answer was right to ask for it."""

            def judge(reply: Reply) -> tuple[float, bool]:
                given = grounded_share(reply.calls, Grounds(said.messages), said.tools)
                sure, is_said = _sure(said, reply.calls, given, yes), given is None or given >= PLAIN_SHARE
                return sure, bool(reply.calls) and is_said and (is_echo or sure >= self.least_sure)

            return judge

        asked = rendered(_QUESTION, said.messages, said.tools, ToolChoice(), said.request.language)
        sampling = replace(said.request.sampling, max_tokens=1)
        return Doubt("fit", replace(asked, sampling=sampling, odds=ODDS), settled)


PROTOCOL = Constrained()
