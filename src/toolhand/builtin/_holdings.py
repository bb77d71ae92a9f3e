"""What a model is told beforehand of a user's own things: names, and examples made of them.

A small model copies an example as it stands and takes the first tool that sounds right: names of the user's own tables, files and
documents tell it which tool holds what. They are read once, when the tools are made, so that a prompt's beginning stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolhand.builtin._rooted import Entry, Root
from toolhand.core.errors import ToolFailure
from toolhand.core.tools import Tool

_MOST_NAMES: Final = 12
_LONGEST_NAME: Final = 40
_MOST_WORDS: Final = 5
_IN_A_SENTENCE: Final = re.compile(r"[^<>\"'`{}\[\]|;:,，。：；]+")
_TABLE: Final = re.compile(r"(?P<table>\w+)\((?P<first>\w+)(?:, (?P<second>\w+))?(?=[,)])")
_RESERVED: Final = frozenset(
    re.findall(
        r"\w+",
        """all and any array as asc between both by case cast check column condition constraint create cross current default
        delete desc distinct drop else end except exists false fetch for foreign from full grant group groups having if in index
        inner insert interval into is join key keys lateral left like limit lock match natural not null of offset on or order
        outer primary range read references release rename replace revoke right row rows schema select session set some table then
        to transaction trigger true union unique update usage use user using values view when where window with work write""",
    )
)
"""Words of SQL. As a name one needs quotes, or means something else: PostgreSQL counts one row in `FROM user`."""


def held(place: Root) -> tuple[Entry, ...]:
    """The files and folders at the top of a folder whose names can stand in a description; hidden ones are left out.

    A name that is long, or could be read as more than a name, is not told: whoever named the file does not speak to the model.
    """
    try:
        entries, _ = place.entries(())
    except ToolFailure:
        return ()
    return tuple(
        entry
        for entry in entries
        if entry.kind in ("file", "folder")
        and not entry.name.startswith((".", "~"))
        and len(entry.name) <= _LONGEST_NAME
        and len(entry.name.split()) <= _MOST_WORDS
        and entry.name.isprintable()
        and _IN_A_SENTENCE.fullmatch(entry.name)
    )


def told(word: str, entries: Sequence[Entry]) -> str:
    """A line such as "Files: stock.csv, notes/ and 3 more"; empty where there is nothing to tell."""
    if not entries:
        return ""
    names = [f"{entry.name}/" if entry.kind == "folder" else entry.name for entry in entries]
    left = len(names) - _MOST_NAMES
    return f"\n{word}: {', '.join(names[:_MOST_NAMES])}{f' and {left} more' if left > 0 else ''}"


def acquainted(tool: Tool, line: str = "", examples: Mapping[str, str] | None = None) -> Tool:
    """The tool with a line more in its description, and examples of its parameters replaced by the user's own.

    Args:
        tool: any tool.
        line: what is added.
        examples: an example as the tool's author wrote it → the one that takes its place.
    """
    parameters = _exchanged(tool.parameters, examples) if examples else tool.parameters
    return replace(tool, description=f"{tool.description}{line}", parameters=parameters)


def queries(overview: str, kind: str = "") -> tuple[str, str]:
    """A count and a choice of columns over the first table of an overview whose names need no quotes, or two empty texts."""
    tables = overview.removeprefix("Tables: ").split("; ") if overview.startswith("Tables: ") else []
    found = next(
        (match for match in map(_TABLE.match, tables) if match is not None and _are_plain(match, kind)), None
    )
    if found is None:
        return "", ""
    table, columns = found["table"], ", ".join(filter(None, (found["first"], found["second"])))
    return f"SELECT count(*) FROM {table}", f"SELECT {columns} FROM {table} LIMIT 5"  # noqa: S608 - shown, not run


def _are_plain(match: re.Match[str], kind: str) -> bool:
    """Whether all of the names stand in SQL as they are; PostgreSQL takes capitals for small letters."""
    names = [name for name in match.groups() if name]
    if kind == "PostgreSQL" and any(name != name.lower() for name in names):
        return False
    return not any(name.casefold() in _RESERVED or name[0].isdigit() for name in names)


def _exchanged(value: Any, examples: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for before, own in examples.items():
            value = value.replace(before, own)
        return value
    if isinstance(value, Mapping):
        return {key: _exchanged(one, examples) for key, one in value.items()}
    return [_exchanged(one, examples) for one in value] if isinstance(value, list) else value
