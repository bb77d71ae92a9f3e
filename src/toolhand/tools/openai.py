"""Tools from the schemas that OpenAI-compatible APIs take: declared only, or with functions of the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolhand.core.errors import ToolDefinitionError
from toolhand.core.language import say
from toolhand.core.tools import EMPTY_PARAMETERS, Tool


def from_openai(
    schemas: Iterable[Mapping[str, Any]], functions: Mapping[str, Callable[..., Any]] | None = None
) -> list[Tool]:
    """Tools from OpenAI function schemas, wrapped (`{"type": "function", "function": …}`) or bare (`{"name": …}`).

    Args:
        schemas: the schemas. Parameters that are null, absent or empty become an empty object.
        functions: what runs, by name; a tool without one can be read and bound, but not run.

    Raises:
        ToolDefinitionError: when a schema has no name or its parameters are not an object.
    """
    found = functions or {}
    return [_tool(schema, found) for schema in schemas]


def _tool(schema: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Tool:
    inner = schema.get("function", schema)
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(name, str) or not name:
        shown = str(schema)[:120]
        raise ToolDefinitionError(
            say(f"a tool schema needs a name: {shown}", f"工具 schema 需要 name：{shown}")
        )
    parameters = (
        inner.get("parameters") or inner.get("input_schema") or inner.get("inputSchema") or EMPTY_PARAMETERS
    )
    if not isinstance(parameters, Mapping):
        raise ToolDefinitionError(
            say(
                f"the parameters of tool '{name}' are not a JSON Schema object",
                f"工具“{name}”的 parameters 不是 JSON Schema 对象",
            )
        )
    if "type" not in parameters and "properties" in parameters:
        parameters = {"type": "object", **parameters}
    return Tool(
        name=name,
        description=inner.get("description") or "",
        parameters=parameters,
        function=functions.get(name),
    )
