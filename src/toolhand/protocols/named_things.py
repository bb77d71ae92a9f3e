"""Files that the user names: the tool that lists a file of that name is the one to ask.

A tool over a user's own things names them in its description (`builtin/_holdings.py`). Small models read past that: asked about
"stock.csv" they look for a table "stock" in the database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolhand.core.messages import Message
from toolhand.core.tools import Tool, ToolChoice
from toolhand.protocols.next_steps import since_the_user_spoke
from toolhand.tools.collection import ToolCollection

_FILE: Final = re.compile(r"(?<![\w@/:.\-])[\w\-]+\.[A-Za-z][A-Za-z0-9]{1,4}(?![\w@/\-])")
"""A file's name with its ending."""

_HAS_ENDING: Final = re.compile(r"\w\.[A-Za-z]")
_BEFORE: Final = re.compile(r"[A-Za-z0-9_@/:.\-]")
_AFTER: Final = re.compile(r"[A-Za-z0-9_@/\-]")
_LONGEST_LOOKED_AT: Final = 4_000
"""Characters of the user's words, and of a description."""


def tools_of_named_files(
    messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice
) -> tuple[str, ...]:
    """The tools that list a file which the user has just named, where nothing was called yet and all that they do is read.

    None where a tool that writes takes such a file too: it is for the model to say which is meant.
    """
    at, given = since_the_user_spoke(messages)
    if at < 0 or given:
        return ()
    said = messages[at].text[:_LONGEST_LOOKED_AT].casefold()
    if not _HAS_ENDING.search(said):
        return ()
    holders = [tool for tool in tools if _lists(tool.description, said)]
    places = {name for tool in holders for name in tool.properties if _lists(_about(tool, name), said)}
    writers = [tool for tool in tools if tool.rules.effect != "reads"]
    if any(tool in holders or places & tool.properties.keys() for tool in writers):
        return ()
    return tuple(tool.name for tool in holders if choice.allows(tool.name))


def _lists(text: str, said: str) -> bool:
    """Whether a file that stands in a text was said; Chinese puts no blank around a name."""
    for name in {found.casefold() for found in _FILE.findall(text[:_LONGEST_LOOKED_AT])}:
        start = said.find(name)
        while start >= 0:
            before, after = said[start - 1 : start], said[start + len(name) : start + len(name) + 1]
            if not _BEFORE.match(before) and not _AFTER.match(after):
                return True
            start = said.find(name, start + 1)
    return False


def _about(tool: Tool, name: str) -> str:
    """What a parameter's schema says in words."""
    schema = tool.properties[name]
    examples = schema.get("examples")
    shown = [one for one in examples if isinstance(one, str)] if isinstance(examples, list) else []
    return " ".join((str(schema.get("description") or ""), *shown))
