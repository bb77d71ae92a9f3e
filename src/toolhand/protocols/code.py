"""Code: the model writes a Python program that calls the tools, and is given what it prints and the value of its last line.

Programs run behind walls (`toolhand.sandbox`). In the history a program is one call, `run_code`, with one result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.arguments.settings import BindSettings
from toolhand.core.language import Language
from toolhand.core.marks import TEMPLATE_MARKS, unforgeable
from toolhand.core.messages import Message, ModelRequest, ToolCall, ToolResult
from toolhand.core.tools import Tool, ToolChoice
from toolhand.core.untrusted import framed
from toolhand.parsing.programs.outcomes import CodeRules
from toolhand.protocols import Reader
from toolhand.protocols.prompting import (
    Writing,
    example_arguments,
    example_call,
    example_tools,
    filled,
    framed_text,
    rendered,
)
from toolhand.protocols.reading.coded import RUN_CODE, CodeReader
from toolhand.tools.collection import ToolCollection
from toolhand.tools.stubs import python_name, stubs

_RULES: Final[Mapping[Language, str]] = {
    "en": """You can use these Python functions:
```python
{tools}
```

To use them, reply with one ```python block and nothing else. It is run, and you are given what it prints and the value of its \
last line. Do all the steps in one block; a variable takes a result on to the next step.
Example:
```python
{example}
```
The functions are there already: do not import or define them. There is no internet, and there are no files but the block's own.
Take argument values from the conversation or from results; never invent them, and never write a result yourself.
When you know the answer, or no function fits, reply in plain words, without code.""",
    "zh": """你可以使用下面的 Python 函数：
```python
{tools}
```

要使用它们，只回复一个 ```python 代码块，不要写其他文字。代码会被执行，你会得到它打印的内容和最后一行的值。\
所有步骤写在同一个代码块里，用变量把结果传给下一步。
例如：
```python
{example}
```
这些函数已经存在，不要导入或定义。没有网络，除代码自己的文件外也没有别的文件。
参数的值取自对话或结果，不要编造，也不要自己写结果。
知道答案之后，或者没有合适的函数时，直接用文字回答，不要写代码。""",
}
_CHOICE: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "required": "Use a function now{which}: reply only with a ```python block.",
        "none": "Write no code now: answer in plain words.",
        "auto": "You may only use these functions now: {names}.",
        "which": ", one of: {names}",
    },
    "zh": {
        "required": "现在必须使用函数{which}：只回复一个 ```python 代码块。",
        "none": "现在不要写代码：直接用文字回答。",
        "auto": "现在只能使用这些函数：{names}。",
        "which": "，只能是：{names}",
    },
}
_REPORT: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "output": "Output:",
        "value": "Value of the last line: ",
        "error": "The program stopped: ",
        "done": "It had made these calls, which must not be made again: {calls}",
        "again": "Write the program again, mended, or answer in words.",
        "files": "Files: ",
        "nothing": "The program ended and printed nothing: print what you want to know.",
    },
    "zh": {
        "output": "输出：",
        "value": "最后一行的值：",
        "error": "程序中止：",
        "done": "程序已经完成了下列调用，不要重复：{calls}",
        "again": "请改正后重新写程序，或用文字回答。",
        "files": "文件：",
        "nothing": "程序已结束，没有打印任何内容：请打印你想知道的内容。",
    },
}
_FRAME: Final = re.compile(r"<\s*/?\s*code_result", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeProtocol:
    """Python programs as a protocol.

    Args:
        name: its file's name.
        rules: how programs run: limits and backend.
    """

    name: str = "code"
    rules: CodeRules = field(default_factory=CodeRules)

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """The whole history in text alone, programs as fenced code."""
        return rendered(_WRITING, messages, tools, choice, language)

    def reader(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """Reads programs, and whatever else the model falls into; a program becomes the one call that carries it."""
        return CodeReader(tools, new_id, settings)

    def lister(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """The same for `parse`."""
        return CodeReader(tools, new_id, settings)


def _written(tool: Tool, variable: str = "") -> str:
    """An example call; with a variable, that stands for its first text."""
    arguments = {name: _literal(value) for name, value in example_arguments(tool).items()}
    return example_call(python_name(tool) or tool.name, arguments, variable)


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _rules(tools: ToolCollection, language: Language) -> str:
    listed = ToolCollection(tool for tool in tools if tool.name != RUN_CODE)
    first, second = example_tools(listed)
    example = f"a = {_written(first)}\nprint(a)\nif a:\n    print({_written(second, 'a')})"
    return filled(_RULES[language], tools=stubs(listed), example=example)


def _calls(text: str, calls: Sequence[ToolCall]) -> str:
    codes = [str(call.arguments.get("code", "")) if call.name == RUN_CODE else _call(call) for call in calls]
    return "\n".join([text] * bool(text) + [f"```python\n{code}\n```" for code in codes])


def _call(call: ToolCall) -> str:
    named = ", ".join(f"{key}={_literal(value)}" for key, value in call.arguments.items())
    return f"print({call.name}({named}))"


def _results(results: Sequence[ToolResult], language: Language) -> str:
    return "\n".join(f"<code_result>\n{_result(result, language)}\n</code_result>" for result in results)


def _result(result: ToolResult, language: Language) -> str:
    report = result.data
    if result.name != RUN_CODE or not isinstance(report, Mapping) or "output" not in report:
        return framed_text(result, language, _FRAME)
    words, lines = _REPORT[language], list[str]()
    if report["output"]:
        lines += [words["output"], str(report["output"]).rstrip("\n")]
    if report.get("value") is not None:
        value = report["value"]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        lines.append(words["value"] + text)
    if report.get("files"):
        lines.append(words["files"] + ", ".join(map(str, report["files"])))
    if report.get("error"):
        lines.append(words["error"] + str(report["error"]))
        done = [
            str(step["call"])
            for step in report.get("steps", ())
            if isinstance(step, Mapping) and step.get("writes") and "error" not in step
        ]
        lines += [filled(words["done"], calls="; ".join(done))] * bool(done) + [words["again"]]
    text = "\n".join(lines) or words["nothing"]
    if result.untrusted:
        text = framed(text, language)
    return unforgeable(unforgeable(text, _FRAME), TEMPLATE_MARKS)


_WRITING: Final = Writing(rules=_rules, calls=_calls, answer=str, results=_results, choice=_CHOICE)

PROTOCOL = CodeProtocol()
