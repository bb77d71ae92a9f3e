"""What stands behind the opening marker of a call, in whatever shape: one reader for all markers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from toolhand.parsing.costs import fix
from toolhand.parsing.loose import LooseError
from toolhand.parsing.pythonic import PythonCall
from toolhand.parsing.simple_yaml import YamlError, read_yaml
from toolhand.protocols.reading.asked import STOPS, Asked, State
from toolhand.protocols.reading.elements import closing_tag, read_pairs, read_parameters
from toolhand.protocols.reading.failures import Failure, syntax_problem
from toolhand.protocols.reading.markers import Marker, marker_at
from toolhand.protocols.reading.scan import Scan
from toolhand.tools.collection import folded

_STRAY = re.compile(r"\s*[}\]]+(?=\s*(?:$|<|\[|```))")
_PYTHON_LIST = re.compile(r"[\[［]\s*(?=[^\W\d][\w.]*\s*[(（])")
_BRACKET_BEHIND = re.compile(r"\s*[(（]")
_BLANKS = re.compile(r"[ \t]*")
_UP_TO_VALUE = re.compile(r"[\s:：]*(?:`{3,}[\w\-]*\s*)?")
_FENCE_BEHIND = re.compile(r"\s*`{2,}")
_PAIR_KEY = re.compile(r"<arg_?key>")

_SKIP = re.compile(r"(?:[\s,;，；\u00a0\ufeff]+|<!--.*?-->)+", re.DOTALL)
_FENCE_HERE = re.compile(r"(`{3,})[ \t]*[\w+\-]*[ \t]*\n?")
_NAME = re.compile(r"(?:call\s*:|to=|:)?\s*(?P<q>[\"'`]?)(?P<name>[^\W\d][\w.\-:/]*)(?P=q)")
_INDEX = re.compile(r":\d+$")
_KIND_WORDS = frozenset(("function", "tool", "functions", "tools"))
_BROKEN_FUNCTION = re.compile(r"(?:function|invoke)\s*=\s*[\"']?([\w.\-]+)[\"']?\s*>")
_PRINT = re.compile(r"print\(\s*(?=[\w.]+\()")
_YAML_NAME = re.compile(r"(?:name|tool|tool_name|function|action)[ ]*:[ ]", re.IGNORECASE)
_ARGUMENT_ELEMENT = re.compile(
    r"\s*<(args_json|tool_input|arguments|args|parameters|params|input|action_input|tool_args|parameters_json)>",
    re.IGNORECASE,
)
_NAME_ELEMENTS = frozenset(["name", "toolname", "functionname", "tool", "function"])


@dataclass(slots=True)
class Body:
    """What was read behind a marker.

    Args:
        end: the position after it.
        asked: the calls.
        answer: an answer in the clothes of a call, or None.
        is_closed: whether a closing marker was there.
        is_readable: whether something was understood.
    """

    end: int
    asked: list[Asked] = field(default_factory=list)
    answer: str | None = None
    is_closed: bool = False
    is_readable: bool = False


def read_body(scan: Scan, pos: int) -> Body:
    """Reads calls from a position on, until something stands there that is neither a call nor a marker."""
    text = scan.text
    body = Body(pos)
    for _ in range(512):
        skip = _SKIP.match(text, pos)
        pos = skip.end() if skip else pos
        if pos >= len(text):
            break
        step = _step(scan, pos, body)
        if step <= pos:
            break
        pos = body.end = step
    if not body.is_closed:
        body.end = max(body.end, _trailing(text, body.end))
    return body


def _trailing(text: str, pos: int) -> int:
    """Past a stray bracket that is left behind a value."""
    match = _STRAY.match(text, pos)
    return match.end() if match else pos


def _step(scan: Scan, pos: int, body: Body) -> int:
    """Reads the next thing; gives the position after it, or `pos` when it does not belong here."""
    text = scan.text
    char = text[pos]
    if char in ("<", "["):
        found = marker_at(text, pos)
        if found:
            return _marked(scan, pos, found[0], found[1], body)
    if char == "`":
        fence = _FENCE_HERE.match(text, pos)
        if fence:
            return fence.end() if not (body.is_closed and body.asked) else pos
        return pos + 1 if not body.asked else pos
    if body.is_closed and body.asked:
        return pos
    if char in "{｛[［":
        return _value(scan, pos, body)
    broken = _BROKEN_FUNCTION.match(text, pos)
    if broken:
        return _function(scan, broken[1], broken.end(), body, (fix("stray_marker"),))
    if text.startswith("print(", pos):
        printed = _PRINT.match(text, pos)
        if printed:
            end = _named(scan, printed.end(), body)
            return end + 1 if end > printed.end() and text.startswith(")", end) else end
    if _YAML_NAME.match(text, pos) and not body.asked:
        return _yaml(scan, pos, body)
    return _named(scan, pos, body)


def _marked(scan: Scan, pos: int, marker: Marker, end: int, body: Body) -> int:
    kind = marker.kind
    if kind == "close":
        body.is_closed = True
        return end
    if kind in ("open", "between", "noise", "parameter_end"):
        if kind == "open":
            if body.asked and not body.is_closed:
                body.asked[-1].fixes = (*body.asked[-1].fixes, fix("no_end_marker"))
            if (
                body.asked
                and body.is_closed
                and not marker.is_token
                and scan.text.find("\n\n", body.end, pos) >= 0
            ):
                return pos
            body.is_closed = False
        return end
    if kind == "function":
        body.is_closed = False
        return _function(scan, marker.name, end, body, ())
    if kind == "element":
        return _element(scan, pos, marker, end, body)
    if kind == "element_end":
        return end if body.asked else pos
    return pos


def _element(scan: Scan, pos: int, marker: Marker, end: int, body: Body) -> int:
    """A tool's own element, or `<name>…</name>` and its like."""
    text = scan.text
    tool = scan.tools.lookup(marker.name)
    if tool is not None:
        body.is_readable = True
        if text.startswith("/>", end - 2):
            body.asked.append(Asked(marker.name, dict(marker.attributes)))
            body.is_closed = True
            return end
        asked = Asked(marker.name, {})
        asked, stop = read_parameters(text, end, asked, tool, scan.envelopes)
        if marker.attributes and not asked.arguments:
            asked.arguments = dict(marker.attributes)
        body.asked.append(asked)
        return stop
    if folded(marker.name) in _NAME_ELEMENTS:
        close = text.find("</", end)
        name = text[end:close].strip() if close >= 0 else ""
        if name and len(name) < 80 and "\n" not in name:
            after = text.find(">", close) + 1
            return _with_argument_element(scan, name, after, body)
    own_close = closing_tag(marker.name).search(text, end, end + 200)
    if own_close and not body.asked and "<" not in text[end : own_close.start()]:
        return own_close.end()  # what stands beside the name and the arguments, such as a server's name
    return end if not body.asked else pos


