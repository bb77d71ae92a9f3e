"""Tools as Python functions without bodies: what a program that may call them is written against."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, get_type_hints, is_typeddict

from pydantic import TypeAdapter

from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection
from toolhand.tools.visible import visible_parameters

DEEPEST: Final = 4
"""How deep objects in objects are spelled out."""

_TYPES: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


def python_name(tool: Tool) -> str:
    """The name under which a program reaches a tool, where its own is none that Python takes; "" where there is none."""
    name = re.sub(r"\W", "_", tool.name)
    return name if name.isidentifier() and not keyword.iskeyword(name) else ""


def stubs(tools: ToolCollection) -> str:
    """All tools, each as a `def` line with its description and what its parameters mean."""
    return "\n\n".join(stub(tool) for tool in tools)


def stub(tool: Tool) -> str:
    """One tool. A result whose shape is known is shown as an example of its fields' types."""
    parameters = visible_parameters(tool)
    definitions = parameters.get("$defs") or {}
    properties: Mapping[str, Any] = parameters.get("properties") or {}
    required = parameters.get("required") or ()
    fields = [
        _parameter(name, schema, definitions, is_required=name in required)
        for name, schema in sorted(properties.items(), key=lambda one: one[0] not in required)
    ]
    lines = [f"def {python_name(tool) or tool.name}({', '.join(fields)}) -> {_returned(tool)}:"]
    said = [" ".join(tool.description.split())]
    for name, schema in properties.items():
        if isinstance(schema, Mapping) and schema.get("description"):
            said.append(f"{name}: {' '.join(str(schema['description']).split())}")
    text = "\n    ".join(line.replace('"""', "'''") for line in said if line)
    return "\n".join([*lines, f'    """{text}"""' if text else "    ..."])


def _parameter(name: str, schema: Any, definitions: Mapping[str, Any], *, is_required: bool) -> str:
    typed = f"{name}: {_type(schema, definitions, 0)}"
    if is_required:
        return typed
    default = schema.get("default") if isinstance(schema, Mapping) else None
    return f"{typed} = {_literal(default)}"


def _type(schema: Any, definitions: Mapping[str, Any], depth: int) -> str:
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return "Any"
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _type(definitions.get(reference.rsplit("/", 1)[-1]), definitions, depth + 1)
    if "enum" in schema or "const" in schema:
        options = schema.get("enum") or [schema.get("const")]
        return f"Literal[{', '.join(map(_literal, options))}]"
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " | ".join(dict.fromkeys(_type(option, definitions, depth + 1) for option in options))
    kind = schema.get("type") or ("object" if "properties" in schema else "any")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(one, "Any") for one in kind)
    if kind == "array" and schema.get("items"):
        return f"list[{_type(schema['items'], definitions, depth + 1)}]"
    if kind == "object" and schema.get("properties"):
        fields = [
            f'"{key}": {_type(part, definitions, depth + 1)}' for key, part in schema["properties"].items()
        ]
        return "{" + ", ".join(fields) + "}"
    return _TYPES.get(str(kind), "Any")


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _schema(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).json_schema(mode="serialization")


@lru_cache(1024)
def _returned(tool: Tool) -> str:
    """The type of the result as the function declares it."""
    try:
        returned = get_type_hints(tool.function)["return"]
        if is_typeddict(returned):  # pydantic takes those of `typing` only since Python 3.12
            fields = {name: _schema(kind) for name, kind in get_type_hints(returned).items()}
            return _type({"type": "object", "properties": fields}, {}, 0)
        schema = _schema(returned)
    except Exception:  # noqa: BLE001 - a type that pydantic does not know, or none: then it is not told
        return "Any"
    return _type(schema, schema.get("$defs") or {}, 0)
