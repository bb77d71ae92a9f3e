"""Plans: the model writes all its steps in one note, in the plan language, and the steps run one after the other.

What the language can say: `docs/reference/plan.md`. With `manner="steps"` it writes one step, sees the result, and goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolhand.arguments.settings import BindSettings
from toolhand.core.language import Language
from toolhand.core.marks import TEMPLATE_MARKS, unforgeable
from toolhand.core.messages import Message, ModelRequest, ToolCall, ToolResult
from toolhand.core.tools import Tool, ToolChoice
from toolhand.core.untrusted import framed
from toolhand.plan import Rules
from toolhand.plan.language import grammar
from toolhand.protocols import Doubt, Reader, Said, Settled
from toolhand.protocols.constrained import freely
from toolhand.protocols.constrained_first import told_at_once
from toolhand.protocols.native import PROTOCOL as NATIVE
from toolhand.protocols.next_steps import has_result, without_sent_back
from toolhand.protocols.prompting import (
    Writing,
    example_arguments,
    example_call,
    example_tools,
    filled,
    framed_text,
    rendered,
)
from toolhand.protocols.reading.planned import RUN_PLAN, Manner, PlanReader, PlanSettler
from toolhand.tools.collection import ToolCollection

_RULES: Final[Mapping[Manner, Mapping[Language, str]]] = {
    "whole": {
        "en": """You can use these tools:
{tools}

To use tools, reply only with calls, one a line, and no other words. `-> name` keeps a result, `$name` uses it in a later line.
Example 1, one call:
{one}
Example 2, the second call uses the first one's result:
{two}
Example 3, a condition and a loop; lines under them are indented:
{three}
Take argument values from the conversation or from results ($name); never invent them. Write every call that is needed.
You are then given the results. When you know the answer, or no tool fits, reply in plain words, without calls.""",
        "zh": """你可以使用下面的工具：
{tools}

要使用工具，只回复调用，每行一个，不要写其他文字。`-> 名称` 保存结果，后面的行用 `$名称` 引用。
例 1，一个调用：
{one}
例 2，第二个调用使用第一个的结果：
{two}
例 3，条件和循环，下面的行要缩进：
{three}
参数的值取自对话或结果（$名称），不要编造。把需要的调用都写出来。
之后你会得到结果。知道答案之后，或者没有合适的工具时，直接用文字回答，不要写调用。""",
    },
    "steps": {
        "en": """You can use these tools:
{tools}

To use a tool, reply only with one call on one line, and no other words. `-> name` keeps its result, `$name` uses it later.
Example of a first call:
{one}
Example of a later call that uses a result:
{later}
After each call you are given its result; then write the next call, or the answer.
Take argument values from the conversation or from results ($name); never invent them.
When you know the answer, or no tool fits, reply in plain words, without a call.""",
        "zh": """你可以使用下面的工具：
{tools}

