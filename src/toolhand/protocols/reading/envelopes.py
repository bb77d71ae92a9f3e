"""From a JSON value to the calls in it: the many objects that mean "call this", and the data that only resemble one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from toolhand.core.tools import Tool
from toolhand.parsing.costs import fix
from toolhand.parsing.loose import Loose, LooseError, read_value
from toolhand.protocols.reading.asked import Asked, Path, State
from toolhand.tools.collection import ToolCollection
from toolhand.tools.collection import folded as _folded

folded = lru_cache(maxsize=4096)(_folded)
# Keys are compared folded: no case, no joints.
_NAME_KEYS = {
    key: sureness
    for sureness, keys in {
        2: "tool toolname function functionname toolcall recipientname action actionname apiname func callname "
        "工具 工具名 工具名称 函数 函数名 函数名称 行动 动作 调用",
        1: "name api command method 名称",
    }.items()
    for key in keys.split()
}
_ARGUMENT_KEYS = frozenset(
    [
        "arguments",
        "args",
        "parameters",
        "params",
        "input",
        "toolinput",
        "actioninput",
        "toolargs",
        "toolarguments",
        "toolparameters",
        "kwargs",
        "inputs",
        "functionarguments",
        "functionargs",
        "argumentsjson",
        "argsjson",
        "actionargs",
        "arg",
        "argument",
        "parameter",
        "payload",
        "参数",
        "输入",
        "动作输入",
        "行动输入",
        "工具输入",
        "工具参数",
        "入参",
    ]
)
_LIST_KEYS = frozenset(
    [
        "toolcalls",
        "calls",
        "functioncalls",
        "tooluses",
        "actions",
        "toolcall",
        "functioncall",
        "tooluse",
        "工具调用",
        "调用列表",
    ]
)
_WRAP_KEYS = frozenset(
    [
        "command",
        "functioncall",
        "toolcall",
        "tooluse",
        "call",
        "function",
        "message",
        "delta",
        "toolrequest",
        "functions",
        "工具调用",
        "函数调用",
        "action",
        "tool",
    ]
)
_DEEP_KEYS = frozenset(["content", "choices", "output", "outputs", "parts", "messages", "message"])
_ASIDE_KEYS = frozenset(
    [
        "id",
        "type",
        "index",
        "callid",
        "toolcallid",
        "tooluseid",
        "thought",
        "thoughts",
        "thinking",
        "reasoning",
        "reason",
        "rationale",
        "explanation",
        "comment",
        "status",
        "role",
        "content",
        "思考",
        "想法",
        "理由",
        "原因",
        "plan",
        "step",
        "nextstep",
    ]
)
_IDENTIFIER = re.compile(r"^[^\W\d][\w.\-:/]{0,79}(?:\(\))?$")
NO_TOOL = frozenset(
    ["none", "null", "notool", "nothing", "na", "no", "noop", "无", "不需要", "无需工具", "没有"]
)
ANSWERING = frozenset(
    [
        "finalanswer",
        "finish",
        "final",
        "answer",
        "directlyanswer",
        "directanswer",
        "respond",
        "reply",
        "response",
        "finalresponse",
        "respondtouser",
        "最终答案",
        "最终回答",
        "回答",
        "完成",
        "结束",
    ]
)


class Envelopes:
    """Reads calls out of values, for one collection of tools.

    Args:
        tools: the tools that may be called.
    """

    def __init__(self, tools: ToolCollection) -> None:
        self.tools = tools

    def calls(self, loose: Loose) -> tuple[list[Asked], str | None] | None:
        """The calls that a value asks for and an answer in the clothes of a call, or None when it is data."""
        asked: list[Asked] = []
        answers: list[str] = []
        if not self._collect(loose.value, (), loose, asked, answers, 0):
            return None
        if loose.fixes:
            for call in asked:
                call.fixes = loose.fixes + call.fixes
        return asked, (answers[-1] if answers else None)

    def calls_in(self, value: Any) -> list[Asked] | None:
        """The calls in a value that was read by other means, such as YAML."""
        found = self.calls(Loose(value, 0))
        return found[0] if found else None

    def _collect(
        self, value: Any, path: Path, loose: Loose, asked: list[Asked], answers: list[str], depth: int
    ) -> bool:
        """Adds the calls in `value`; False when it is not, in all its parts, a call."""
        if isinstance(value, list):
            if not value or depth > 4:
                return False
            for index, item in enumerate(value):
                is_last_open = loose.open_path is not None and loose.open_path[: len(path) + 1] == (
                    *path,
                    index,
                )
                if not self._collect(item, (*path, index), loose, asked, answers, depth + 1):
                    if is_last_open and asked:
                        asked.append(Asked(_name_in(item), {}, state="cut"))
                        return True
                    return False
            return True
        if not isinstance(value, dict) or depth > 6:
            return False
        return self._object(value, path, loose, asked, answers, depth)

    def _object(
        self,
        value: dict[str, Any],
        path: Path,
        loose: Loose,
        asked: list[Asked],
        answers: list[str],
        depth: int,
    ) -> bool:
        keys = {folded(key): key for key in value}
        named = self._named(value, keys, path, loose)
        if named is not None:
            plain = folded(named.name)
            if plain in NO_TOOL and self.tools.lookup(named.name) is None:
                answers.append("")
            elif plain in ANSWERING and self.tools.lookup(named.name) is None:
                answers.append(_answer(named.arguments))
            else:
                asked.append(named)
            return True
        for key in keys:
            inner = value[keys[key]]
            inner_path = (*path, keys[key])
            if key in _LIST_KEYS and isinstance(inner, list) and inner:
                return self._collect(inner, inner_path, loose, asked, answers, depth + 1)
            if (
                key in _WRAP_KEYS
                and isinstance(inner, dict)
                and len(inner) >= 1
                and key not in self._tool_keys(value)
            ):
                return self._collect(inner, inner_path, loose, asked, answers, depth + 1)
        for key in keys.keys() & _DEEP_KEYS:
            found = self._any_inside(value[keys[key]], (*path, keys[key]), loose, asked, answers, depth)
            if found:
                return True
        return self._by_key(value, path, loose, asked)

    def _tool_keys(self, value: Mapping[str, Any]) -> set[str]:
        return {folded(key) for key in value if self.tools.get(key) is not None}

    def _any_inside(
        self, value: Any, path: Path, loose: Loose, asked: list[Asked], answers: list[str], depth: int
    ) -> bool:
        """Calls in a list of content blocks, of which some are text."""
        items = value if isinstance(value, list) else [value]
        found = False
        for index, item in enumerate(items):
            if isinstance(item, dict):
                inner = (*path, index) if isinstance(value, list) else path
                found = self._collect(item, inner, loose, asked, answers, depth + 2) or found
        return found

    def _named(self, value: dict[str, Any], keys: dict[str, str], path: Path, loose: Loose) -> Asked | None:
        """The call of an object that has a key for the name."""
        name_key = argument_key = ""
        sureness = 0
        for key, original in keys.items():
            if isinstance(value[original], str) and _NAME_KEYS.get(key, 0) > sureness:
                if key == "function" and "name" in keys:
                    continue
                name_key, sureness = original, _NAME_KEYS[key]
            elif key in _ARGUMENT_KEYS and not argument_key:
                argument_key = original
        if not name_key:
            return None
        name = value[name_key]
        tool = self.tools.lookup(name)
        others = [
            key for key in value if key not in (name_key, argument_key) and folded(key) not in _ASIDE_KEYS
        ]
        state = _state(loose, path, argument_key)
        if argument_key and not (tool is not None and argument_key in tool.properties and len(others) > 0):
            return self._with_arguments(name, tool, value[argument_key], others, state, sureness)
        return self._flat(name, tool, value, name_key, others, state, sureness)

    def _with_arguments(
        self, name: str, tool: Tool | None, raw: Any, others: list[str], state: State, sureness: int
    ) -> Asked | None:
        if tool is None and (not _IDENTIFIER.match(name) or (others and sureness < 2)):
            return Asked(name, {"": raw}) if folded(name) in ANSWERING else None
        if tool is None and isinstance(raw, str | list) and folded(name) in ANSWERING | NO_TOOL:
            return Asked(name, {"": raw})
        asked = self.with_value(name, tool, raw)
        if asked is None:
            return None
        if state != "whole":
            asked.state = state
        asked.is_certain = tool is not None or sureness > 1 or not others
        return asked

    def _flat(
        self,
        name: str,
        tool: Tool | None,
        value: dict[str, Any],
        name_key: str,
        others: list[str],
        state: State,
        sureness: int,
    ) -> Asked | None:
        """An object whose arguments stand beside its name, or that has none."""
        if tool is None:
            is_bare = sureness > 1 and not others and bool(_IDENTIFIER.match(name))
            if is_bare and len(value) == 1:
                return Asked(name, {}, state=state, is_certain=folded(name) in NO_TOOL)
            return None
        own = {folded(key) for key in tool.properties}
        beside = {
            key: item
            for key, item in value.items()
            if key != name_key and (key in others or folded(key) in own)
        }
        if not all(folded(key) in own for key in beside) and sureness < 2:
            return None
        fixes = (fix("flat_arguments"),) if beside else ()
        return Asked(name, beside, fixes, state)

    def _by_key(self, value: dict[str, Any], path: Path, loose: Loose, asked: list[Asked]) -> bool:
        """`{"tool_name": {…arguments…}}`, one or several."""
        found: list[Asked] = []
        for key, inner in value.items():
            tool = self.tools.lookup(key)
            if tool is None or not (inner is None or isinstance(inner, dict | str | list)):
                return False
            call = self.with_value(key, tool, inner)
            if call is None or (isinstance(inner, list) and inner):
                return False
            call.state = _state(loose, path, key)
            call.fixes = (*call.fixes, fix("name_as_key"))
            found.append(call)
        asked.extend(found)
        return bool(found)

    def with_value(self, name: str, tool: Tool | None, raw: Any) -> Asked | None:
        """A call from its name and whatever was sent as its arguments; None when that cannot be arguments."""
        if isinstance(raw, dict):
            if tool is None:
                inner = self._name_inside(raw)
                if inner is not None:
                    return inner
            return Asked(name, raw)
        if raw is None:
            return Asked(name, {})
        if isinstance(raw, str):
            return self.with_text(name, tool, raw)
        if isinstance(raw, list) and len(raw) == 1 and isinstance(raw[0], dict):
            return Asked(name, raw[0], (fix("nested_twice"),))
        if isinstance(raw, list):
            return self.with_positions(name, tool, raw)
        return self.with_positions(name, tool, [raw])

    def _name_inside(self, raw: dict[str, Any]) -> Asked | None:
        for key in raw:
            if folded(key) in _NAME_KEYS and isinstance(raw[key], str):
                tool = self.tools.lookup(raw[key])
                if tool is not None:
                    rest = {other: item for other, item in raw.items() if other != key}
                    return Asked(raw[key], rest, (fix("name_in_arguments"),))
        return None

    def with_text(self, name: str, tool: Tool | None, raw: str) -> Asked | None:
        """Arguments that came as a string: JSON in it, or the only required parameter's value."""
        text = raw.strip()
        if not text:
            return Asked(name, {})
        if text[0] in "{｛[［":
            try:
                loose = read_value(text)
            except LooseError as problem:
                if text[0] in "{｛":
                    return Asked(name, {}, problem=syntax_problem(problem, text))
            else:
                if isinstance(loose.value, dict) and not text[loose.end :].strip(" \n\t}`;"):
                    asked = Asked(name, loose.value, (*loose.fixes, fix("arguments_as_text")))
                    asked.state = _state(loose, (), "")
                    return asked
        if text in ("null", "None", "{}", "无", "None required"):
            return Asked(name, {})
        return self.with_positions(name, tool, [raw])

    def with_positions(self, name: str, tool: Tool | None, values: list[Any]) -> Asked | None:
        """Values without names, to be placed by the binder."""
        if tool is None and (not _IDENTIFIER.match(name) or len(values) != 1 or isinstance(values[0], list)):
            return None
        return Asked(name, {}, (fix("positional_argument"),), positional=tuple(values))


