"""From a JSON value to the calls in it: the many objects that mean "call this", and the data that only resemble one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolhand.core.tools import Tool
from toolhand.parsing.costs import fix
from toolhand.parsing.loose import Loose, LooseError, read_value
from toolhand.protocols.reading.asked import Asked, Path, State
from toolhand.protocols.reading.envelope_keys import (
    ANSWERING,
    ARGUMENT_KEYS,
    ASIDE_KEYS,
    DEEP_KEYS,
    IDENTIFIER,
    LIST_KEYS,
    NAME_KEYS,
    NO_TOOL,
    WRAP_KEYS,
    folded,
)
from toolhand.protocols.reading.failures import syntax_problem
from toolhand.tools.collection import ToolCollection


@dataclass(slots=True)
class _Gathered:
    """What one value gives: its calls and the answers in the clothes of a call."""

    loose: Loose
    asked: list[Asked] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


class Envelopes:
    """Reads calls out of values, for one collection of tools.

    Args:
        tools: the tools that may be called.
    """

    def __init__(self, tools: ToolCollection) -> None:
        self.tools = tools

    def calls(self, loose: Loose) -> tuple[list[Asked], str | None] | None:
        """The calls that a value asks for and an answer in the clothes of a call, or None when it is data."""
        gathered = _Gathered(loose)
        asked, answers = gathered.asked, gathered.answers
        if not self._collect(loose.value, (), gathered, 0):
            return None
        if loose.fixes:
            for call in asked:
                call.fixes = loose.fixes + call.fixes
        return asked, (answers[-1] if answers else None)

    def calls_in(self, value: Any) -> list[Asked] | None:
        """The calls in a value that was read by other means, such as YAML."""
        found = self.calls(Loose(value, 0))
        return found[0] if found else None

    def _collect(self, value: Any, path: Path, gathered: _Gathered, depth: int) -> bool:
        """Adds the calls in `value`; False when it is not, in all its parts, a call."""
        if isinstance(value, list):
            if not value or depth > 4:
                return False
            for index, item in enumerate(value):
                is_last_open = gathered.loose.open_path is not None and gathered.loose.open_path[
                    : len(path) + 1
                ] == (
                    *path,
                    index,
                )
                if not self._collect(item, (*path, index), gathered, depth + 1):
                    if is_last_open and gathered.asked:
                        gathered.asked.append(Asked(_name_in(item), {}, state="cut"))
                        return True
                    return False
            return True
        if not isinstance(value, dict) or depth > 6:
            return False
        return self._object(value, path, gathered, depth)

    def _object(self, value: dict[str, Any], path: Path, gathered: _Gathered, depth: int) -> bool:
        keys = {folded(key): key for key in value}
        named = self._named(value, keys, path, gathered.loose)
        if named is not None:
            plain = folded(named.name)
            if plain in NO_TOOL and self.tools.lookup(named.name) is None:
                gathered.answers.append("")
            elif plain in ANSWERING and self.tools.lookup(named.name) is None:
                gathered.answers.append(_answer(named.arguments))
            else:
                gathered.asked.append(named)
            return True
        for key, original in keys.items():
            inner = value[original]
            inner_path = (*path, original)
            if key in LIST_KEYS and isinstance(inner, list) and inner:
                return self._collect(inner, inner_path, gathered, depth + 1)
            if (
                key in WRAP_KEYS
                and isinstance(inner, dict)
                and len(inner) >= 1
                and key not in self._tool_keys(value)
            ):
                return self._collect(inner, inner_path, gathered, depth + 1)
        for key, original in keys.items():
            if key in DEEP_KEYS and self._any_inside(value[original], (*path, original), gathered, depth):
                return True
        return self._by_key(value, path, gathered)

    def _tool_keys(self, value: Mapping[str, Any]) -> set[str]:
        return {folded(key) for key in value if self.tools.get(key) is not None}

    def _any_inside(self, value: Any, path: Path, gathered: _Gathered, depth: int) -> bool:
        """Calls in a list of content blocks, of which some are text."""
        items = value if isinstance(value, list) else [value]
        found = False
        for index, item in enumerate(items):
            if isinstance(item, dict):
                inner = (*path, index) if isinstance(value, list) else path
                found = self._collect(item, inner, gathered, depth + 2) or found
        return found

    def _named(self, value: dict[str, Any], keys: dict[str, str], path: Path, loose: Loose) -> Asked | None:
        """The call of an object that has a key for the name."""
        name_key = argument_key = ""
        sureness = 0
        for key, original in keys.items():
            if isinstance(value[original], str) and NAME_KEYS.get(key, 0) > sureness:
                if key == "function" and "name" in keys:
                    continue
                name_key, sureness = original, NAME_KEYS[key]
            elif key in ARGUMENT_KEYS and not argument_key:
                argument_key = original
        if not name_key:
            return None
        name = value[name_key]
        tool = self.tools.lookup(name)
        others = [
            key for key in value if key not in (name_key, argument_key) and folded(key) not in ASIDE_KEYS
        ]
        state = _state(loose, path, argument_key)
        if argument_key and not (tool is not None and argument_key in tool.properties and len(others) > 0):
            return self._with_arguments(
                name, tool, value[argument_key], others, state=state, sureness=sureness
            )
        return self._flat(name, tool, value, name_key, others, state=state, sureness=sureness)

    def _with_arguments(
        self, name: str, tool: Tool | None, raw: Any, others: list[str], *, state: State, sureness: int
    ) -> Asked | None:
        if tool is None and (not IDENTIFIER.match(name) or (others and sureness < 2)):
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
        *,
        state: State,
        sureness: int,
    ) -> Asked | None:
        """An object whose arguments stand beside its name, or that has none."""
        if tool is None:
            is_bare = sureness > 1 and not others and bool(IDENTIFIER.match(name))
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

    def _by_key(self, value: dict[str, Any], path: Path, gathered: _Gathered) -> bool:
        """`{"tool_name": {…arguments…}}`, one or several."""
        found: list[Asked] = []
        for key, inner in value.items():
            tool = self.tools.lookup(key)
            if tool is None or not (inner is None or isinstance(inner, dict | str | list)):
                return False
            call = self.with_value(key, tool, inner)
            if call is None or (isinstance(inner, list) and inner):
                return False
            call.state = _state(gathered.loose, path, key)
            call.fixes = (*call.fixes, fix("name_as_key"))
            found.append(call)
        gathered.asked.extend(found)
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
        for key, value in raw.items():
            if folded(key) in NAME_KEYS and isinstance(value, str):
                tool = self.tools.lookup(value)
                if tool is not None:
                    rest = {other: item for other, item in raw.items() if other != key}
                    return Asked(value, rest, (fix("name_in_arguments"),))
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
        if tool is None and (not IDENTIFIER.match(name) or len(values) != 1 or isinstance(values[0], list)):
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
            if folded(key) in NAME_KEYS and isinstance(value, str):
                return value
    return ""
