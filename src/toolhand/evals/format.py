"""Every key of a case file with what it means: what the reader allows and the reference in the documents is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolhand.core.language import Language

Keys = Mapping[str, Mapping[Language, str]]

_SHARED: Final[Keys] = {
    "tools": {
        "en": "a list of sources: a `.py` file (path from the case file), a module, `builtin`, or a schema "
        "`{name, description, parameters}`",
        "zh": "工具来源列表：`.py` 文件（相对于用例文件）、模块名、`builtin`，或 schema `{name, description, parameters}`",
    },
    "only": {
        "en": "names of the tools that are offered, of all in `tools`",
        "zh": "只提供 `tools` 中的这些工具",
    },
    "without": {
        "en": "names of tools that are left out, so that a question needs what is not there",
        "zh": "去掉这些工具，用来测试所需工具不存在的情形",
    },
    "fixtures": {
        "en": "results instead of real runs: tool → result, or a list of `{when, result, error, times}`",
        "zh": "用预设结果代替真实执行：工具名 → 结果，或 `{when, result, error, times}` 的列表",
    },
    "instructions": {"en": "what the model is told first", "zh": "最先告诉模型的话"},
    "language": {
        "en": "`en` or `zh` for the words to the model; the question's by default",
        "zh": "对模型使用的语言 `en` 或 `zh`，默认随问题",
    },
    "tool_choice": {
        "en": "`auto`, `required`, `none`, a tool's name, or a list of names",
        "zh": "`auto`、`required`、`none`、工具名，或工具名列表",
    },
    "turns": {
        "en": "the most replies of the model to one question (8); at `1` only its first reply counts",
        "zh": "每个问题最多几次模型回复（默认 8）；为 `1` 时只看第一次回复",
    },
    "user": {"en": "who asks", "zh": "提问的用户"},
    "permissions": {"en": "what the user holds", "zh": "用户拥有的权限"},
    "roles": {"en": "what the user is", "zh": "用户的角色"},
    "facts": {"en": "values for `Injected` parameters", "zh": "`Injected` 参数的值"},
}

SUITE: Final[Keys] = {
    "name": {
        "en": "what the reports call it; the file's name by default",
        "zh": "报告中显示的名称，默认为文件名",
    },
    "cases": {"en": "the list of cases", "zh": "用例列表"},
    **{key: words for key, words in _SHARED.items() if key not in ("only", "without")},
}
"""The keys of a case file. Those that a case may have too are the defaults of all its cases."""

EXPECTATION: Final[Keys] = {
    "calls": {
        "en": "the calls that must run, and no others: `tool`, or `tool: {argument: value or matcher}`; `none` for no call. "
        'Arguments that are not named must be left out or sent as their default; `"...": true` allows any others',
        "zh": "必须执行的调用，不多不少：`工具名` 或 `工具名: {参数: 值或匹配器}`；`none` 表示不得调用。"
        '未列出的参数不得传（等于默认值除外）；`"...": true` 允许任意其他参数',
    },
    "order": {
        "en": "`any` (default), `listed`, or a list of allowed orders such as `[[1, 2, 3], [2, 1, 3]]`",
        "zh": "`any`（默认）、`listed`，或允许的顺序列表，如 `[[1, 2, 3], [2, 1, 3]]`",
    },
    "allowed": {"en": "calls that may run besides", "zh": "允许额外执行的调用"},
    "forbidden": {"en": "calls that may not run", "zh": "禁止执行的调用"},
    "extra_calls": {"en": "`true`: any other call may run besides", "zh": "`true`：允许任何其他调用"},
    "repeats": {
        "en": "`false`: the same call twice counts as an unexpected one, also where the tool only reads",
        "zh": "`false`：重复同一调用算作多余的调用，只读工具也不例外",
    },
    "text": {
        "en": "what the answer must hold: a text (case, width and thousands commas do not matter) or matchers; all of a list",
        "zh": "回答必须包含的内容：文本（忽略大小写、全半角和千位逗号）或匹配器；列表中的每一项都要满足",
    },
    "no_text": {"en": "what the answer may not hold", "zh": "回答不得包含的内容"},
    "any_of": {
        "en": "a list of alternatives with these keys; one of them has to be met",
        "zh": "若干备选（键同上），满足其一即可",
    },
}

QUESTION: Final[Keys] = {"question": {"en": "what the user says", "zh": "用户说的话"}, **EXPECTATION}

CASE: Final[Keys] = {
    "id": {"en": "its name, once in the file", "zh": "用例名，在文件中唯一"},
    "question": {"en": "what the user says", "zh": "用户说的话"},
    "questions": {
        "en": "several messages of one session instead: each with `question` and its own expectations",
        "zh": "同一会话中的多条消息：每条都有 `question` 和各自的期望",
    },
    "history": {
        "en": "what was said before: `{user: …}`, `{assistant: …}`, `{system: …}`, `{call: {tool: {…}}, result: …}`",
        "zh": "之前的对话：`{user: …}`、`{assistant: …}`、`{system: …}`、`{call: {工具: {…}}, result: …}`",
    },
    "output": {
        "en": "a raw reply, or several in order, that is read instead of asking a model",
        "zh": "一条或多条模型原文，直接解析而不询问模型",
    },
    "tags": {
        "en": "words to group by in the reports and to choose by with `--tag`",
        "zh": "标签，用于报告分组和 `--tag` 筛选",
    },
    "note": {"en": "for people", "zh": "备注"},
    **EXPECTATION,
    **_SHARED,
}

FIXTURE: Final[Keys] = {
    "when": {
        "en": "arguments with values or matchers; without it the fixture answers every call",
        "zh": "参数条件（值或匹配器）；不写则匹配所有调用",
    },
    "result": {"en": "what the tool gives back", "zh": "工具返回的结果"},
    "error": {
        "en": "an error instead: a sentence, or `{code, message, retryable}`",
        "zh": "改为返回错误：一句话，或 `{code, message, retryable}`",
    },
    "times": {"en": "how often it answers before the next one does", "zh": "使用几次后改用下一条"},
}

MATCHER_DOCS: Final[Keys] = {
    "equal": {
        "en": "the value itself; for an object that would read as a matcher",
        "zh": "与该值相等；用于会被误认为匹配器的对象",
    },
    "one_of": {"en": "any of a list of values or matchers", "zh": "列表中任意一个值或匹配器"},
    "all_of": {"en": "each of a list of matchers", "zh": "满足列表中的每个匹配器"},
    "not": {"en": "anything but this", "zh": "不是该值"},
    "like": {
        "en": "the text without regard to case, width, blanks and punctuation",
        "zh": "文本相同，忽略大小写、全半角、空白和标点",
    },
    "contains": {
        "en": "a text, or all of a list, somewhere in the value",
        "zh": "包含该文本（或列表中的全部文本）",
    },
    "regex": {"en": "a regular expression, found anywhere", "zh": "正则表达式，在任意位置匹配"},
    "close": {
        "en": "a number (within a millionth), or `{to: 3.1, within: 0.05}`",
        "zh": "接近的数字（百万分之一以内），或 `{to: 3.1, within: 0.05}`",
    },
    "between": {
        "en": "a number from the first to the second: `[1, 5]`",
        "zh": "在两数之间（含端点）：`[1, 5]`",
    },
    "date": {
        "en": "a day, or a moment, however it is written: `2025-03-01`, `2025-03-01T15:00`, `today+1`",
        "zh": "某天或某时刻，写法不限：`2025-03-01`、`2025-03-01T15:00`、`today+1`",
    },
    "unordered": {"en": "a list with these items in any order", "zh": "列表，各项顺序不限"},
    "includes": {"en": "a list that holds at least these items", "zh": "列表，至少包含这些项"},
    "fields": {"en": "an object with at least these fields", "zh": "对象，至少包含这些字段"},
    "type": {
        "en": "any value of a type: string, integer, number, boolean, array, object, null",
        "zh": "任意该类型的值：string、integer、number、boolean、array、object、null",
    },
    "any": {"en": "`any: true`: any value, but it must be sent", "zh": "`any: true`：任意值，但必须传"},
    "absent": {
        "en": "`absent: true`: it may not be sent, unless as the default",
        "zh": "`absent: true`：不得传（等于默认值除外）",
    },
    "optional": {"en": "it may be left out; if sent, it must fit", "zh": "可以不传；传了就必须符合"},
    "bfcl": {
        "en": "all arguments by the rules of the Berkeley Function Calling Leaderboard: `{accepted, types}`",
        "zh": "按 BFCL 的规则判断全部参数：`{accepted, types}`",
    },
}

TITLES: Final[Mapping[str, tuple[Keys, Mapping[Language, str]]]] = {
    "file": (SUITE, {"en": "The file", "zh": "文件"}),
    "case": (CASE, {"en": "A case", "zh": "用例"}),
    "question": (QUESTION, {"en": "One of several `questions`", "zh": "`questions` 中的一项"}),
    "fixture": (FIXTURE, {"en": "A fixture", "zh": "预设结果"}),
    "matcher": (MATCHER_DOCS, {"en": "Matchers", "zh": "匹配器"}),
}
"""The sections of the reference."""


def reference(language: Language) -> str:
    """The tables of the reference, as Markdown."""
    head = {"en": "| key | meaning |", "zh": "| 键 | 含义 |"}[language]
    parts = []
    for keys, title in TITLES.values():
        rows = [f"| `{key}` | {words[language]} |" for key, words in keys.items()]
        parts.append("\n".join([f"## {title[language]}", "", head, "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"
