"""Template blocks: `[TOOL: name]`, lines `key = value`, `[/TOOL]`. Also in full-width brackets and with Chinese words."""

from __future__ import annotations

import re
from typing import Any

from toolhand.core.tools import Tool
from toolhand.parsing.costs import fix
from toolhand.parsing.loose import LooseError, read_value
from toolhand.protocols.reading.asked import Asked, Candidate
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.scan import Scan
from toolhand.tools.collection import folded

_WORDS = r"(?:TOOL_?CALL|TOOL|CALL|FUNCTION|ACTION|工具调用|调用工具|工具|调用)"
_OPEN = re.compile(
    rf"[\[［【]\s*{_WORDS}\s*[:：=]\s*(?P<name>[^\]］】\n]{{1,80}}?)\s*[\]］】]", re.IGNORECASE
)
_CLOSE = re.compile(rf"[\[［【]\s*(?:/|END[ _]|／)\s*{_WORDS}\s*[\]］】]", re.IGNORECASE)
_OPEN_AGAIN = re.compile(r"\s*" + _OPEN.pattern, re.IGNORECASE)
_CLOSE_NEXT = re.compile(r"\s*" + _CLOSE.pattern, re.IGNORECASE)
_LINE = re.compile(r"[ \t]*[\"'`]?(?P<key>[^\W\d][\w\-]*)[\"'`]?[ \t]*(?:[=＝:：]|=>)[ \t]?(?P<value>.*)$")
_BLANK = re.compile(r"\s*")


def read(scan: Scan, match: re.Match[str]) -> Candidate | None:
    """Reads one block; a heading that is repeated inside it counts once."""
    text = scan.text
    name = match["name"].strip("`'\" ")
    tool = scan.tools.lookup(name)
    pos = match.end()
    while again := _OPEN_AGAIN.match(text, pos):
        if folded(again["name"]) != folded(name):
            break
        pos = again.end()
    asked = Asked(name, {})
    begin = _BLANK.match(text, pos).end()  # type: ignore[union-attr]
    end = _json(scan, begin, asked) if text[begin : begin + 1] in ("{", "｛") else -1
    if end < 0:
        end = _lines(text, pos, asked, tool)
    closes = 0
    while close := _CLOSE_NEXT.match(text, end):
        end = close.end()
        closes += 1
    if not closes:
        asked.fixes = (*asked.fixes, fix("no_end_marker"))
        if not asked.arguments and tool is None:
            return None
    return Candidate(match.start(), end, "marked", [asked])


def _json(scan: Scan, begin: int, asked: Asked) -> int:
    try:
        loose = read_value(scan.text, begin, stops=_CLOSE)
    except LooseError:
        return -1
    if not isinstance(loose.value, dict):
        return -1
    asked.arguments = loose.value
    asked.fixes = loose.fixes
    if loose.open_path is not None:
        asked.state = "cut" if loose.is_cut or loose.open_path else "unclosed"
    return loose.end


def _lines(text: str, pos: int, asked: Asked, tool: Tool | None) -> int:
    """Reads `key = value` lines; gives the position behind the last."""
    arguments: dict[str, Any] = {}
    asked.arguments = arguments
    key = ""
    first = pos
    closed_at = 0
    own = {folded(name) for name in tool.properties} if tool is not None else set()
    while pos < len(text):
        stop = text.find("\n", pos)
        line_end = stop if stop >= 0 else len(text)
        line = text[pos:line_end]
        if _CLOSE.match(line.lstrip()):
            pos += len(line) - len(line.lstrip())
            break
        tail = _CLOSE.search(line)
        if tail and pos == first:
            line = line[: tail.end()]
        entry = _LINE.match(line[: tail.start()] if tail and not line[tail.end() :].strip() else line)
        if entry and (not own or folded(entry["key"]) in own or not key):
            key = entry["key"]
            arguments[key] = entry["value"].strip()
        elif line.strip():
            if not key or (_OPEN.match(line.lstrip()) and not own):
                break
            if closed_at < pos:
                close = _CLOSE.search(text, pos)
                closed_at = close.start() if close else -1
            if closed_at < 0:
                break
            arguments[key] += "\n" + line
        if tail and not line[tail.end() :].strip():
            pos += tail.start()
            break
        if stop < 0:
            if key and line.strip():
                asked.state = "cut"  # without a line break the value may go on
            pos = len(text)
            break
        pos = stop + 1
    for name, raw in arguments.items():
        arguments[name] = _typed(raw.strip(), name, tool)
    return pos


def _typed(raw: str, key: str, tool: Tool | None) -> Any:
    """A value without its quotes; a comma list where the tool wants a list."""
    schema: Any = (
        next((item for name, item in tool.properties.items() if folded(name) == folded(key)), {})
        if tool
        else {}
    )
    kind = schema.get("type") if isinstance(schema, dict) else None
    if raw[:1] in "\"'“‘「" and len(raw) > 1:
        try:
            loose = read_value(raw)
        except LooseError:
            return raw
        if isinstance(loose.value, str) and loose.is_complete and loose.end == len(raw):
            return loose.value
    if kind == "array" and raw[:1] not in "[［(":
        return [part.strip().strip("\"'“”") for part in re.split(r"[,，、;；]", raw) if part.strip()]
    return raw


FAMILY = Family(name="template", first="[［【", opening=_OPEN, read=read, rank=10, holds=False)
