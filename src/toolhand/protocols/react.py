"""ReAct: Thought, Action, Action Input, Observation.

Source: Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", 2022 (arXiv 2210.03629).
"""

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
    "en": """You can use these tools, one JSON Schema a line:
{tools}

Work in steps. In each step write exactly this, then stop and wait for the Observation:
Thought: what you need to find out next
Action: {name}
Action Input: {arguments}

Never write an Observation yourself: it is given to you. Take argument values from the conversation or from Observations.
When you know the answer, or no tool fits, write:
Thought: I know the answer
Final Answer: the answer""",
    "zh": """你可以使用下面的工具，每行一个 JSON Schema：
{tools}

请分步进行。每一步严格按下面的格式书写，然后停下来等待 Observation：
Thought: 接下来需要弄清什么
Action: {name}
Action Input: {arguments}

不要自己写 Observation，它会提供给你。参数的值取自对话或 Observation。
知道答案之后，或者没有合适的工具时，写：
Thought: 我知道答案了
Final Answer: 答案""",
}
_CHOICE: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "required": "Use a tool now{which}: write Action and Action Input.",
        "none": "Use no tool now: write the Final Answer.",
        "auto": "You may only use these tools now: {names}.",
        "which": ", one of: {names}",
    },
    "zh": {
        "required": "现在必须使用工具{which}：写出 Action 和 Action Input。",
        "none": "现在不要使用工具：写出 Final Answer。",
        "auto": "现在只能使用这些工具：{names}。",
        "which": "，只能是：{names}",
    },
}
_FRAME = re.compile(
    r"^[ \t>*]*(?:Observation|Thought|Action(?: Input)?|Final Answer|观察|思考|行动)[ \t*]*[:：]",
    re.MULTILINE | re.IGNORECASE,
)


def _rules(tools: ToolCollection, language: Language) -> str:
    first, _ = example_tools(tools)
    arguments = json.dumps(example_arguments(first), ensure_ascii=False)
    return filled(_RULES[language], tools=tool_lines(tools), name=first.name, arguments=arguments)


def _calls(text: str, calls: Sequence[ToolCall]) -> str:
    steps = [f"Action: {call.name}\nAction Input: {written_arguments(call)}" for call in calls]
    return "\n".join([f"Thought: {text}"] * bool(text) + steps)


def _answer(text: str) -> str:
    return f"Final Answer: {text}"


def _results(results: Sequence[ToolResult], language: Language) -> str:
    return "\n".join(f"Observation: {framed_text(result, language, _FRAME)}" for result in results)


WRITING = Writing(
    rules=_rules,
    calls=_calls,
    answer=_answer,
    results=_results,
    choice=_CHOICE,
    stop=("\nObservation:", "\nObservation：", "\n观察：", "\n观察:"),
)

PROTOCOL = Prompted(name="react", writing=WRITING)
