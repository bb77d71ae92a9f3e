"""Arguments written as elements: `<parameter=city>…`, `<param name="city">…`, `<city>…`, `<arg_key>`/`<arg_value>` pairs.

Not XML: values are raw text that may hold `<`, `&` and other tags. A closing tag is the real one when structure follows.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Any

from toolhand.core.tools import Tool
from toolhand.parsing.costs import fix
from toolhand.parsing.loose import LooseError, read_value
from toolhand.parsing.simple_yaml import YamlError, read_yaml
from toolhand.protocols.reading.asked import STOPS, Asked
from toolhand.protocols.reading.envelopes import Envelopes
from toolhand.protocols.reading.failures import Failure
from toolhand.protocols.reading.markers import marker_at
from toolhand.tools.collection import folded

_BLANK = re.compile(r"\s*")
_PARAMETER_CLOSE = re.compile(
    r"</(?:[\w.\-]+:|[|｜]\w+[|｜])?(?:parameter|param|argument|arg|property|input)\s*>", re.IGNORECASE
)
_PARAMETER_OPEN = re.compile(
    r"<(?:[\w.\-]+:|[|｜]\w+[|｜])?(?:parameter|param|argument|arg|property|input)(?:\s*=\s*|\s+(?:name|key)\s*=)",
    re.IGNORECASE,
)
_OUTER_CLOSE = re.compile(
    r"</(?:[\w.\-]+:|[|｜]\w+[|｜])?(?:function|invoke|tool|tools|call|action|(?:\w+_)?tool_?calls?|function_?calls?)\s*>"
    r"|<[|｜][^<>\n]{0,40}(?:end|END)[^<>\n]{0,12}[|｜]>|<[|｜]/[^<>\n]{1,40}>",
    re.IGNORECASE,
)
_KEY = re.compile(r"<arg_?key>\s*(.*?)\s*(?:</arg_?key>|(?=<arg_?value>)|(?=\n))", re.DOTALL)
_VALUE = re.compile(r"\s*<arg_?value>")
_VALUE_CLOSE = re.compile(r"</arg_?value>")
_CHILD = re.compile(r"<([^\W\d][\w.\-]*)((?:\s+[\w\-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(/?)>")
_CDATA = re.compile(r"^\s*<!\[CDATA\[(.*?)(?:\]\]>\s*$|$)", re.DOTALL)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#\d+|#x[0-9a-fA-F]+);")
_RAW_AMPERSAND = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#\d+|#x[0-9a-fA-F]+);)")


@lru_cache(maxsize=1024)
def closing_tag(name: str) -> re.Pattern[str]:
    """What closes an element of this name."""
    return re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE)


@lru_cache(maxsize=1024)
def _opening_tags(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<(?:{'|'.join(map(re.escape, names)) or '$^'})\s*/?>", re.IGNORECASE)


_MOST_FIXES = 32


class Finder:
    """Searches one text from rising positions and remembers what lies ahead, so that many searches cost one walk.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._ahead: dict[re.Pattern[str], re.Match[str] | None] = {}

    def search(self, pattern: re.Pattern[str], position: int) -> re.Match[str] | None:
        """The first match at or behind a position."""
        if pattern in self._ahead:
            found = self._ahead[pattern]
            if found is None or found.start() >= position:
                return found
        found = pattern.search(self.text, position)
        self._ahead[pattern] = found
        return found


def plain(raw: str) -> str:
    """A value without the line breaks that only lay it out, without CDATA, with its entities decoded."""
    cdata = _CDATA.match(raw)
    if cdata:
        return cdata[1]
    if raw.startswith("\n"):
        raw = raw[1:]
    elif raw.startswith("\r\n"):
        raw = raw[2:]
    raw = raw.removesuffix("\n")
    if "&" in raw and "<" not in raw and _ENTITY.search(raw) and not _RAW_AMPERSAND.search(raw):
        return html.unescape(raw)
    return raw


def read_parameters(
    text: str, pos: int, asked: Asked, tool: Tool | None, envelopes: Envelopes
) -> tuple[Asked, int]:
    """The body of a named function: parameter elements, pairs, JSON, or child elements, whichever is there."""
    arguments: dict[str, Any] = {}
    asked.arguments = arguments
    ahead = Finder(text)
    while True:
        pos = _BLANK.match(text, pos).end()  # type: ignore[union-attr]
        if pos >= len(text):
            return asked, pos
        char = text[pos]
        if char in "{｛" and not arguments:
            return _json_body(text, pos, asked, tool, envelopes)
        if char != "<":
            return _loose_body(text, pos, asked, tool, envelopes)
        if _KEY.match(text, pos):
            return read_pairs(text, pos, asked)
        found = marker_at(text, pos)
        if found and found[0].kind == "parameter":
            pos = _parameter(ahead, found[1], found[0].name, arguments, asked)
            if asked.state == "cut":
                return asked, pos
            continue
        child = _CHILD.match(text, pos)
        if child and tool is not None and (not found or found[0].kind == "element"):
            name = _property(tool, child[1])
            if name or not arguments:
                pos = _child(ahead, child, name or child[1], arguments, asked, tool=tool)
                if asked.state == "cut":
                    return asked, pos
                continue
        break
    if tool is not None and len(arguments) == 1:
        _unwrap(asked, tool, envelopes)
    return asked, pos


