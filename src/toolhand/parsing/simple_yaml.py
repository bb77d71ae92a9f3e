"""The small part of YAML that models use for arguments: nested maps, lists, block scalars, flow values, plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from toolhand.parsing.loose import LooseError, read_value

_ENTRY = re.compile(
    r"([ ]*)(?:(- )[ ]*)?(?:([\"']?)([^\s:：\"'{\[#\-][^:：\"'\n]{0,60}?)\3[ ]*(?:[:：](?=\s|$)|：))?[ ]*(.*)$"
)
_BLOCK = re.compile(r"([|>])([+-]?)\d?$")
_LITERALS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "~": None, "": None,
    "True": True, "False": False, "None": None,
}  # fmt: skip
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?$")


class YamlError(ValueError):
    """The text is not of this kind."""


@dataclass(slots=True)
class _Lines:
    lines: list[str]
    at: int = 0

    def skip_blank(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at].strip()
            if line and not line.startswith("#") and line not in ("---", "..."):
                return
            self.at += 1

    def is_done(self) -> bool:
        """Whether no line is left."""
        return self.at >= len(self.lines)

    def indent(self) -> int:
        line = self.lines[self.at]
        return len(line) - len(line.lstrip(" "))


def read_yaml(text: str) -> Any:
    """Reads a map or a list.

    Raises:
        YamlError: when a line is neither an entry nor an item.
    """
    lines = _Lines(text.replace("\t", "  ").split("\n"))
    lines.skip_blank()
    if lines.is_done():
        return {}
    value = _block(lines, lines.indent(), 0)
    lines.skip_blank()
    if not lines.is_done():
        raise YamlError(f"line {lines.at + 1} does not belong to what stands before it")
    return value


def _block(lines: _Lines, indent: int, depth: int) -> Any:
    if depth > 20:
        raise YamlError("nested too deeply")
    if lines.lines[lines.at].lstrip(" ").startswith("- ") or lines.lines[lines.at].strip() == "-":
        return _items(lines, indent, depth)
    found: dict[str, Any] = {}
    while True:
        lines.skip_blank()
        if lines.is_done() or lines.indent() != indent:
            if not lines.is_done() and lines.indent() > indent:
                raise YamlError(f"line {lines.at + 1} is indented too far")
            return found
        entry = _ENTRY.match(lines.lines[lines.at])
        if not entry or entry[4] is None or entry[2]:
            raise YamlError(f"line {lines.at + 1} is not an entry")
        lines.at += 1
        found[entry[4].strip()] = _entry_value(lines, indent, entry[5].rstrip(), depth)


def _entry_value(lines: _Lines, indent: int, rest: str, depth: int) -> Any:
    block = _BLOCK.match(rest)
    if block:
        return _scalar_block(lines, indent, block[1], block[2])
    if rest and not rest.startswith("#"):
        return _scalar(rest)
    mark = lines.at
    lines.skip_blank()
    if not lines.is_done():
        deeper = lines.indent()
        if deeper > indent or (deeper == indent and lines.lines[lines.at].lstrip(" ").startswith("- ")):
            return _block(lines, deeper, depth + 1)
    lines.at = mark
    return None


def _items(lines: _Lines, indent: int, depth: int) -> list[Any]:
    found: list[Any] = []
    while True:
        lines.skip_blank()
        if (
            lines.is_done()
            or lines.indent() != indent
            or not lines.lines[lines.at].lstrip(" ").startswith("-")
        ):
            return found
        line = lines.lines[lines.at]
        rest = line[indent + 1 :].strip()
        inner = _ENTRY.match(rest)
        if inner and inner[4] is not None and rest[:1] not in "\"'{[":
            # `- key: value` begins a map that is indented by the dash.
            lines.lines[lines.at] = " " * (indent + 2) + rest
            found.append(_block(lines, indent + 2, depth + 1))
            continue
        lines.at += 1
        found.append(_scalar(rest) if rest else _entry_value(lines, indent, "", depth))


def _scalar_block(lines: _Lines, indent: int, style: str, chomp: str) -> str:
    taken: list[str] = []
    inner = -1
    while not lines.is_done():
        line = lines.lines[lines.at]
        if line.strip():
            here = len(line) - len(line.lstrip(" "))
            if here <= indent:
                break
            inner = here if inner < 0 else inner
        taken.append(line[inner:] if inner >= 0 and line.strip() else "")
        lines.at += 1
    while taken and not taken[-1]:
        taken.pop()
    text = "\n".join(taken) if style == "|" else " ".join(taken)
    return text if chomp == "-" or not taken else text + "\n"


def _scalar(raw: str) -> Any:
    if raw[0] in "\"'{[“「":
        try:
            loose = read_value(raw)
        except LooseError as problem:
            raise YamlError(problem.reason) from None
        if loose.is_complete and (not raw[loose.end :].strip() or raw[loose.end :].lstrip().startswith("#")):
            return loose.value
        raise YamlError("a value is not closed")
    raw = re.split(r"\s+#", raw, maxsplit=1)[0].rstrip()
    if raw in _LITERALS:
        return _LITERALS[raw]
    if _NUMBER.match(raw):
        return float(raw) if "." in raw else int(raw)
    return raw