def _state(loose: Loose, path: Path, argument_key: str) -> State:
    """How much of the call at `path` is there."""
    opened = loose.open_path
    if opened is None or opened[: len(path)] != path:
        return "whole"
    inside = opened[len(path) :]
    if loose.is_cut:
        return "cut"
    if argument_key and inside[:1] == (argument_key,):
        return "cut" if len(inside) > 1 else "unclosed"
    return "cut" if len(inside) > (1 if argument_key else 0) else "unclosed"


def _answer(arguments: Mapping[str, Any]) -> str:
    for value in arguments.values():
        if isinstance(value, str):
            return value.strip()
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            return value[0].strip()
        if value not in (None, {}, []):
            return json.dumps(value, ensure_ascii=False)
    return ""


def _name_in(item: Any) -> str:
    if isinstance(item, dict):
        for key, value in item.items():
            if folded(key) in _NAME_KEYS and isinstance(value, str):
                return value
    return ""


def syntax_problem(problem: LooseError, text: str, offset: int = 0) -> str:
    """What is wrong with a JSON text, in words that name the place; the text begins at `offset` of what was read."""
    position = problem.position - offset
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    near = f', at the key "{problem.key}"' if problem.key else ""
    return f"The arguments are not valid JSON: {problem.reason} at line {line}, column {column}{near}."