def _with_argument_element(scan: Scan, name: str, pos: int, body: Body) -> int:
    """A name in an element, its arguments in the next: JSON, child elements, or plain text."""
    text = scan.text
    tool = scan.tools.lookup(name)
    body.is_readable = True
    argument = _ARGUMENT_ELEMENT.match(text, pos)
    if not argument:
        body.asked.append(Asked(name, {}))
        body.is_closed = True
        return pos
    close = closing_tag(argument[1]).search(text, argument.end())
    asked: Asked | None
    if close is None:
        asked = Asked(name, {})
        asked, stop = read_parameters(text, argument.end(), asked, tool, scan.envelopes)
        body.asked.append(asked)
        return stop
    raw = text[argument.end() : close.start()]
    from_elements = Asked(name, {})
    if raw.lstrip().startswith("<") and not raw.lstrip().startswith("<!["):
        asked, _ = read_parameters(text[: close.start()], argument.end(), from_elements, tool, scan.envelopes)
    else:
        cdata = re.match(r"\s*<!\[CDATA\[(.*?)\]\]>\s*$", raw, re.DOTALL)
        asked = scan.envelopes.with_text(name, tool, cdata[1] if cdata else raw)
    body.asked.append(asked or Asked(name, {}))
    body.is_closed = True
    return close.end()