def _note_open(asked: Asked, path: str) -> None:
    """Notes that a value's own closing tag is missing."""
    if len(asked.fixes) < _MOST_FIXES:
        asked.fixes = (*asked.fixes, fix("no_end_marker", path))


def _property(tool: Tool, key: str) -> str:
    if key in tool.properties:
        return key
    plain_key = folded(key)
    return next((name for name in tool.properties if folded(name) == plain_key), "")


def _unwrap(asked: Asked, tool: Tool, envelopes: Envelopes) -> None:
    """All the arguments as JSON in a single parameter that the tool does not have."""
    (key, value), *_ = asked.arguments.items()
    if not _property(tool, key) and folded(key) in (
        "arguments",
        "args",
        "parameters",
        "params",
        "input",
        "json",
    ):
        inner = envelopes.with_text(asked.name, tool, value) if isinstance(value, str) else None
        if inner is not None:
            asked.arguments, asked.problem = inner.arguments, inner.problem
            asked.fixes = (*asked.fixes, *inner.fixes)


def _json_body(
    text: str, pos: int, asked: Asked, tool: Tool | None, envelopes: Envelopes
) -> tuple[Asked, int]:
    try:
        loose = read_value(text, pos, stops=STOPS)
    except LooseError as problem:
        facts = {"character": problem.position - pos + 1}
        asked.problem = Failure(kind="character", reason=problem.reason, facts=facts)
        close = _OUTER_CLOSE.search(text, problem.position)
        line = text.find("\n", problem.position)
        return asked, close.start() if close else line if line >= 0 else problem.position
    inner = envelopes.with_value(asked.name, tool, loose.value)
    if inner is not None:
        asked.name, asked.arguments = inner.name, inner.arguments
        asked.fixes = (*asked.fixes, *loose.fixes, *inner.fixes)
    if loose.open_path is not None:
        asked.state = "cut" if loose.is_cut or loose.open_path else "unclosed"
    return asked, loose.end


def _loose_body(
    text: str, pos: int, asked: Asked, tool: Tool | None, envelopes: Envelopes
) -> tuple[Asked, int]:
    """Plain text between the tags: YAML, or the one required value."""
    if asked.arguments:
        return asked, pos
    ends = (_OUTER_CLOSE.search(text, pos), closing_tag(asked.name).search(text, pos))
    close = min((found for found in ends if found), key=lambda found: found.start(), default=None)
    end = close.start() if close else len(text)
    raw = text[pos:end]
    if not close:
        asked.state = "cut"
        if text[pos - 1 : pos] == " " and text[pos - 2 : pos - 1] == ">":
            return asked, pos  # a sentence goes on behind a tag that it mentions
    begin = text.rfind("\n", 0, pos) + 1
    try:
        value = read_yaml(text[begin if not text[begin:pos].strip() else pos : end])
    except YamlError:
        value = None
    if isinstance(value, dict) and value:
        asked.arguments = value
        return asked, end
    inner = envelopes.with_text(asked.name, tool, raw)
    if inner is not None:
        asked.arguments, asked.problem = inner.arguments, inner.problem
        asked.fixes = (*asked.fixes, fix("bare_text"))
    return asked, end


def _parameter(ahead: Finder, begin: int, name: str, arguments: dict[str, Any], asked: Asked) -> int:
    """Reads one parameter's value; gives the position after it."""
    text = ahead.text
    end, after = _value_end(ahead, begin, _PARAMETER_CLOSE, _PARAMETER_OPEN)
    if end < 0:
        outer = ahead.search(_OUTER_CLOSE, begin)
        if not outer:
            asked.state = "cut"
            arguments[name] = plain(text[begin:])
            return len(text)
        end = after = outer.start()
        _note_open(asked, f"$.{name}")
        arguments[name] = text[begin:end].strip("\r\n").rstrip()
        return after
    if after == end:
        _note_open(asked, f"$.{name}")
    arguments[name] = plain(text[begin:end])
    return after


