"""A source that nobody asked: where a model gives up, the tool that holds the user's own things is asked first.

Small models answer "I cannot provide that" beside a tool that searches the user's documents, or take another tool, fail, and
give up. A tool that declares itself a source (`Rules.source`) takes the user's question as it stands: it needs no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from toolhand.arguments.costs import fix
from toolhand.arguments.relations import nouns
from toolhand.core.errors import ErrorCode
from toolhand.core.messages import Message, Reply, ToolCall, ToolResult
from toolhand.core.tools import Tool, ToolChoice
from toolhand.protocols.next_steps import since_the_user_spoke
from toolhand.tools.collection import ToolCollection

_LOOKED_AT: Final = 400
"""Characters of an answer in which giving up is looked for: it stands at the beginning."""

_LONGEST_QUESTION: Final = 1_000

_GIVES_UP: Final = re.compile(
    r"\bI(?:['’]m| am) (?:sorry(?! to hear)|unable|not able|afraid)\b"
    r"|\bI (?:can ?not|can['’]t|could ?n['’]t|could not|do(?:n['’]t| not) (?:have|know)|have no)\b"
    r"|\bas an? (?:AI|artificial|language model)\b"
    r"|\b(?:not|n['’]t) (?:been )?(?:find|found|available|provided|specified|mentioned|contain)"
    r"|\bno (?:information|data|details|records?|mention)\b|\bcould you (?:please )?(?:provide|clarify|specify)\b"
    r"|\bas far as I know\b|\b(?:to (?:the best of )?|based on )my (?:own )?knowledge\b|据我(?:所知|了解)|据我的(?:了解|知识)"
    r"|\b(?:depends on|may vary|can vary|varies)\b|\b(?:contact|consult|check with)\b"
    r"|抱歉|对不起|很遗憾(?!听)|无法|不能(?:提供|回答|查|确定|得知|告诉)|没有(?:找到|查到|查询到|相关|关于|足够|提供|权限)|查不到|找不到"
    r"|不知道|不清楚|未(?:找到|查到|提供|提及)|作为(?:一个|一名)?(?:AI|人工智能|语言模型)|请(?:您|你)?(?:提供|告诉我)"
    r"|建议(?:您|你)?(?:直接)?(?:咨询|联系|查阅|查看)|(?:请|需要)(?:咨询|联系)|因.{1,30}而异|有所(?:差异|不同)|取决于",
    re.IGNORECASE,
)


_KNOWS_NOT: Final = re.compile(
    r"\bI (?:do(?:n['’]t| not) (?:have|know|see)|have no|(?:can ?not|can['’]t|could ?n['’]t|could not) (?:find|answer|determine)"
    r"|(?:was|am) (?:unable|not able) to (?:find|answer|determine))\b|\b(?:enough|sufficient) (?:information|details)\b"
    r"|(?:没有|缺少|缺乏)(?:找到|查到|查询到|足够|相关|更多)|(?:无法|不能)(?:回答|确定|得知|查到|找到|提供)"
    r"|查不到|找不到|我不(?:知道|清楚)",
    re.IGNORECASE,
)
"""What an answer says that has results before it and finds no answer in them; "not available" may be what they tell."""


_SMALL_TALK: Final = re.compile(
    r"\b(?:hello|hi|hey|good|morning|afternoon|evening|night|bye|goodbye|thanks?|welcome|nice|meet|am fine|m fine|well|okay|ok"
    r"|great|cool|feel|feelings?|doing|going|up|sad|happy|tired|bored|old|name|an?|the|and|or|so|as|if|at|on|in|for|to|of|with"
    r"|about|very|too|just|bit|really"
    r"|ai|bots?|robots?|human|assistant|real|alive|what|who|whose|where|when|why|how|is|are|am|was|were|do|does|did|have|has|had"
    r"|can|could|will|would|should|i|me|my|we|us|you|your|yourself|it|this|that|there|here|not|no|yes|please|tell|know"
    r"|want|like|make|much|now|today|again|s|m|re|ve|ll|d|t)\b"
    r"|你好|您好|早上|上午|中午|下午|晚上|晚安|早安|再见|拜拜|谢谢|多谢|感谢|客气|没事|请问|什么|怎么|怎样|名字|最近|今天|现在|心情"
    r"|感觉|开心|高兴|难过|辛苦|认识|聊天|一下|机器人|人工智能|可以|[你您我们好吗呢啊呀吧了的是谁叫样早不请能会做干些很也还都在嘛哦嗯哈嗨喂帮忙]",
    re.IGNORECASE,
)
"""Words that greet, thank, ask, and speak of whom one talks with."""

_WORD: Final = re.compile(r"[^\W_]")


def gives_up(text: str) -> bool:
    """Whether an answer says, in English or Chinese, that the model doesn't know it or cannot find it."""
    return _GIVES_UP.search(text[:_LOOKED_AT]) is not None


