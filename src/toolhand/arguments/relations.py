"""How tools lean on one another: which tells what another asks for, and which value describes what a tool would find."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolhand.arguments.grounds import HAN, Grounds, folded
from toolhand.core.messages import ToolCall
from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[\u3400-\u9fff]+")


def tools_that_tell(name: str, tool: Tool, tools: ToolCollection) -> list[Tool]:
    """The tools that may tell a parameter's value, the likeliest first: they only read, ask for no such value, and speak of it.

    Args:
        name: the parameter.
        tool: its tool.
        tools: all that may be called.
    """
    schema = tool.properties.get(name) or {}
    about = nouns(f"{name} {schema.get('description') or ''}")
    own = nouns(name)
    found: list[tuple[int, Tool]] = []
    for other in tools:
        if other.name == tool.name or name in other.properties or other.rules.effect != "reads":
            continue
        weight = 3 * len(own & nouns(other.name)) + len(about & nouns(f"{other.name} {other.description}"))
        if weight:
            found.append((weight, other))
    return [other for _, other in sorted(found, key=lambda pair: -pair[0])]


_EMPTY_NOUNS: Final = frozenset(
    re.findall(
        r"\w+",
        "id ids uuid guid identifier number no num code name the a an of to for by in on with and or its get find search list "
        "query look lookup fetch show such as unique",
    )
)


def words_of(name: str) -> list[str]:
    """The words that a name is made of, in lower case: `shipName` and `ship_name` are ship, name."""
    return [part.casefold() for part in _PART.findall(name)]


def nouns(text: str) -> frozenset[str]:
    """The words of a text without those that say nothing: English words in the singular, pairs of Chinese characters."""
    words: set[str] = set()
    for part in _PART.findall(text):
        if HAN.match(part):
            words |= {part[at : at + 2] for at in range(len(part) - 1)} or {part}
        else:
            word = part.casefold()
            words.add(word[:-1] if len(word) > 3 and word.endswith("s") else word)
    return frozenset(words) - _EMPTY_NOUNS - {"编号", "单号", "查询", "查找", "获取"}


_OF_SOMETHING: Final = re.compile(r"\w['\u2019]s?\s+\w|\s+of\s+|的")
"""A value of this shape says whose or of what, and names nothing by itself: "Ann's meeting", "captain of it"."""

_FREE_TEXT: Final = frozenset(
    (
        "query",
        "question",
        "text",
        "message",
        "content",
        "description",
        "prompt",
        "title",
        "body",
        "note",
        "keyword",
        "topic",
    )
)
"""Parameters of these names take a person's own words, which may speak of anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What stands around a call's values.

    Args:
        call: the call.
        tool: its tool.
        beside: all calls of the reply.
        grounds: what was said.
        tools: what may be called.
    """

    call: ToolCall
    tool: Tool
    beside: Sequence[ToolCall]
    grounds: Grounds
    tools: ToolCollection


def describes(name: str, value: object, around: Around) -> bool:
    """Whether a value only describes what another tool would find: a small model that skips a step puts its question there.

    So it is where the value says of what ("captain of the Foxes") and speaks of what the other tool is about, where it is a word
    for what a call beside it finds ("the captain"), where nobody said it and a call beside it finds it, where it repeats what its
    parameter is called ("name of the port"), and where the user called it something else ("the ship Aurelia" for a port).

    Args:
        name: the parameter.
        value: its value.
        around: its call, and what else there is.
    """
    tool = around.tool
    if not isinstance(value, str) or not value.strip():
        return False
    schema = tool.properties.get(name) or {}
    if schema.get("enum") or schema.get("default") is not None or set(words_of(name)) & _FREE_TEXT:
        return False
    if folded(value).strip() in (folded(name), folded(str(schema.get("description") or "-")).strip(" .")):
        return True
    tellers = {other.name for other in tools_that_tell(name, tool, around.tools)}
    if any(one.name in tellers for one in around.beside) and not around.grounds.share(value):
        return True
    for other in around.tools:
        if other.name == tool.name or other.rules.effect != "reads" or name in other.properties:
            continue
        found = [one for one in around.beside if one.name == other.name]
        about = nouns(f"{other.name} {other.description}") - nouns(f"{name} {tool.name}")
        if found and nouns(value) and nouns(value) <= about:
            return True
        is_of = _OF_SOMETHING.search(value) is not None and bool(about & nouns(value))
        if is_of and (other.name in tellers or _holds(value, found)):
            return True
        if other.name in tellers and any(around.grounds.calls_it(value, asked) for asked in _asked(other)):
            return True
    return False


def _holds(value: str, calls: Sequence[ToolCall]) -> bool:
    """Whether a value holds one of other calls' values, and more."""
    given = [str(one).casefold() for call in calls for one in call.arguments.values() if isinstance(one, str)]
    return any(len(one) > 1 and one in value.casefold() and len(one) < len(value.strip()) for one in given)


def _asked(tool: Tool) -> Iterator[str]:
    """What a tool's required texts are of, by their names: "ship" of ship, ship_name."""
    for name in tool.required:
        schema: Any = tool.properties.get(name)
        words = [word for word in words_of(name) if word not in _EMPTY_NOUNS and word != "name"]
        if isinstance(schema, Mapping) and schema.get("type", "string") == "string" and words:
            yield words[0]