要使用工具，只回复一行，一个调用，不要写其他文字。`-> 名称` 保存结果，之后的调用用 `$名称` 引用。
第一个调用的例子：
{one}
之后使用结果的例子：
{later}
每次调用之后你会得到它的结果，然后写下一个调用，或者回答。
参数的值取自对话或结果（$名称），不要编造。
知道答案之后，或者没有合适的工具时，直接用文字回答，不要写调用。""",
    },
}
_CHOICE: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "required": "Use a tool now{which}: reply only with calls.",
        "none": "Use no tool now: answer in plain words.",
        "auto": "You may only use these tools now: {names}.",
        "which": ", one of: {names}",
    },
    "zh": {
        "required": "现在必须使用工具{which}：只回复调用。",
        "none": "现在不要使用工具：直接用文字回答。",
        "auto": "现在只能使用这些工具：{names}。",
        "which": "，只能是：{names}",
    },
}
_REPORT: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "failed": "The plan stopped: {error}",
        "left": "The steps behind it did not run. Write a plan for what is left; the results above are kept under their names.",
        "stopped": "The plan was stopped before its end.",
        "undone": "Undone: {call}",
        "not_undone": "Not undone, step {step}: {reason}",
        "skipped": "Step {step} did not run: {reason}",
        "nothing": "The plan ended and no step ran.",
        "answer": "If these results tell what was asked, answer the question now in one short sentence with the values found, "
        "without calls. Otherwise write only the calls that are still missing.",
    },
    "zh": {
        "failed": "计划中止：{error}",
        "left": "后面的步骤没有执行。请为剩下的事写一个计划；上面的结果仍可按名称引用。",
        "stopped": "计划在结束之前被停止。",
        "undone": "已撤销：{call}",
        "not_undone": "第 {step} 步未撤销：{reason}",
        "skipped": "第 {step} 步没有执行：{reason}",
        "nothing": "计划已结束，没有执行任何步骤。",
        "answer": "如果这些结果已经能回答问题，现在就用一句话回答，写出查到的数值，不要写调用。否则只写还缺的调用。",
    },
}
_NOTATION: Final = re.compile(r"(?:(?:->|→)|[^\n]*\$[^\W\d]|[\w.\s]+(?:->|→))[^\n?？]*")
"""An answer of one line that is none: a plan's arrow, a result's name, or words with an arrow between. A question is one."""
_FRAME: Final = re.compile(r"<\s*/?\s*plan_result|^[ \t]*\$[^\W\d]\w*[ \t]*=", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProtocol:
    """The plan language as a protocol.

    Args:
        name: its file's name.
        manner: "whole", all steps in one reply, or "steps", one step a reply.
        rules: how plans run: bounds, and whether a failed one undoes what it has done.
    """

    name: str = "plan"
    manner: Manner = "whole"
    rules: Rules = field(default_factory=Rules)

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """The whole history in text alone, plans as plans."""
        grammar()  # what is missing is said before the model is asked
        return rendered(_WRITINGS[self.manner], without_sent_back(messages), tools, choice, language)

    def reader(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """Reads plans, and whatever else the model falls into; a plan becomes the one call that carries it."""
        return PlanReader(PlanSettler(tools, new_id, settings, manner=self.manner, is_carried=True))

    def again(self, said: Said) -> Doubt | None:
        """Where a small model answers results in the language of plans (`-> 10`, `$price`), it is asked in its own form."""
        text = (said.reply.text or "").strip()
        if said.reply.calls or said.reply.broken or not _NOTATION.fullmatch(text):
            return None
        return Doubt("placeholder", None, lambda _: Settled(0.0, _plainly(said)))

    def lister(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """The same for `parse`: the reply's calls are the plan's steps, and its `program` is the plan."""
        return PlanReader(PlanSettler(tools, new_id, settings, manner=self.manner))


def _plainly(said: Said) -> ModelRequest:
    """Asks in the model's own form: with the results beside the question, or, where there are none, with the tools."""
    if not has_result(said.messages):
        return freely(said)
    told = told_at_once(said.messages, frozenset(), said.request.language, _framed)
    plain = NATIVE.render(told, ToolCollection(), ToolChoice("none"), said.request.language)
    return replace(plain, sampling=said.request.sampling)


# ---------------------------------------------------------------------- the prompt
def _signature(tool: Tool) -> str:
    """A tool as it is called, with what its parameters mean."""
    parameters = [
        f"{name}: {_type(schema)}" if name in tool.required else f"{name}?: {_type(schema)}"
        for name, schema in tool.properties.items()
    ]
    lines = [f"{tool.name}({', '.join(parameters)})  # {' '.join(tool.description.split())}"]
    for name, schema in tool.properties.items():
        said = schema.get("description", "") if isinstance(schema, Mapping) else ""
        if said:
            lines.append(f"    {name}: {' '.join(str(said).split())}")
    return "\n".join(lines)


