"""From a tool to the schema that a provider takes, and from the name on the wire back to the tool's own.

The provider's name rule is that of OpenAI's API: letters, digits, underscore, hyphen, at most 64.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from toolhand.core.errors import SettingsError
from toolhand.core.tools import Tool

_VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_INVALID_RUN = re.compile(r"[^a-zA-Z0-9_-]+")


@lru_cache(maxsize=4096)
def wire_name(name: str) -> str:
    """A name that every provider takes: the tool's own where it can be, else a readable, stable, collision-free form.

    It depends on the name alone, so it is the same in every process, history and set of tools.
    """
    if _VALID.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = _INVALID_RUN.sub("_", name).strip("_-")[:48] or "tool"
    return f"{readable}_{digest}"


def own_name(name: str, tools: Iterable[Tool]) -> str:
    """The tool's own name behind one from the wire; the name itself where no tool has it."""
    return next((tool.name for tool in tools if wire_name(tool.name) == name), name)


def schema(tool: Tool, provider: str = "openai") -> dict[str, Any]:
    """One tool's schema in a provider's form.

    Args:
        tool: the tool.
        provider: "openai", "anthropic" or "mcp".

    Raises:
        SettingsError: for a provider that is not known.
    """
    parameters = visible_parameters(tool)
    if provider == "openai":
        name = wire_name(tool.name)
        return {
            "type": "function",
            "function": {"name": name, "description": tool.description, "parameters": parameters},
        }
    if provider == "anthropic":
        return {"name": wire_name(tool.name), "description": tool.description, "input_schema": parameters}
    if provider == "mcp":
        return {"name": tool.name, "description": tool.description, "inputSchema": parameters}
    raise SettingsError(f"there is no schema form '{provider}'; there is: openai, anthropic, mcp")


def visible_parameters(tool: Tool) -> dict[str, Any]:
    """The parameters as a model sees them: a copy that the caller may change, without our own `x-` notes."""
    parameters: dict[str, Any] = _visible(tool.parameters)
    parameters.setdefault("type", "object")
    parameters.setdefault("properties", {})
    return parameters


def _visible(node: Any, *, is_schema: bool = True) -> Any:
    if isinstance(node, Mapping):
        return {
            # Under "properties" the keys are parameters' names, and one may well begin with "x-".
            key: _visible(value, is_schema=not (is_schema and key in ("properties", "$defs")))
            for key, value in node.items()
            if not (is_schema and key.startswith("x-"))
        }
    if isinstance(node, list | tuple):
        return [_visible(item) for item in node]
    return node
