"""Rules on a tool's name and description."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from toolhand.choosing.words import words
from toolhand.core.tools import Tool
from toolhand.lint.finding import Finding
from toolhand.tools.docstring import read_docstring
from toolhand.tools.names import wire_name

MOST_DESCRIPTION: Final = 1024
"""OpenAI's bound, the lowest. Source: https://platform.openai.com/docs/api-reference/chat/create."""

_FEWEST_WORDS: Final = 3
_VAGUE_VERBS: Final = frozenset(
    (
        "handle", "handles", "manage", "manages", "process", "processes", "perform", "performs",
        "execute", "executes", "do", "does", "deal", "deals", "operate", "operates",
    )
)  # fmt: skip
_VAGUE_CHINESE: Final = re.compile(r"^(?:处理|执行|管理|操作|进行)(?!.*(?:返回|查询|创建|修改|删除|发送))")
_VAGUE_NAMES: Final = frozenset(
    (
        "tool", "tools", "do", "run", "call", "helper", "util", "utils", "test", "main", "func",
        "function", "process", "handle", "action", "execute", "misc", "my_tool", "task", "go",
        "thing",
    )
)  # fmt: skip
_NUMBERED: Final = re.compile(r"(?:tool|func|function|f|test)_?\d+", re.IGNORECASE)
_GIVES: Final = re.compile(
    r"\breturn|\bgive|\bget|\blist|\bfind|\bsearch|\bread|\bshow|\btell|\bfetch|\bcheck|\bhow (?:many|much)|\bcount|\bcalculat|"
    r"\bcomput|\bconvert|\blook|\bquer|\bthe\b|返回|查询|列出|搜索|读取|查找|计算|获取|查看|给出|换算|检索|多少|是否",
    re.IGNORECASE,
)


def description(tool: Tool) -> Iterator[Finding]:
    """Whether it is there, says more than the name, and is not too long."""
    text = " ".join(tool.description.split())
    if not text:
        yield Finding(rule="description-missing", tool=tool.name)
        return
    said, named = words(text), set(words(tool.name))
    is_chinese = any("\u3400" <= letter <= "\u9fff" for letter in text)
    if len(set(said) - named) < (_FEWEST_WORDS if is_chinese else 1) or len(text.split()) + (
        len(text) if is_chinese else 0
    ) < (5 if is_chinese else _FEWEST_WORDS):
        yield Finding(rule="description-short", tool=tool.name, facts={"text": text[:80]})
    if len(tool.description) > MOST_DESCRIPTION:
        facts = {"count": len(tool.description), "most": MOST_DESCRIPTION}
        yield Finding(rule="description-long", tool=tool.name, facts=facts)
    first = text.split()[0].strip(".,:;").casefold()
    vague = first if first in _VAGUE_VERBS else ""
    if match := _VAGUE_CHINESE.match(text):
        vague = match[0][:2]
    if vague:
        yield Finding(rule="verb-vague", tool=tool.name, facts={"verb": vague})


def name(tool: Tool) -> Iterator[Finding]:
    """Whether the name says something, and whether providers take it."""
    if tool.name.casefold() in _VAGUE_NAMES or _NUMBERED.fullmatch(tool.name) or len(tool.name) == 1:
        yield Finding(rule="name-vague", tool=tool.name)
    if (wire := wire_name(tool.name)) != tool.name:
        yield Finding(rule="name-refused", tool=tool.name, facts={"wire": wire})


def docstring(tool: Tool) -> Iterator[Finding]:
    """Whether the docstring describes parameters that are not there, and says what comes back."""
    function = _source(tool)
    if function is None:
        return
    documented = read_docstring(inspect.getdoc(function))
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    for entry in documented.parameters:
        if entry not in signature.parameters and entry not in tool.properties:
            yield Finding(rule="docstring-stale", tool=tool.name, facts={"name": entry})
    returned = signature.return_annotation
    is_plain = returned in (inspect.Signature.empty, Any, dict, list, str, "dict", "list", "str", "Any")
    says = documented.returns or "Returns:" in tool.description or _GIVES.search(tool.description)
    if tool.rules.effect == "reads" and is_plain and not says:
        yield Finding(rule="result-unsaid", tool=tool.name)


def _source(tool: Tool) -> Callable[..., Any] | None:
    """The function that was written."""
    if tool.function is None:
        return None
    found = inspect.unwrap(getattr(tool.function, "func", tool.function))
    return found if callable(found) else None


CHECKS: Final = (description, name, docstring)
