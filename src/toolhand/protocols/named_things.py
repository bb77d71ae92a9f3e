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

_LIST: Final = re.compile(r"^[^\W\d]\w{0,20}: (.+)$", re.MULTILINE)
"""A line of a description that lists names, such as "Files: a.csv, b.md and 3 more": a name in a sentence may be no file's."""

_MORE: Final = re.compile(r" and \d+ more$")
_FILE: Final = re.compile(r"[^/\\]*\w\.[a-z][a-z0-9]{1,4}")
"""A file's name with its ending, in small letters."""

_TAKES_FILES: Final = re.compile(
    r"(?:\b|_)(?:files?|filenames?|paths?|attach\w*)(?:\b|_)|文件|附件|路径", re.IGNORECASE
)
"""What the name or the description of a parameter says that takes a file."""

_HAS_ENDING: Final = re.compile(r"\w\.[A-Za-z]")
_BEFORE: Final = re.compile(r"[A-Za-z0-9_@/:.\-]")
_AFTER: Final = re.compile(r"[A-Za-z0-9_@/\-]|\.[A-Za-z0-9]")
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
    if not holders or any(
        tool in holders or _takes_files(tool) for tool in tools if tool.rules.effect != "reads"
    ):
        return ()
    return tuple(tool.name for tool in holders if choice.allows(tool.name))


def _lists(text: str, said: str) -> bool:
    """Whether a file that a text lists was said; Chinese puts no blank around a name."""
    lines = _LIST.findall(text[:_LONGEST_LOOKED_AT].casefold())
    for name in {name for line in lines for name in _MORE.sub("", line).split(", ") if _FILE.fullmatch(name)}:
        start = said.find(name)
        while start >= 0:
            end = start + len(name)
            if not _BEFORE.match(said[start - 1 : start]) and not _AFTER.match(said[end : end + 2]):
                return True
            start = said.find(name, start + 1)
    return False


def _takes_files(tool: Tool) -> bool:
    """Whether a parameter speaks of files."""
    about = (f"{name} {schema.get('description') or ''}" for name, schema in tool.properties.items())
    return any(_TAKES_FILES.search(one) for one in about)
