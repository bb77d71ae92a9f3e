"""What a model sees of a tool's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhand.core.tools import Tool


def visible_parameters(tool: Tool) -> dict[str, Any]:
    """The parameters as a model sees them: a copy that the caller may change, without our own `x-` notes."""
    parameters: dict[str, Any] = visible(tool.parameters)
    parameters.setdefault("type", "object")
    parameters.setdefault("properties", {})
    return parameters


def visible(node: Any, *, is_schema: bool = True) -> Any:
    """A schema without our own `x-` notes, as a copy."""
    if isinstance(node, Mapping):
        return {
            # Under "properties" the keys are parameters' names, and one may well begin with "x-".
            key: visible(value, is_schema=not (is_schema and key in ("properties", "$defs")))
            for key, value in node.items()
            if not (is_schema and key.startswith("x-"))
        }
    if isinstance(node, list | tuple):
        return [visible(item) for item in node]
    return node
