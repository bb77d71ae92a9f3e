"""From a toolset to the JSON Schema of one reply: an answer in text, or one or several of these calls.

What a grammar cannot use is left out: descriptions stand in the prompt, and a smaller schema is compiled sooner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from toolhand.core.tools import Tool, ToolChoice
from toolhand.tools.collection import ToolCollection
from toolhand.tools.export import visible_parameters

DECISION: Final = "fits"
"""The key that comes first: whether a tool fits. The model decides before it writes anything else."""

CALLS: Final = "calls"

ANSWER: Final = "answer"

LARGEST: Final = 60_000
"""Characters of a schema beyond which the arguments of all tools are any object: a grammar of hundreds of tools takes seconds
to compile, and the arguments are checked when the call is bound anyway."""

_KEPT: Final = frozenset(
    (
        "type",
        "properties",
        "required",
        "items",
        "prefixItems",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "additionalProperties",
        "minItems",
        "maxItems",
        "$ref",
        "$defs",
    )
)  # fmt: skip
_INTEGER_BOUNDS: Final = ("minimum", "maximum")
_ANY_OBJECT: Final[Mapping[str, Any]] = {"type": "object"}


def reply_schema(tools: ToolCollection, choice: ToolChoice) -> dict[str, Any] | None:
    """What a reply may be.

    Args:
        tools: what is shown to the model.
        choice: "required" leaves only calls, "none" only an answer, names only these tools.

    Returns:
        A JSON Schema, or None where there are no tools.
    """
    if not len(tools):
        return None
    offered = [tool for tool in tools if choice.allows(tool.name)]
    if not offered:
        return dict(ANSWER_ONLY)
    calls = _object({DECISION: {"const": True}, CALLS: _calls(offered)})
    if choice.mode == "required":
        return calls
    return {"anyOf": [calls, ANSWER_ONLY]}


def calls_of(grammar: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is left of a reply's schema where only calls may come.

    Args:
        grammar: a schema with both decisions, as `reply_schema` gives it, or that of calls alone.
    """
    branch: Mapping[str, Any] = grammar["anyOf"][0] if "anyOf" in grammar else grammar
    return branch


def _calls(tools: list[Tool]) -> dict[str, Any]:
    options = [_call({"const": tool.name}, _arguments(tool)) for tool in tools]
    if len(tools) > 1 and len(json.dumps(options, default=str)) > LARGEST:
        options = [_call({"enum": [tool.name for tool in tools]}, _ANY_OBJECT)]
    items = options[0] if len(options) == 1 else {"anyOf": options}
    return {"type": "array", "items": items, "minItems": 1}


def _call(name: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    return _object({"tool": name, "args": arguments})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


ANSWER_ONLY: Final[Mapping[str, Any]] = _object({DECISION: {"const": False}, ANSWER: {"type": "string"}})
"""What is left where nothing may be called."""


def _arguments(tool: Tool) -> dict[str, Any]:
    parameters: dict[str, Any] = _bare(visible_parameters(tool))
    parameters.setdefault("additionalProperties", False)
    return parameters


def _bare(node: Any, *, is_schema: bool = True) -> Any:
    """A schema without what a grammar cannot use."""
    if isinstance(node, list | tuple):
        return [_bare(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    if not is_schema:  # under "properties" the keys are parameters' names
        return {key: _bare(value) for key, value in node.items()}
    bounds = _INTEGER_BOUNDS if node.get("type") == "integer" else ()
    return {
        key: value
        if key in ("enum", "const", "required")
        else _bare(value, is_schema=key not in ("properties", "$defs"))
        for key, value in node.items()
        if key in _KEPT or key in bounds
    }