def _function(scan: Scan, name: str, pos: int, body: Body, fixes: tuple[Any, ...]) -> int:
    body.is_readable = True
    asked = Asked(name, {}, tuple(fixes))
    tool = scan.tools.lookup(name)
    asked, stop = read_parameters(scan.text, pos, asked, tool, scan.envelopes)
    body.asked.append(asked)
    return max(stop, pos)


def _value(scan: Scan, pos: int, body: Body) -> int:
    """A JSON value, or a list of calls in Python's syntax."""
    text = scan.text
    inner = _PYTHON_LIST.match(text, pos)
    if inner:
        return python_list(scan, inner.end(), body)
    try:
        loose = scan.read_value(pos)
    except LooseError as problem:
        name = name_before(text, pos)
        if name:
            body.is_readable = True
            body.asked.append(Asked(name, {}, problem=syntax_problem(problem, text[pos:], pos)))
        return max(problem.position, pos + 1)
    found = scan.envelopes.calls(loose)
    if found is None:
        if not loose.is_complete and (name := name_before(text, pos)):
            body.is_readable = True
            body.asked.append(Asked(name, {}, loose.fixes, "cut"))
        return loose.end
    body.is_readable = True
    body.asked.extend(found[0])
    body.answer = found[1] if found[1] is not None else body.answer
    return loose.end


_NAME_IN_JSON = re.compile(
    r"[\"'“]?\b(?:name|tool|tool_name|function|action|function_name)[\"'”]?\s*[:：=]\s*[\"'“]([^\"'”\n]{1,80})[\"'”]",
    re.IGNORECASE,
)


def name_before(text: str, start: int) -> str:
    """The tool's name in a JSON text that cannot be read, or ""."""
    match = _NAME_IN_JSON.search(text, start, min(len(text), start + 320))
    return match[1] if match else ""


def python_list(scan: Scan, pos: int, body: Body) -> int:
    """`f(a=1), g(b=2)]` behind its opening bracket."""
    text = scan.text
    while True:
        skip = _SKIP.match(text, pos)
        pos = skip.end() if skip else pos
        if pos >= len(text):
            if body.asked:
                body.asked[-1].fixes = (*body.asked[-1].fixes, fix("missing_closer"))
            return pos
        if text[pos] in "]］":
            return pos + 1
        after = _named(scan, pos, body, only_calls=True)
        if after <= pos:
            return pos
        pos = after


def call_of(scan: Scan, name: str, call: PythonCall) -> Asked:
    """A call in Python's syntax as an asking."""
    state: State = "cut" if call.is_cut else "whole" if call.is_closed else "unclosed"
    if len(call.positions) == 1 and isinstance(call.positions[0], dict) and not call.keywords:
        inner = scan.envelopes.with_value(name, scan.tools.lookup(name), call.positions[0])
        if inner is not None:
            inner.state, inner.fixes = state, (*call.fixes, *inner.fixes)
            return inner
    return Asked(name, dict(call.keywords), call.fixes, state, positional=tuple(call.positions))


def _named(scan: Scan, pos: int, body: Body, *, only_calls: bool = False) -> int:
    """A name and what follows it: brackets, an object, a separator, pairs, or the closing marker."""
    text = scan.text
    match = _NAME.match(text, pos)
    if not match or len(match["name"]) > 100:
        return pos
    name, after = match["name"], match.end()
    bracket = _BRACKET_BEHIND.match(text, after)
    if bracket:
        name = without_method(scan, name)
        try:
            call = scan.read_arguments(bracket.end())
        except LooseError as problem:
            body.is_readable = True
            body.asked.append(Asked(name, {}, problem=syntax_problem(problem, text[pos:], pos)))
            return max(problem.position, after)
        body.is_readable = True
        body.asked.append(call_of(scan, name, call))
        return call.end
    if only_calls:
        return pos
    name, after, had_separator = _separators(text, name, after)
    if not name:
        return after
    name = _INDEX.sub("", name)
    return _behind_name(scan, pos, name, after, body, had_separator=had_separator)