def _type(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if schema.get("enum"):
        return " | ".join(json.dumps(option, ensure_ascii=False) for option in schema["enum"])
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " | ".join(dict.fromkeys(_type(option) for option in options))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"[{_type(schema.get('items'))}]"
    return " | ".join(kind) if isinstance(kind, list) else str(kind)


def _written(tool: Tool, variable: str = "") -> str:
    """An example call; with a variable, that stands for its first text."""
    arguments = {
        name: json.dumps(value, ensure_ascii=False) for name, value in example_arguments(tool).items()
    }
    return example_call(tool.name, arguments, variable)


def _rules(tools: ToolCollection, language: Language, manner: Manner) -> str:
    listed = ToolCollection(tool for tool in tools if tool.name != RUN_PLAN)
    first, second = example_tools(listed)
    one = f"{_written(first)} -> a"
    three = f'{one}\nif $a contains "…":\n    {_written(second)}\nfor x in $a:\n    {_written(second, "$x")}'
    return filled(
        _RULES[manner][language],
        tools="\n".join(_signature(tool) for tool in listed),
        one=one,
        two=f"{one}\n{_written(second, '$a')} -> b",
        later=f"{_written(second, '$a')} -> b",
        three=three,
    )


# ---------------------------------------------------------------------- the history
def _calls(text: str, calls: Sequence[ToolCall]) -> str:
    written = [
        str(call.arguments.get("plan", "")) if call.name == RUN_PLAN else _call(call) for call in calls
    ]
    return "\n".join([text] * bool(text) + written)


def _call(call: ToolCall) -> str:
    named = (
        f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in call.arguments.items()
    )
    return f"{call.name}({', '.join(named)})"


def _results(results: Sequence[ToolResult], language: Language) -> str:
    framed_results = [_framed(result, language) for result in results]
    has_ended = all(result.ok and not _has_failed(result.data) for result in results)
    return "\n".join([*framed_results, *[_REPORT[language]["answer"]] * has_ended])


def _framed(result: ToolResult, language: Language) -> str:
    return f"<plan_result>\n{_result(result, language)}\n</plan_result>"


def _has_failed(report: Any) -> bool:
    return isinstance(report, Mapping) and report.get("ending") in ("failed", "stopped")


def _result(result: ToolResult, language: Language) -> str:
    report = result.data
    if result.name != RUN_PLAN or not isinstance(report, Mapping) or "steps" not in report:
        return f"{result.name}: {framed_text(result, language, _FRAME)}"
    words = _REPORT[language]
    # Of an old report that was shortened, a row may be the remark on what was left out.
    lines = [
        _step(step, words, language) if isinstance(step, Mapping) else str(step) for step in report["steps"]
    ]
    if report.get("ending") == "failed":
        lines += [filled(words["failed"], error=str(report.get("error", ""))), words["left"]]
    elif report.get("ending") == "stopped":
        lines.append(words["stopped"])
    for undone in report.get("undone", ()):
        lines.append(str(undone) if not isinstance(undone, Mapping) else
                     filled(words["undone"], call=str(undone["call"])) if undone["ok"] else
                     filled(words["not_undone"], step=str(undone["step"]), reason=str(undone["reason"])))  # fmt: skip
    return "\n".join(lines) or words["nothing"]


def _step(step: Mapping[str, Any], words: Mapping[str, str], language: Language) -> str:
    if "skipped" in step:
        return filled(words["skipped"], step=str(step["step"]), reason=str(step["skipped"]))
    said = step.get("error") or step.get("result")
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)
    text = unforgeable(unforgeable(text, _FRAME), TEMPLATE_MARKS)
    if step.get("untrusted"):
        text = framed(text, language)
    place = "" if not step.get("in_loop") else f"  # {step['call']}"
    head = f"${step['save_as']} =" if step.get("save_as") else f"{step['call']}:"
    return f"{head} {text}{place}"


def _writing(manner: Manner) -> Writing:
    return Writing(
        rules=lambda tools, language: _rules(tools, language, manner),
        calls=_calls,
        answer=str,
        results=_results,
        choice=_CHOICE,
    )


_WRITINGS: Final[Mapping[Manner, Writing]] = {"whole": _writing("whole"), "steps": _writing("steps")}

PROTOCOL = PlanProtocol()
