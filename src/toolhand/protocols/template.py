"""Template blocks: `[TOOL: name]`, `key = value` lines, `[/TOOL]`. For models too weak for JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.core.jsonable import jsonable
from toolhand.core.language import Language
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.protocols.prompting import (
    Prompted,
    Writing,
    example_arguments,
    example_tools,
    filled,
    framed_text,
)
from toolhand.tools.collection import ToolCollection

_RULES = {
    "en": """You can use these tools:
{tools}

To use a tool, write only this block, one parameter a line:
{example}

You are then given the result. To use several tools, write several blocks.
Take values from the conversation or from results; never invent them.
When you know the answer, or no tool fits, answer in plain words without a block.""",
    "zh": """你可以使用下面的工具：
{tools}

要使用工具，只写下面的方块，每行一个参数：
{example}

之后你会得到结果。要使用多个工具，就写多个方块。
参数的值取自对话或结果，不要编造。
知道答案之后，或者没有合适的工具时，直接用文字回答，不要写方块。""",
}
_CHOICE: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "required": "Use a tool now{which}: write only the [TOOL: …] block.",
        "none": "Use no tool now: answer in plain words.",
        "auto": "You may only use these tools now: {names}.",
        "which": ", one of: {names}",
    },
    "zh": {
        "required": "现在必须使用工具{which}：只写 [TOOL: …] 方块。",
        "none": "现在不要使用工具：直接用文字回答。",
        "auto": "现在只能使用这些工具：{names}。",
        "which": "，只能是：{names}",
    },
}
_FRAME = re.compile(r"\[\s*/?\s*(?:TOOL|RESULT)", re.IGNORECASE)


def _described(tool: Tool) -> str:
    lines = [f"- {tool.name}: {tool.description}"]
    for name, declared in tool.properties.items():
        schema = declared if isinstance(declared, Mapping) else {}  # true and false are schemas, too
        kind = schema.get("type") or " | ".join(str(option.get("type")) for option in schema.get("anyOf", ()))
        facts = [str(kind or "any"), "required" if name in tool.required else "optional"]
        if schema.get("enum"):
            facts.append("one of " + ", ".join(map(str, schema["enum"])))
        lines.append(f"    {name} ({', '.join(facts)}): {schema.get('description', '')}".rstrip(": "))
    return "\n".join(lines)


def _value(value: Any) -> str:
    plain = jsonable(value)
    return plain if isinstance(plain, str) and "\n" not in plain else json.dumps(plain, ensure_ascii=False)


def _block(name: str, arguments: dict[str, Any]) -> str:
    return "\n".join(
        [f"[TOOL: {name}]", *(f"{key} = {_value(value)}" for key, value in arguments.items()), "[/TOOL]"]
    )


def _rules(tools: ToolCollection, language: Language) -> str:
    first, _ = example_tools(tools)
    described = "\n".join(_described(tool) for tool in tools)
    return filled(_RULES[language], tools=described, example=_block(first.name, example_arguments(first)))


def _calls(text: str, calls: Sequence[ToolCall]) -> str:
    return "\n".join([text] * bool(text) + [_block(call.name, dict(call.arguments)) for call in calls])


def _results(results: Sequence[ToolResult], language: Language) -> str:
    return "\n".join(
        f"[RESULT: {result.name}]\n{framed_text(result, language, _FRAME)}\n[/RESULT]" for result in results
    )


WRITING = Writing(rules=_rules, calls=_calls, answer=str, results=_results, choice=_CHOICE)

PROTOCOL = Prompted(name="template", writing=WRITING)
