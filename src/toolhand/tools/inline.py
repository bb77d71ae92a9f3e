"""Replaces references in a JSON Schema by what they name, so that weak models and simple servers can read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# Words that only repeat what the names say, or that no provider reads.
_NOISE = ("title",)

MOST_NODES: Final = 2_000
"""Schemas that are written out before references are kept: definitions that name one another twice stand for millions."""


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with each `$ref` replaced, and titles left out. What refers to itself, or grows too large, keeps its `$defs`."""
    definitions: dict[str, Any] = {}
    _collect(schema, definitions)
    inlining = _Inlining(definitions)
    result: dict[str, Any] = inlining.node(schema, (), is_schema=True)
    result.pop("$defs", None)
    if inlining.kept:
        result["$defs"] = inlining.kept
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


class _Inlining:
    """One schema's definitions, and those of them that are kept.

    Args:
        definitions: by name.
    """

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self.kept: dict[str, Any] = {}
        self._definitions = definitions
        self._count = 0

    def node(self, node: Any, above: tuple[str, ...], *, is_schema: bool) -> Any:
        """A part of the schema, written out."""
        if isinstance(node, list):
            return [self.node(item, above, is_schema=is_schema) for item in node]
        if not isinstance(node, Mapping):
            return node
        self._count += 1
        reference = node.get("$ref")
        if is_schema and isinstance(reference, str):
            return self._referred(reference, node, above)
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
                is_inner = not (is_schema and key in ("properties", "patternProperties"))
                result[key] = self.node(value, above, is_schema=is_inner)
        return result

    def _referred(self, reference: str, node: Mapping[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
        name = reference.rsplit("/", 1)[-1]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        if name not in self._definitions:
            return dict(node)
        if name in above or self._count > MOST_NODES:
            if name not in self.kept:
                self.kept[name] = {}  # claimed before the descent, which comes by here again
                self.kept[name] = self.node(self._definitions[name], (name,), is_schema=True)
            return {"$ref": f"#/$defs/{name}", **beside}
        found = self.node(self._definitions[name], (*above, name), is_schema=True)
        return {**found, **self.node(beside, above, is_schema=True)}
