"""Replaces references in a JSON Schema by what they name, so that weak models and simple servers can read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Words that only repeat what the names say, or that no provider reads.
_NOISE = ("title",)


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every `$ref` replaced, and titles left out. What refers to itself keeps its `$defs`."""
    definitions: dict[str, Any] = {}
    _collect(schema, definitions)
    kept: dict[str, Any] = {}
    result: dict[str, Any] = _inline(schema, definitions, (), kept, is_schema=True)
    result.pop("$defs", None)
    if kept:
        result["$defs"] = kept
    return result


def _collect(node: Any, into: dict[str, Any]) -> None:
    if isinstance(node, Mapping):
        for key in ("$defs", "definitions"):
            found = node.get(key)
            if isinstance(found, Mapping):
                into |= found
        for item in node.values():
            _collect(item, into)
    elif isinstance(node, list):
        for item in node:
            _collect(item, into)


def _inline(
    node: Any, definitions: dict[str, Any], above: tuple[str, ...], kept: dict[str, Any], *, is_schema: bool
) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions, above, kept, is_schema=is_schema) for item in node]
    if not isinstance(node, Mapping):
        return node
    reference = node.get("$ref")
    if is_schema and isinstance(reference, str):
        name = reference.rsplit("/", 1)[-1]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        if name not in definitions:
            return dict(node)
        if name in above:
            if name not in kept:
                kept[name] = {}  # claimed before the descent, which comes by here again
                kept[name] = _inline(definitions[name], definitions, (name,), kept, is_schema=True)
            return {"$ref": f"#/$defs/{name}", **beside}
        found = _inline(definitions[name], definitions, (*above, name), kept, is_schema=True)
        return {**found, **_inline(beside, definitions, above, kept, is_schema=True)}
    result = {}
    for key, value in node.items():
        if is_schema and key in ("$defs", "definitions"):
            continue
        if is_schema and key in _NOISE and isinstance(value, str):
            continue
        if is_schema and key in ("default", "const", "enum", "examples", "example"):
            result[key] = value  # data, not schemas
        else:
            # Under "properties" the keys are parameters' names: one may be called "title" or "$ref".
            result[key] = _inline(
                value,
                definitions,
                above,
                kept,
                is_schema=not (is_schema and key in ("properties", "patternProperties")),
            )
    return result