def names_something(question: str) -> bool:
    """Whether a question names anything that a source could know of; "how are you?" does not."""
    return _WORD.search(_SMALL_TALK.sub(" ", question[:_LONGEST_QUESTION])) is not None


def asked_first(
    reply: Reply,
    messages: Sequence[Message],
    tools: ToolCollection,
    choice: ToolChoice,
    new_id: Callable[[], str],
) -> Reply:
    """The reply, or, where it gives up beside a source that was not asked, a call that asks the source what the user asked.

    It gives up where nothing was found since the user spoke, and it says so, or calls were made that all failed; where it says
    that it knows too little for all that was found; and where it only says the question again. Where it was to change something,
    a person refused a call, or the question names nothing that could be looked up, its words stand.

    Args:
        reply: what the model said.
        messages: what it was shown.
        tools: what it was offered.
        choice: which of them it may call.
        new_id: names the call.
    """
    text = reply.text or ""
    if reply.calls or reply.broken or not text.strip() or choice.mode == "none":
        return reply
    sources = [tool for tool in tools if tool.rules.source and choice.allows(tool.name)]
    if not sources:
        return reply
    at, given = since_the_user_spoke(messages)
    if any(_was_no_question(result, tools) for result in given):
        return reply
    question = messages[at].text.strip() if at >= 0 else ""
    is_given_up = (
        _says_again(text, question)
        or (not any(map(_found, given)) and (bool(given) or gives_up(text)))
        or _KNOWS_NOT.search(text[:_LOOKED_AT]) is not None
    )
    if not is_given_up or not names_something(question):
        return reply
    called = {result.name for result in given}
    calls = [_asking(tool, question, text, new_id()) for tool in sources if tool.name not in called]
    return replace(reply, calls=tuple(calls), text="") if calls else reply


def _was_no_question(result: ToolResult, tools: ToolCollection) -> bool:
    """Whether it belongs to an errand that no source can run, or a person said no: then the model's words are about that."""
    tool = tools.get(result.name)
    is_denied = result.error is not None and result.error.code is ErrorCode.APPROVAL_DENIED
    return is_denied or (tool is not None and tool.rules.effect != "reads")


def _found(result: ToolResult) -> bool:
    """Whether a result tells something, be it that a query ran and there is none."""
    return result.ok or (result.error is not None and result.error.details.get("found") == 0)


def _says_again(text: str, question: str) -> bool:
    """Whether an answer holds nothing but the question's own words: "the orchestra plays on the open day"."""
    said = nouns(text[:_LONGEST_QUESTION])
    is_short = len(text) <= _LONGEST_QUESTION
    return text.strip() == question or (is_short and bool(said) and said <= nouns(question))


def _asking(tool: Tool, question: str, said: str, call_id: str) -> ToolCall:
    name = tool.rules.source
    most = tool.properties.get(name, {}).get("maxLength", _LONGEST_QUESTION)
    arguments = {name: question[:most]}
    mended = fix("source_asked", f"$.{name}", said[:_LOOKED_AT], arguments[name])
    return ToolCall(id=call_id, name=tool.name, arguments=arguments, fixes=(mended,))
