"""Tools as function signatures with comments: what their JSON Schemas say, in about two thirds of the tokens.

The notation is TypeScript's, which models have read much of: `name(city: string /* Name */, days?: integer /* Default 1 */)`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection
from toolhand.tools.export import visible_parameters

DEEPEST: Final = 6
"""How deep objects in objects are spelled out; what lies deeper, or refers to itself, is only called an object."""


def signatures(tools: ToolCollection) -> str:
    """All tools, each with its description as a comment above it."""
    return "\n".join(signature(tool) for tool in tools)


def signature(tool: Tool) -> str:
    """One tool: its description as a comment, then its name and parameters."""
    parameters = visible_parameters(tool)
    definitions = parameters.get("$defs") or {}
    description = tool.description.strip().replace("\n", "\n// ")
    comment = f"// {description}\n" if description else ""
    return f"{comment}{tool.name}({_fields(parameters, definitions, 0)})"


def _fields(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> str:
    required = schema.get("required") or ()
    return ", ".join(
        _field(name, field, definitions, depth, is_required=name in required)
        for name, field in (schema.get("properties") or {}).items()
    )


def _field(name: str, schema: Any, definitions: Mapping[str, Any], depth: int, *, is_required: bool) -> str:
    comment = _comment(schema) if isinstance(schema, Mapping) else ""
    mark = "" if is_required else "?"
    remark = f" /* {comment} */" if comment else ""
    return f"{name}{mark}: {_type(schema, definitions, depth)}{remark}"


def _comment(schema: Mapping[str, Any]) -> str:
    """The description, and what the type does not say: default, format, bounds, an example."""
    parts = [str(schema.get("description") or "").strip().replace("*/", "* /")]
    said = parts[0].lower()
    if schema.get("default") not in (None, "") and "default" not in said and "默认" not in said:
        parts.append(f"Default {_json(schema['default'])}")
    for key, word in (("format", "Format"), ("pattern", "Pattern"), ("minimum", ">="), ("maximum", "<=")):
        if key in schema:
            parts.append(f"{word} {schema[key]}")
    if schema.get("examples"):
        parts.append(f"e.g. {_json(schema['examples'][0])}")
    return "; ".join(part for part in parts if part)


def _type(schema: Any, definitions: Mapping[str, Any], depth: int) -> str:
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return "any"
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _type(definitions.get(reference.rsplit("/", 1)[-1]), definitions, depth + 1)
    if "enum" in schema:
        return " | ".join(map(_json, schema["enum"]))
    if "const" in schema:
        return _json(schema["const"])
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " | ".join(dict.fromkeys(_type(option, definitions, depth + 1) for option in options))
    kind = schema.get("type") or ("object" if "properties" in schema else "any")
    if isinstance(kind, list):
        return " | ".join(map(str, kind))
    if kind == "array":
        item = _type(schema.get("items") or {}, definitions, depth + 1)
        return f"({item})[]" if " | " in item else f"{item}[]"
    if kind == "object" and schema.get("properties"):
        return "{" + _fields(schema, definitions, depth + 1) + "}"
    return str(kind)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
