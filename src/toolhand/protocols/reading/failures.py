"""What could not be read, as facts, and in words that let a model mend it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.language import Language
from toolhand.parsing.loose import LooseError


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why something could not be read.

    Args:
        kind: a key of `WORDS`.
        reason: what the reader of values expected, in its own English words; "" where it does not matter.
        facts: what the words name.
    """

    kind: str
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def said(self, language: Language) -> str:
        """The failure in words."""
        words = WORDS[language]
        facts = {"reason": _reason(self.reason, language), "near": "", **self.facts}
        if facts.get("key"):
            facts["near"] = words["near"].format(key=facts["key"])
        return words[self.kind].format(**facts)


WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "syntax": "The arguments are not valid JSON: {reason} at line {line}, column {column}{near}.",
        "near": ', at the key "{key}"',
        "character": "The arguments are not valid JSON: {reason} at character {character}.",
        "named": "The arguments of '{name}' are not valid JSON: {reason}.",
        "key": "The arguments of '{name}' cannot be read: {reason} at '{key}'.",
        "no_call": "What stands between the markers is not a call.",
        "again": "Write the call again.",
        "marker": "There is a marker of a tool call, and no call that can be read behind it.",
        "marker_hint": "Write the whole call again: the tool's name and its arguments.",
        "begun": "The output ends where a tool call begins.",
        "begun_hint": "Write the whole call again.",
        "thought": "The call of '{name}' stands only inside the reasoning, so it was not run.",
        "thought_hint": "If it is meant, write it again outside the reasoning; if not, answer the user.",
        "half": "The call ends in the middle of its arguments, so it was not run.",
        "half_of": "The call of '{name}' ends in the middle of its arguments, so it was not run.",
        "half_hint": "Write the whole call again, with smaller arguments if they are long.",
        "doubt": "It is not clear whether '{name}' is to be called, and it changes something.",
        "doubt_hint": "Did you mean to call it? Answer with only the call, or with no.",
        "ends": "The arguments are not valid JSON: they end at character {character}.",
        "ends_in": 'The arguments are not valid JSON: they end inside the key "{key}", at character {character}.',
        "second": "The arguments are not valid JSON: a second object begins at character {character}.",
        "invalid_hint": "Send the arguments again as one JSON object.",
        "cut": "The output was cut off inside the arguments of this call, so it was not run.",
        "cut_hint": "Call it again with a smaller payload, in several steps if need be.",
    },
    "zh": {
        "syntax": "参数不是有效的 JSON：第 {line} 行第 {column} 列{reason}{near}。",
        "near": "（键 “{key}” 处）",
        "character": "参数不是有效的 JSON：第 {character} 个字符处{reason}。",
        "named": "“{name}”的参数不是有效的 JSON：{reason}。",
        "key": "“{name}”的参数无法读取：“{key}”处{reason}。",
        "no_call": "标记之间的内容不是工具调用。",
        "again": "请重新写出这次调用。",
        "marker": "有工具调用的标记，但后面没有可以读取的调用。",
        "marker_hint": "请重新完整写出调用：工具名和参数。",
        "begun": "输出在工具调用开始的地方就结束了。",
        "begun_hint": "请重新完整写出调用。",
        "thought": "对“{name}”的调用只出现在思考内容中，因此没有执行。",
        "thought_hint": "如果确实要调用，请在思考内容之外重新写出；否则请直接回答用户。",
        "half": "调用在参数中间就结束了，因此没有执行。",
        "half_of": "对“{name}”的调用在参数中间就结束了，因此没有执行。",
        "half_hint": "请重新完整写出调用；参数很长时请缩短。",
        "doubt": "不清楚是否要调用“{name}”，而它会改变某些内容。",
        "doubt_hint": "你是要调用它吗？请只回复这次调用，或回复“否”。",
        "ends": "参数不是有效的 JSON：在第 {character} 个字符处就结束了。",
        "ends_in": "参数不是有效的 JSON：在键 “{key}” 内、第 {character} 个字符处就结束了。",
        "second": "参数不是有效的 JSON：第 {character} 个字符处又开始了另一个对象。",
        "invalid_hint": "请以一个 JSON 对象重新发送参数。",
        "cut": "输出在这次调用的参数中间被截断，因此没有执行。",
        "cut_hint": "请用更小的内容重新调用，必要时分几步进行。",
    },
}

_REASONS: Final[Mapping[str, str]] = {
    "a value was expected": "缺少值",
    "the value is nested too deeply": "嵌套太深",
    "a colon was expected after ": "缺少冒号，在键后：",
    "a key was expected": "缺少键",
    "a quoted value, an object or a list was expected": "缺少带引号的值、对象或列表",
    "a closing bracket was expected": "缺少右括号",
}


def _reason(reason: str, language: Language) -> str:
    """What was expected, in a language."""
    if language == "en" or not reason:
        return reason
    for known, said in _REASONS.items():
        if reason.startswith(known):
            return said + reason[len(known) :]
    return reason


def failed(
    kind: str,
    language: Language,
    *,
    code: ErrorCode = ErrorCode.UNPARSEABLE,
    hint: str = "",
    **facts: Any,
) -> ToolError:
    """A failure as an error that the model may mend.

    Args:
        kind: a key of `WORDS`.
        language: of the words.
        code: the error's.
        hint: the key of the hint; that of the kind by default.
        facts: what the words name.
    """
    message = Failure(kind=kind, facts=facts).said(language)
    return ToolError(code=code, message=message, retryable=True, hint=WORDS[language][hint or f"{kind}_hint"])


def syntax_problem(problem: LooseError, text: str, offset: int = 0) -> Failure:
    """What is wrong with a JSON text, and where; the text begins at `offset` of what was read."""
    position = problem.position - offset
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    facts = {"line": line, "column": column, "key": problem.key}
    return Failure(kind="syntax", reason=problem.reason, facts=facts)
