"""Plans: one call a line, `tool(a=1) -> v`, `$v`, `v = tool(…)`, `if v == "x": tool(…)`; also a bare call on its line.

Also the ```tool_code block of Gemma, `print(default_api.tool(…))`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from toolhand.parsing.loose import LooseError
from toolhand.parsing.pythonic import PythonCall
from toolhand.protocols.reading.asked import Asked, Candidate, Introduction
from toolhand.protocols.reading.body import call_of
from toolhand.protocols.reading.failures import Failure
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.scan import Scan

_STATEMENT = re.compile(
    r"[ \t]*(?:(?:\d{1,2}[.)、：:]|[-*•]|步骤\s*\d+[:：.]?|step\s*\d+[:：.]?)[ \t]*)?"
    r"(?P<else>(?:else|否则)[ \t]*[:：][ \t]*)?"
    r"(?:(?:if|如果|若|when)[ \t]+(?P<when>[^\n]{1,120}?)[ \t]*(?:[:：]|,\s*then\b|，则|then\b)[ \t]*(?P<inline>(?:else|否则)?))?"
    r"(?:\$?(?P<var>[^\W\d]\w*)[ \t]*(?::=|=(?!=)|<-|←)[ \t]*)?(?:await[ \t]+)?"
    r"(?P<print>print\()?(?P<q>`?)(?P<name>[^\W\d][\w.\-]*)[ \t]*[(（]",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"[ \t]*(?:\d{1,2}[.)、][ \t]*)?(?:if|如果|若|when)[ \t]+(?P<when>[^\n]{1,120}?)[ \t]*[:：]?[ \t]*(?:\n|$)",
    re.IGNORECASE,
)
_ELSE = re.compile(r"[ \t]*(?:else|否则)[ \t]*[:：]?[ \t]*(?:\n|$)", re.IGNORECASE)
_ASIDE = re.compile(r"[ \t]*(?:#[^\n]*|//[^\n]*)?(?:\n|$)")
_ARROW = re.compile(r"[ \t]*(?:->|→|=>|⇒|>>|➜|—>)[ \t]*\$?([^\W\d]\w*)")
_END = re.compile(r"[ \t]*[;；,，。]?[ \t]*(?:#[^\n]*|//[^\n]*|`)?[ \t]*(?=\n|$|<|```)")
_VARIABLE = re.compile(r"\$\{?([^\W\d]\w*)\}?((?:\.\w+|\[[^\]]*\])*)$")
_TYPE_NAMES = frozenset(
    [
        "str",
        "int",
        "float",
        "bool",
        "dict",
        "list",
        "tuple",
        "set",
        "any",
        "none",
        "object",
        "string",
        "integer",
        "number",
        "boolean",
        "bytes",
        "optional",
    ]
)


@dataclass(slots=True)
class _Block:
    """Statements that follow one another.

    Args:
        asked: the calls.
        saved: the variables that they keep results in.
        when: the condition that holds for the lines indented under it.
        indent: how far that condition is indented.
        end: the position after the last statement.
        is_signature: whether one of them reads like code rather than a call.
    """

    end: int
    asked: list[Asked] = field(default_factory=list)
    saved: set[str] = field(default_factory=set)
    when: str = ""
    indent: int = -1
    is_signature: bool = False


def read(scan: Scan, match: re.Match[str]) -> Candidate | None:
    """Reads as many statements as follow one another."""
    text = scan.text
    start = pos = match.start()
    block = _Block(start)
    while pos < len(text):
        after = _line(scan, pos, block)
        if after < 0:
            break
        pos = after
        if block.asked and (block.asked[-1].state != "whole" or block.asked[-1].problem):
            break
    if not block.asked:
        return None
    has_arrow = any(call.save_as for call in block.asked)
    is_known = any(scan.tools.lookup(call.name) is not None for call in block.asked)
    if not is_known and not (has_arrow and not text[:start].strip("`\n \tplan")):
        return None
    end = block.end - 1 if block.end > start and text[block.end - 1 : block.end] == "\n" else block.end
    introduction: Introduction = "block" if has_arrow or len(block.asked) > 1 else "bare"
    return Candidate(start, end, introduction, block.asked, is_signature=block.is_signature)


def _line(scan: Scan, pos: int, block: _Block) -> int:
    """Reads one line into the block; gives the position after it, or -1 when it does not belong there."""
    text = scan.text
    if block.asked or block.when:
        aside = _ASIDE.match(text, pos)
        if aside and aside.end() > pos:
            return aside.end()
    other = _ELSE.match(text, pos)
    condition = None if other else _CONDITION.match(text, pos)
    if condition and not _STATEMENT.match(text, pos):
        block.when, block.indent = condition["when"].strip(), _indent(text, pos)
        return condition.end()
    if other and block.asked:
        block.when, block.indent = f"not ({block.when})" if block.when else "", _indent(text, pos)
        return other.end()
    statement = _statement(scan, pos, block.saved)
    if statement is None:
        return -1
    call, after, own_condition, is_odd = statement
    if own_condition:
        call.when = own_condition
    elif block.when and _indent(text, pos) > block.indent:
        call.when = block.when
    else:
        block.when, block.indent = "", -1
    block.is_signature = block.is_signature or is_odd
    block.asked.append(call)
    block.end = after
    return after


def _indent(text: str, pos: int) -> int:
    line = text[pos : pos + 60]
    return len(line) - len(line.lstrip(" \t"))


def _statement(scan: Scan, pos: int, saved: set[str]) -> tuple[Asked, int, str, bool] | None:
    """One statement: its call, the position after its line, its own condition, and whether it reads like a signature."""
    text = scan.text
    match = _STATEMENT.match(text, pos)
    if match is None:
        return None
    name = match["name"]
    if scan.tools.lookup(name) is None and "_" not in name and "." not in name and not saved:
        return None
    try:
        call = scan.read_arguments(match.end())
    except LooseError as problem:
        if scan.tools.lookup(name) is None or not problem.path[:1] or problem.path[0] == "":
            return None
        broken = Asked(
            name,
            {},
            problem=Failure(kind="key", reason=problem.reason, facts={"name": name, "key": problem.key}),
        )
        stop = text.find("\n", problem.position)
        return broken, stop + 1 if stop >= 0 else len(text), "", False
    after = call.end
    if match["print"] and text.startswith(")", after):
        after += 1
    arrow = _ARROW.match(text, after)
    is_odd = any(_looks_typed(call, key) for key in call.bare)
    variable = match["var"] or ""
    if arrow:
        variable, after = arrow[1], arrow.end()
        is_odd = is_odd or variable.lower() in _TYPE_NAMES
    if is_odd:
        return None
    if call.is_closed:
        ending = _END.match(text, after)
        if ending is None:
            return None
        after = ending.end()
    asked = call_of(scan, name, _with_variables(call, saved))
    unknown = [key for key in call.bare if not _is_variable(call, key, saved)]
    is_odd = bool(unknown)
    asked.save_as = variable
    if variable:
        saved.add(variable)
    if text[after : after + 1] == "\n":
        after += 1
    return asked, after, (match["when"] or "").strip(), is_odd


def _bare_value(call: PythonCall, key: str) -> str:
    value = call.keywords.get(key) if key else (call.positions[0] if call.positions else "")
    return value if isinstance(value, str) else ""


def _looks_typed(call: PythonCall, key: str) -> bool:
    return _bare_value(call, key).split("=")[0].split("[")[0].strip().lower() in _TYPE_NAMES


def _is_variable(call: PythonCall, key: str, saved: set[str]) -> bool:
    value = _bare_value(call, key)
    return value.startswith("$") or re.split(r"[.\[]", value)[0] in saved


def _with_variables(call: PythonCall, saved: set[str]) -> PythonCall:
    """The same with each variable in its one spelling, `$name`."""
    for key in call.bare:
        if key in call.keywords:
            call.keywords[key] = _variable(call.keywords[key], saved)
        elif call.positions:
            call.positions[0] = _variable(call.positions[0], saved)
    return call


def _variable(value: Any, saved: set[str]) -> Any:
    if not isinstance(value, str):
        return value
    if value.startswith("$"):
        match = _VARIABLE.match(value)
        return f"${match[1]}{match[2]}" if match else value
    return f"${value}" if re.split(r"[.\[]", value)[0] in saved else value


FAMILY = Family(
    name="plan",
    first="\n",
    opening=re.compile(
        rf"(?={_STATEMENT.pattern}|{_CONDITION.pattern.replace('?P<when>', '?:')})", re.IGNORECASE
    ),
    read=read,
    rank=60,
    holds=False,
)
