"""A step's arguments by its tool's parameters; those of the call that takes it back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolhand.core.messages import ToolCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.parsing.plans.nodes import Expression, ListOf, Literal, ObjectOf, Step


def folded(name: str) -> str:
    """A name without case, blanks, underscores and hyphens."""
    return re.sub(r"[\s_\-]+", "", name).casefold()


def named_arguments(step: Step, tool: Tool | None) -> dict[str, Expression]:
    """A step's arguments by parameter: a value without a name fills the only required one, or the one at its place."""
    named: dict[str, Expression] = {
        key: value for key, value in step.arguments.items() if isinstance(key, str)
    }
    bare = [value for key, value in step.arguments.items() if not isinstance(key, str)]
    names = list(tool.properties) if tool is not None else []
    first = bare[0] if len(bare) == 1 and not named else None
    if isinstance(first, ObjectOf) and {folded(key) for key, _ in first.fields} <= {
        folded(name) for name in names
    }:
        return dict(first.fields)
    if tool is not None and len(bare) == 1 and len(tool.required) == 1 and tool.required[0] not in named:
        names = list(tool.required)
    for place, value in enumerate(bare):
        named[names[place] if place < len(names) else f"argument_{place + 1}"] = value
    return named


def written_arguments(step: Step, tool: Tool | None) -> dict[str, Any]:
    """A step's arguments by parameter, with each reference as it is written."""
    return {key: written_value(value) for key, value in named_arguments(step, tool).items()}


def written_value(value: Expression) -> Any:
    """An expression with references as it is written, in a list or an object item by item."""
    match value:
        case ListOf(items=items):
            return [written_value(item) for item in items]
        case ObjectOf(fields=fields):
            return {key: written_value(item) for key, item in fields}
        case Literal(value=plain):
            return plain
    text = str(value)
    return text[1:-1] if text.startswith('"') else text


def undo_arguments(back: Tool, call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    """What an undoing tool is given: each of its parameters from the result's field of that name, else from the argument.

    A result that is no object fills its only required parameter.
    """
    data = result.data if result is not None else None
    given = {**call.arguments, **(data if isinstance(data, Mapping) else {})}
    names = {*back.properties, *back.aliases}
    found = {key: value for key, value in given.items() if key in names}
    if (
        len(back.required) == 1
        and back.required[0] not in found
        and data is not None
        and not isinstance(data, Mapping)
    ):
        found[back.required[0]] = data
    return found
