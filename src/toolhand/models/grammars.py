"""How each server is told the schema that a reply must satisfy. A form is a name in a `Dialect`; a new one is an entry here.

Sources: https://platform.openai.com/docs/guides/structured-outputs, https://docs.vllm.ai/en/latest/features/structured_outputs.html,
https://docs.ollama.com/capabilities/structured-outputs, https://github.com/guidance-ai/llguidance/blob/main/docs/json_schema.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

GrammarForm: TypeAlias = Literal[
    "json_schema",
    "strict",
    "guided_json",
    "structured_outputs",
    "format",
    "llguidance",
    "json_object",
    "none",
]

Schema: TypeAlias = Mapping[str, Any]

ROOT: Final = "reply"
"""The key around a schema whose root is a choice, for servers that want an object there."""

# One blank after commas and colons, as models have seen JSON written most: line breaks cost tokens and tell nothing.
_WRITTEN: Final = {
    "x-guidance": {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
}


def grammar_fields(schema: Schema | None, form: GrammarForm) -> Mapping[str, Any]:
    """The fields of a request's body that force a schema; none where there is nothing to force.

    Args:
        schema: what the reply must satisfy.
        form: how the server is told.
    """
    return {} if schema is None else _FORMS[form](schema)


def _json_schema(schema: Schema) -> Mapping[str, Any]:
    form = {"name": "reply", "schema": schema, "strict": _is_closed(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def _strict(schema: Schema) -> Mapping[str, Any]:
    """OpenAI forces only a closed schema: an object at the root, every property required, those that may be absent null."""
    closed = strict_schema(schema)
    if closed is None:
        return _json_schema(_rooted(schema))
    form = {"name": "reply", "schema": closed, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def _llguidance(schema: Schema) -> Mapping[str, Any]:
    text = json.dumps({**schema, **_WRITTEN}, ensure_ascii=False, default=str)
    return {"grammar": f"%llguidance {{}}\nstart: %json {text}"}


_FORMS: Final[Mapping[GrammarForm, Callable[[Schema], Mapping[str, Any]]]] = {
    "json_schema": _json_schema,
    "strict": _strict,
    "guided_json": lambda schema: {"guided_json": schema},
    "structured_outputs": lambda schema: {"structured_outputs": {"json": schema}},
    "format": lambda schema: {"format": schema},
    "llguidance": _llguidance,
    "json_object": lambda _: {"response_format": {"type": "json_object"}},
    "none": lambda _: {},
}


def _rooted(schema: Schema) -> Schema:
    """The schema as an object, which some servers want at the root."""
    if schema.get("type") == "object":
        return schema
    return {
        "type": "object",
        "properties": {ROOT: schema},
        "required": [ROOT],
        "additionalProperties": False,
    }


def strict_schema(schema: Schema) -> dict[str, Any] | None:
    """The schema as OpenAI's strict mode wants it, or None where that cannot say the same.

    Args:
        schema: what the reply must satisfy. A property that may be absent becomes one that may be null.
    """
    closed: dict[str, Any] = _closed(_rooted(schema))
    return closed if _is_closed(closed) and not _has_free_object(closed) else None


def _closed(node: Any) -> Any:
    if isinstance(node, list | tuple):
        return [_closed(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    result = {
        ("anyOf" if key == "oneOf" else key): value
        if key in ("enum", "const", "required")
        else _closed(value)
        for key, value in node.items()
    }
    properties = node.get("properties")
    if node.get("type") == "object" and isinstance(properties, Mapping):
        required = node.get("required") or ()
        result["properties"] = {
            name: _closed(value) if name in required else {"anyOf": [_closed(value), {"type": "null"}]}
            for name, value in properties.items()
        }
        result["required"] = list(properties)
        result["additionalProperties"] = False
    return result


def _has_free_object(node: Any) -> bool:
    if isinstance(node, Mapping):
        if node.get("type") == "object" and "properties" not in node:
            return True
        return any(_has_free_object(value) for value in node.values())
    return any(_has_free_object(item) for item in node) if isinstance(node, list | tuple) else False


def _is_closed(node: Any) -> bool:
    """Whether every object in a schema lists all its properties as required: what `strict` asks for."""
    if isinstance(node, Mapping):
        properties = node.get("properties")
        if isinstance(properties, Mapping) and (
            node.get("additionalProperties") is not False
            or set(node.get("required") or ()) != set(properties)
        ):
            return False
        return all(_is_closed(value) for value in node.values())
    return all(_is_closed(item) for item in node) if isinstance(node, list | tuple) else True