def without_method(scan: Scan, name: str) -> str:
    """`tool.call` and its like are the tool."""
    stem, _, method = name.rpartition(".")
    is_method = method in ("call", "run", "invoke", "execute") and scan.tools.lookup(name) is None
    return stem if is_method and scan.tools.lookup(stem) is not None else name


def _separators(text: str, name: str, after: int) -> tuple[str, int, bool]:
    """Past the tokens between a name and its arguments; `function<sep>name` gives the second word."""
    had = False
    while True:
        pos = _BLANKS.match(text, after).end()  # type: ignore[union-attr]
        found = marker_at(text, pos) if text[pos : pos + 1] in ("<", "[") else None
        if not found or found[0].kind not in ("between", "noise"):
            return name, after, had
        had = True
        after = found[1]
        following = _NAME.match(text, after)
        if following and (name in _KIND_WORDS or marker_follows(text, following.end())):
            if name in _KIND_WORDS:
                name = following["name"]
            after = following.end()
        elif name in _KIND_WORDS and text.startswith("<", after):
            return "", after, True


def marker_follows(text: str, pos: int) -> bool:
    """Whether a separating marker stands right there."""
    found = marker_at(text, pos) if text[pos : pos + 1] in ("<", "[") else None
    return found is not None and found[0].kind == "between"


def _behind_name(scan: Scan, pos: int, name: str, after: int, body: Body, *, had_separator: bool) -> int:
    text = scan.text
    tool = scan.tools.lookup(name)
    rest = _UP_TO_VALUE.match(text, after).end()  # type: ignore[union-attr]
    char = text[rest : rest + 1]
    if char in ("{", "｛"):
        asked = Asked(name, {})
        body.is_readable = True
        asked, stop = read_parameters(text, rest, asked, tool, scan.envelopes)
        body.asked.append(asked)
        fence = _FENCE_BEHIND.match(text, stop)
        return fence.end() if fence and "`" in text[after:rest] else stop
    if char == "<":
        found = marker_at(text, rest)
        if _PAIR_KEY.match(text, rest):
            asked, stop = read_pairs(text, rest, Asked(name, {}))
            body.is_readable = True
            body.asked.append(asked)
            return stop
        if found and found[0].kind == "close":
            if _ARGUMENT_ELEMENT.match(text, found[1]):
                return _with_argument_element(scan, name, found[1], body)
            return _only_name(scan, name, after, body)
        if found and found[0].kind == "parameter":
            return _function(scan, name, rest, body, ())
        if found and found[0].kind == "element" and tool is not None:
            return _function(scan, name, rest, body, ())
    if char == "" and (tool is not None or had_separator):
        return _only_name(scan, name, after, body)
    return pos


def _only_name(scan: Scan, name: str, after: int, body: Body) -> int:
    """A name with nothing behind it: a call without arguments, when it can be a name."""
    body.is_readable = True
    tool = scan.tools.lookup(name)
    if tool is None and not ("_" in name or "." in name):
        body.asked.append(Asked("", {}, problem=Failure(kind="no_call")))
    else:
        body.asked.append(Asked(name, {}))
    return after


def _yaml(scan: Scan, pos: int, body: Body) -> int:
    text = scan.text
    end = len(text)
    for stop in STOPS.finditer(text, pos):
        end = stop.start()
        break
    try:
        value = read_yaml(text[pos:end])
    except YamlError:
        return pos
    found = scan.envelopes.calls_in(value)
    if found is None:
        return pos
    body.is_readable = True
    body.asked.extend(found)
    return end
