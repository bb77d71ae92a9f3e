"""Prompted JSON: the model is told to write `{"tool": …, "args": …}` and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from toolhand.core.language import Language
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.protocols.prompting import (
    Prompted,
    Writing,
    example_arguments,
    example_tools,
    filled,
    framed_text,
    tool_lines,
    written_arguments,
)
from toolhand.tools.collection import ToolCollection

_RULES = {
    "en": """You can call these tools, one JSON Schema a line:
{tools}

To call a tool, reply with this JSON and nothing else:
{example}
To call several at once, reply with a list of them:
[{example}, {other}]
Take argument values from the conversation or from tool results; never invent them.
You are then given the results. When you know the answer, or no tool fits, reply in plain words, without JSON.""",
    "zh": """你可以调用下面的工具，每行一个 JSON Schema：
{tools}

要调用工具，只回复下面格式的 JSON，不要写任何其他内容：
{example}
要同时调用多个工具，回复一个列表：
[{example}, {other}]
参数的值取自对话或工具结果，不要编造。
之后你会得到结果。知道答案之后，或者没有合适的工具时，直接用文字回答，不要写 JSON。""",
}
_CHOICE: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "required": "Call a tool now{which}: reply with the JSON only.",
        "none": "Call no tool now: answer in plain words.",
        "auto": "You may only call these tools now: {names}.",
        "which": ", one of: {names}",
    },
    "zh": {
        "required": "现在必须调用工具{which}：只回复 JSON。",
        "none": "现在不要调用工具：直接用文字回答。",
        "auto": "现在只能调用这些工具：{names}。",
        "which": "，只能是：{names}",
    },
}
_FRAME = re.compile(r"<\s*/?\s*tool_result", re.IGNORECASE)


def _call(name: str, arguments: str) -> str:
    return f'{{"tool": {json.dumps(name, ensure_ascii=False)}, "args": {arguments}}}'


def _rules(tools: ToolCollection, language: Language) -> str:
    first, second = example_tools(tools)
    example, other = (
        _call(t.name, json.dumps(example_arguments(t), ensure_ascii=False)) for t in (first, second)
    )
    return filled(_RULES[language], tools=tool_lines(tools), example=example, other=other)


def _calls(text: str, calls: Sequence[ToolCall]) -> str:
    written = [_call(call.name, written_arguments(call)) for call in calls]
    body = written[0] if len(written) == 1 else f"[{', '.join(written)}]"
    return f"{text}\n{body}" if text else body


def _results(results: Sequence[ToolResult], language: Language) -> str:
    return "\n".join(
        f'<tool_result name="{result.name}">\n{framed_text(result, language, _FRAME)}\n</tool_result>'
        for result in results
    )


WRITING = Writing(rules=_rules, calls=_calls, answer=str, results=_results, choice=_CHOICE)

PROTOCOL = Prompted(name="json", writing=WRITING)
