"""Small steps on a single schema: what it may be, null in it, merging, flattening. They change no input and know no provider."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

Schema = dict[str, Any]
Resolve = Callable[[Any], Any]
"""Gives what a schema refers to, or the schema itself."""

_TOLD: Final = (
    "format", "pattern", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "const",
)  # fmt: skip
"""Words whose meaning fits into a description."""

_SILENT: Final = frozenset({
    "title", "examples", "example", "deprecated", "readOnly", "writeOnly", "discriminator", "nullable", "$schema", "$id",
    "$comment", "$anchor", "$defs", "definitions", "contentMediaType", "contentEncoding", "additionalProperties",
})  # fmt: skip
"""Words that say nothing about which values are right, or that are dealt with elsewhere."""

_NULL: Final = {"type": "null"}
_INVALID: Final = re.compile(r"[^a-zA-Z0-9_]+")


def types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a schema names or implies, without null."""
    named = schema.get("type")
    if isinstance(named, str):
        return () if named == "null" else (named,)
    if isinstance(named, Sequence):
        return tuple(kind for kind in named if kind != "null")
    if "properties" in schema:
        return ("object",)
    return ("array",) if "items" in schema or "prefixItems" in schema else ()


def branches_of(schema: Mapping[str, Any]) -> list[Any]:
    """The branches of a union: those of `anyOf` or `oneOf`."""
    for word in ("anyOf", "oneOf"):
        found = schema.get(word)
        if isinstance(found, list | tuple) and found:
            return list(found)
    return []


def takes_null(schema: Any, resolve: Resolve, depth: int = 0) -> bool:
    """Whether null is a value of its own for a schema."""
    schema = resolve(schema)
    if not isinstance(schema, Mapping) or depth > 8:
        return schema is True
    named = schema.get("type")
    if schema.get("nullable") is True or named == "null" or (isinstance(named, list) and "null" in named):
        return True
    if branches := branches_of(schema):
        return any(takes_null(branch, resolve, depth + 1) for branch in branches)
    if "allOf" in schema:
        return all(takes_null(part, resolve, depth + 1) for part in schema["allOf"])
    if "enum" in schema and named is None:
        return None in schema["enum"]
    return not types_of(schema) and "const" not in schema and "enum" not in schema


def with_null(schema: Schema) -> Schema:
    """The schema, with null as a further value."""
    if branches := branches_of(schema):
        return schema if _NULL in branches else {**schema, "anyOf": [*branches, dict(_NULL)]}
    if "$ref" in schema or "const" in schema:
        described = {key: value for key, value in schema.items() if key == "description"}
        rest = {key: value for key, value in schema.items() if key != "description"}
        return {"anyOf": [rest, dict(_NULL)], **described}
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    changed = {**schema, "type": kinds if "null" in kinds else [*kinds, "null"]}
    if "enum" in schema and None not in schema["enum"]:
        changed["enum"] = [*schema["enum"], None]
    return changed


def without_null(schema: Schema) -> tuple[Schema, bool]:
    """The schema without null among its values, and whether it was there."""
    had = schema.get("nullable") is True
    schema = {key: value for key, value in schema.items() if key != "nullable"}
    kinds = schema.get("type")
    if isinstance(kinds, list | tuple) and "null" in kinds:
        had, rest = True, [kind for kind in kinds if kind != "null"]
        schema["type"] = rest[0] if len(rest) == 1 else rest
    if "enum" in schema and None in schema["enum"]:
        had, schema["enum"] = True, [option for option in schema["enum"] if option is not None]
    branches = branches_of(schema)
    others = [branch for branch in branches if branch != _NULL]
    if len(others) < len(branches):
        had = True
        schema = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        alone = others[0] if len(others) == 1 else {"anyOf": others}
        schema = {**alone, **schema} if isinstance(alone, Mapping) else schema
    return schema, had


def merged(schema: Mapping[str, Any], resolve: Resolve) -> tuple[Schema, list[str]]:
    """The schema with its `allOf` merged in, and the words on which its parts do not agree."""
    result: Schema = {key: value for key, value in schema.items() if key != "allOf"}
    conflicts: list[str] = []
    for part in schema.get("allOf", ()):
        found = resolve(part)
        if not isinstance(found, Mapping):
            continue
        if "allOf" in found:
            found, deeper = merged(found, resolve)
            conflicts += deeper
        for key, value in found.items():
            if key == "properties" and isinstance(result.get(key), Mapping):
                result[key] = {**value, **result[key]}
            elif key == "required":
                result[key] = list(dict.fromkeys([*result.get(key, ()), *value]))
            elif result.setdefault(key, value) != value and key not in _SILENT | {"description"}:
                conflicts.append(key)
    return result, conflicts


def flattened(schema: Mapping[str, Any], resolve: Resolve) -> Schema:
    """A union of objects as one object: every member of any branch, only what all of them require is required."""
    beside = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
    ways = [
        merged(found, resolve)[0] for found in map(resolve, branches_of(schema)) if isinstance(found, Mapping)
    ]
    properties: Schema = {}
    for way in ways:
        for name, part in (way.get("properties") or {}).items():
            if name not in properties:
                properties[name] = part
            elif properties[name] != part:
                known = branches_of(properties[name]) or [properties[name]]
                properties[name] = {"anyOf": _distinct([*known, *(branches_of(part) or [part])])}
    properties |= beside.get("properties") or {}
    needs = [list(way.get("required") or ()) for way in ways]
    shared = [name for name in properties if needs and all(name in need for need in needs)]
    required = list(dict.fromkeys([*(beside.get("required") or ()), *shared]))
    choices = " | ".join("{" + ", ".join(need or ["…"]) + "}" for need in needs)
    result = {**beside, "type": "object", "properties": properties, "required": required}
    if len(ways) > 1:
        result["description"] = appended(beside.get("description"), f"({choices})")
    return result


def _distinct(schemas: Iterable[Any]) -> list[Any]:
    seen: dict[str, Any] = {}
    for schema in schemas:
        seen.setdefault(json.dumps(schema, sort_keys=True, default=str), schema)
    return list(seen.values())


def told(schema: Mapping[str, Any], words: Iterable[str]) -> str:
    """Words of a schema as text, such as "(format: date, default: 3)"; "" for none."""
    said = [f"{word}: {_short(schema[word])}" for word in _TOLD if word in words and word in schema]
    return f"({', '.join(said)})" if said else ""


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else text[:119] + "…"


def unspeakable(words: Iterable[str]) -> list[str]:
    """Those of the words whose loss nobody is told about in a description."""
    return sorted(word for word in words if word not in _TOLD and word not in _SILENT)


def appended(description: Any, text: str) -> str:
    """A description with a text behind it."""
    return f"{description} {text}".strip() if isinstance(description, str) else text


def wire_key(key: str, allowed: re.Pattern[str]) -> str:
    """A parameter's name as a provider takes it: its own, or a readable, stable form that no other name gets."""
    if allowed.fullmatch(key):
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    readable = _INVALID.sub("_", key).strip("_")[:40]
    return (
        f"{readable}_{digest}"
        if readable[:1].isalpha()
        else f"p_{readable + '_' if readable else ''}{digest}"
    )
