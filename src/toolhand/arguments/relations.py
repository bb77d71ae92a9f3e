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


def is_told_too(tool: Tool, by: Tool, tools: ToolCollection) -> bool:
    """Whether what a tool requires is itself told by a further tool, whose name speaks of it: the third link of a chain.

    Args:
        tool: the one that tells something.
        by: the one that asks for it, which is no link before it.
        tools: all that may be called.
    """
    return any(
        nouns(name) & nouns(other.name)
        for name in tool.required
        for other in tools_that_tell(name, tool, tools)
        if other.name != by.name
    )


def hang_together(calls: Sequence[ToolCall], tools: ToolCollection) -> bool:
    """Whether of several calls of one reply one tells what another requires: then the other's value cannot be known yet."""
    called = {call.name: tool for call in calls if (tool := tools.get(call.name)) is not None}
    return any(
        nouns(name) & nouns(other.name) and name not in other.properties
        for tool in called.values()
        for name in tool.required
        for other in called.values()
        if other is not tool
    )


_EMPTY_NOUNS: Final = frozenset(
    re.findall(
        r"\w+",
        """id ids uuid guid identifier number no num code name the a an of to for by in on with and or its get find search list
        query look lookup fetch show such as unique from at into this that what which it is are be source target type value""",
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

_ASKS: Final = re.compile(r"^(?:how|what|which|whose?|where|when)\b|几|多少|什么|哪|吗$|谁")
"""A value of this shape is a question."""

_FREE_TEXT: Final = frozenset(
    re.findall(r"\w+", "query question text message content description prompt title body note keyword topic")
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

    So it is where it repeats what its parameter is called ("name of the port"), and where another tool that tells such values
    reads one of these: of what it is ("captain of the Foxes"), a question, what the user called something else ("the ship
    Aurelia" for a port), or, with that tool called beside it, a word for what it finds, what it was itself given, or what nobody
    said.

    Args:
        name: the parameter.
        value: its value.
        around: its call, and what else there is.
    """
    tool = around.tool
    schema = tool.properties.get(name) or {}
    if (
        not isinstance(value, str)
        or not value.strip()
        or schema.get("enum")
        or schema.get("default") is not None
    ):
        return False
    if set(words_of(name)) & _FREE_TEXT:
        return False
    told = str(schema.get("description") or "").strip(" .")
    if len(told.split()) > 1 and folded(value).strip() == folded(told):
        return True
    wanted = nouns(f"{name} {told}")
    others = (one for one in around.tools if one.name != tool.name and one.rules.effect == "reads")
    return any(
        name not in other.properties and _is_found_by(other, value, wanted, around) for other in others
    )


def _is_found_by(other: Tool, value: str, wanted: frozenset[str], around: Around) -> bool:
    """Whether a value stands for what another tool finds.

    Args:
        other: the other tool.
        value: the value.
        wanted: what its parameter speaks of.
        around: its call, and what else there is.
    """
    found = nouns(f"{other.name} {other.description}") - _inputs(other)
    beside = [one for one in around.beside if one.name == other.name]
    words, tells = nouns(value), bool(found & wanted)
    if tells and _ASKS.search(folded(value)):
        return True
    if words & found - wanted - nouns(around.tool.name) and (
        _holds(value, beside) or (tells and _OF_SOMETHING.search(value))
    ):
        return True
    if tells and beside:
        given = {folded(str(one)).strip() for call in beside for one in call.arguments.values()}
        if (
            folded(value).strip() in given
            or (words and words <= found | wanted)
            or around.grounds.says_none_of(value)
        ):
            return True
    return tells and any(
        around.grounds.calls_it(value, asked) for asked in _asked(other) if asked not in wanted
    )


def _inputs(tool: Tool) -> frozenset[str]:
    """What a tool's own parameters speak of."""
    schemas = {name: schema for name, schema in tool.properties.items() if isinstance(schema, Mapping)}
    return nouns(" ".join(f"{name} {schema.get('description') or ''}" for name, schema in schemas.items()))


def _holds(value: str, calls: Sequence[ToolCall]) -> bool:
    """Whether a value holds one of other calls' values, and more."""
    given = [str(one).casefold() for call in calls for one in call.arguments.values() if isinstance(one, str)]
    return any(len(one) > 1 and one in value.casefold() and len(one) < len(value.strip()) for one in given)


def _asked(tool: Tool) -> Iterator[str]:
    """What a tool's required texts are of, by their names: "ship" of ship, ship_name."""
    for name in tool.required:
        schema: Any = tool.properties.get(name)
        words = [word for word in words_of(name) if word not in _EMPTY_NOUNS]
        if isinstance(schema, Mapping) and schema.get("type", "string") == "string" and words:
            yield words[0]