def _value_end(
    ahead: Finder, begin: int, close: re.Pattern[str], following: re.Pattern[str]
) -> tuple[int, int]:
    """Where a value ends and where its closing tag ends; (-1, -1) when it has none.

    The closing tag is the first behind which structure follows, or else the first. An opening tag of the next value at
    the beginning of a line ends a value whose own closing tag is missing.
    """
    text = ahead.text
    first: re.Match[str] | None = None
    pos = begin
    for _ in range(64):
        match = ahead.search(close, pos)
        if match is None:
            break
        first = first or match
        after = _BLANK.match(text, match.end()).end()  # type: ignore[union-attr]
        if (
            after >= len(text)
            or following.match(text, after)
            or _OUTER_CLOSE.match(text, after)
            or _is_closing(text, after)
        ):
            first = match
            break
        pos = match.end()
    limit = first.start() if first else len(text)
    opening = ahead.search(following, begin)
    if (
        opening is not None
        and opening.start() < limit
        and text[begin : opening.start()].endswith("\n")
        and not _is_balanced(text, opening, close, limit)
    ):
        return opening.start(), opening.start()
    return (first.start(), first.end()) if first else (-1, -1)


def _is_balanced(text: str, opening: re.Match[str], close: re.Pattern[str], limit: int) -> bool:
    """Whether an opening tag inside a value is closed inside it too, as in a quotation."""
    return close.search(text, opening.end(), limit) is not None


def _is_closing(text: str, pos: int) -> bool:
    found = marker_at(text, pos)
    return found is not None and found[0].kind in ("close", "parameter_end")


def read_pairs(text: str, pos: int, asked: Asked) -> tuple[Asked, int]:
    """`<arg_key>k</arg_key><arg_value>v</arg_value>` pairs."""
    arguments: dict[str, Any] = {}
    asked.arguments = arguments
    ahead = Finder(text)
    while True:
        start = _BLANK.match(text, pos).end()  # type: ignore[union-attr]
        key = _KEY.match(text, start)
        if not key:
            return asked, start
        value = _VALUE.match(text, key.end())
        if not value:
            asked.state = "cut"
            return asked, len(text)
        end, after = _value_end(ahead, value.end(), _VALUE_CLOSE, _KEY)
        if end < 0:
            outer = ahead.search(_OUTER_CLOSE, value.end())
            following = ahead.search(_KEY, value.end())
            end = min((found.start() for found in (outer, following) if found), default=-1)
            if end < 0:
                asked.state = "cut"
                arguments[key[1]] = plain(text[value.end() :])
                return asked, len(text)
            after = end
            _note_open(asked, f"$.{key[1]}")
        arguments[key[1]] = plain(text[value.end() : end])
        pos = after


def _child(
    ahead: Finder, child: re.Match[str], name: str, arguments: dict[str, Any], asked: Asked, *, tool: Tool
) -> int:
    """Reads `<name>value</name>`; gives the position after it."""
    text = ahead.text
    if child[3]:
        arguments[name] = ""
        return child.end()
    close = closing_tag(child[1])
    following = _opening_tags(tuple(tool.properties))
    own_close = closing_tag(asked.name)
    pos = child.end()
    first: re.Match[str] | None = None
    for _ in range(64):
        match = ahead.search(close, pos)
        if match is None:
            break
        first = first or match
        after = _BLANK.match(text, match.end()).end()  # type: ignore[union-attr]
        if (
            following.match(text, after)
            or own_close.match(text, after)
            or _is_closing(text, after)
            or after >= len(text)
        ):
            first = match
            break
        pos = match.end()
    if first is None:
        end = next(
            (
                m.start()
                for m in (ahead.search(following, child.end()), ahead.search(own_close, child.end()))
                if m
            ),
            -1,
        )
        if end < 0:
            asked.state = "cut"
            arguments[name] = plain(text[child.end() :])
            return len(text)
        _note_open(asked, f"$.{name}")
        arguments[name] = text[child.end() : end].strip()
        return end
    _add(arguments, name, _child_value(text[child.end() : first.start()], tool.properties.get(name)))
    return first.end()


def _add(arguments: dict[str, Any], name: str, value: Any) -> None:
    """Repeated elements of one name make a list."""
    if name in arguments:
        old = arguments[name]
        arguments[name] = [*old, value] if isinstance(old, list) else [old, value]
    else:
        arguments[name] = value


def _child_value(raw: str, schema: Any) -> Any:
    """The text of an element, or a list or object where the schema wants one and elements stand in it."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "array" and "<" in raw:
        items = [plain(match[2]) for match in re.finditer(r"<([\w.\-]+)>(.*?)</\1\s*>", raw, re.DOTALL)]
        if items:
            return items
    if kind == "object" and "<" in raw and isinstance(schema, dict):
        inner = {
            match[1]: _child_value(match[2], (schema.get("properties") or {}).get(match[1]))
            for match in re.finditer(r"<([\w.\-]+)>(.*?)</\1\s*>", raw, re.DOTALL)
        }
        if inner:
            return inner
    return plain(raw) if kind in ("string", None) else plain(raw).strip()
