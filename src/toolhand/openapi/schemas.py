"""From OpenAPI's schemas to plain JSON Schema: references replaced where that stays small, else kept as `$defs`.

OpenAPI 3.0 has words of its own (`nullable`, `exclusiveMinimum: true`); 3.1 is JSON Schema 2020-12.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolhand.openapi.document import Document, steps_of

_LOG: Final = logging.getLogger("toolhand.openapi")

MOST_INLINED: Final = 400
"""How many schemas may stand in one operation's parameters before references are kept."""

MOST_SCHEMAS: Final = 4000
"""How many there may be in all; what lies beyond is left open."""

LONGEST_DESCRIPTION: Final = 300
"""Of one parameter or member, in characters."""

_DROPPED: Final = frozenset({
    "xml", "externalDocs", "discriminator", "title", "deprecated", "nullable", "readOnly", "writeOnly", "example", "$id",
    "$schema", "$anchor", "$comment", "$defs", "definitions",
})  # fmt: skip
"""What a model need not read, and what is said in other words."""

_SCHEMAS: Final = frozenset({
    "items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else", "unevaluatedProperties",
    "unevaluatedItems",
})  # fmt: skip
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_STEPS: Final = frozenset({"properties", "items", "additionalProperties", "patternProperties", "prefixItems"})
"""Where a value's own level ends and that of its parts begins."""

_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})


class TooManyError(Exception):
    """More schemas than may be written out."""


class Schemas:
    """The schemas of one operation's parameters, which share their `$defs`.

    Args:
        document: where references lead.
        keep_references: whether they are kept rather than replaced.
        deepest: the level below which objects and unions stand open; None for all levels.
    """

    def __init__(
        self, document: Document, *, keep_references: bool = False, deepest: int | None = None
    ) -> None:
        self.document, self.deepest = document, deepest
        self.definitions: dict[str, Any] = {}
        self._keep = keep_references
        self._names: dict[str, str] = {}
        self._count = 0

    def plain(self, schema: Any) -> dict[str, Any]:
        """The schema in JSON Schema's own words.

        Raises:
            TooManyError: when references are replaced and it grows too large.
        """
        return self._node(schema, (), 0)

    def _node(self, node: Any, above: tuple[str, ...], level: int) -> dict[str, Any]:
        self._count += 1
        if not self._keep and self._count > MOST_INLINED:
            raise TooManyError
        if self._count > MOST_SCHEMAS or not isinstance(node, Mapping):
            return {"not": {}} if node is False else {}
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._reference(reference, node, above, level)
        is_open = self.deepest is not None and level >= self.deepest
        found: dict[str, Any] = {}
        for key, value in node.items():
            if key in _DROPPED or not isinstance(key, str) or key.startswith("x-"):
                continue
            if is_open and (key in _LISTS or key in _MAPS or key in _SCHEMAS or key == "required"):
                continue
            found[key] = self._member(key, value, above, level + (key in _STEPS))
        if isinstance(found.get("description"), str):
            found["description"] = cut(found["description"], LONGEST_DESCRIPTION)
        self._without_read_only(node, found)
        _in_new_words(node, found)
        return found

    def _member(self, key: str, value: Any, above: tuple[str, ...], level: int) -> Any:
        if key in _MAPS and isinstance(value, Mapping):
            return {str(name): self._node(schema, above, level) for name, schema in value.items()}
        if key in _LISTS and isinstance(value, list):
            return [self._node(schema, above, level) for schema in value]
        if key in _SCHEMAS and isinstance(value, Mapping):
            return self._node(value, above, level)
        return value

    def _reference(
        self, reference: str, node: Mapping[str, Any], above: tuple[str, ...], level: int
    ) -> dict[str, Any]:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        try:
            target = self.document.at(reference)
        except LookupError:
            _LOG.warning(
                "the schema '%s' is not in the document: its values are taken as they come", reference
            )
            return self._node(beside, above, level) if beside else {}
        if self._keep or reference in above:
            name = self._definition(reference, target)
            return {"$ref": f"#/$defs/{name}", **(self._node(beside, above, level) if beside else {})}
        found = self._node(target, (*above, reference), level)
        return {**found, **self._node(beside, above, level)} if beside else found

    def _definition(self, reference: str, target: Any) -> str:
        known = self._names.get(reference)
        if known is not None:
            return known
        wanted = name = (steps_of(reference) or ["schema"])[-1]
        number = 2
        while name in self.definitions:
            name, number = f"{wanted}_{number}", number + 1
        self._names[reference] = name
        self.definitions[name] = {}  # claimed before the descent, which comes by here again
        self.definitions[name] = self._node(target, (reference,), 0)
        return name

    def _without_read_only(self, node: Mapping[str, Any], found: dict[str, Any]) -> None:
        """Leaves out what only a server says: a model that could send it would only be told that it may not."""
        properties = node.get("properties")
        if not isinstance(properties, Mapping) or "properties" not in found:
            return
        hidden = {str(name) for name, schema in properties.items() if self._is_read_only(schema)}
        if hidden:
            found["properties"] = {k: v for k, v in found["properties"].items() if k not in hidden}
        required = found.get("required")
        if hidden and isinstance(required, list):
            found["required"] = [name for name in required if name not in hidden]

    def _is_read_only(self, schema: Any) -> bool:
        try:
            resolved = self.document.resolved(schema)
        except LookupError:
            return False
        return resolved.get("readOnly") is True or (
            isinstance(schema, Mapping) and schema.get("readOnly") is True
        )


def _in_new_words(node: Mapping[str, Any], found: dict[str, Any]) -> None:
    """What 3.0 says differently, said as JSON Schema 2020-12 does."""
    for word, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(found.get(word), bool) and found.pop(word) and bound in found:
            found[word] = found.pop(bound)
    if "example" in node and "examples" not in found and not {"enum", "properties", "items"} & found.keys():
        found["examples"] = [node["example"]]
    if isinstance(found.get("examples"), Mapping):  # a parameter's named examples, written into its schema
        del found["examples"]
    if node.get("nullable") is True:
        _with_null(found)


def _with_null(found: dict[str, Any]) -> None:
    if isinstance(found.get("enum"), list) and None not in found["enum"]:
        found["enum"] = [*found["enum"], None]
    if isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    elif any(key in found for key in ("allOf", "anyOf", "oneOf", "$ref", "properties")):
        inner, description = dict(found), found.get("description")
        found.clear()
        found["anyOf"] = [inner, {"type": "null"}]
        if description:
            found["description"] = inner.pop("description")


def variants(document: Document) -> Iterator[Schemas]:
    """Ways to write an operation's schemas, the most complete first."""
    yield Schemas(document)
    yield Schemas(document, keep_references=True)
    for deepest in (6, 4, 3, 2):
        yield Schemas(document, deepest=deepest)


def cut(text: str, most: int) -> str:
    """A description of at most so many characters, whole sentences where that leaves half of it."""
    text = text.strip()
    if len(text) <= most:
        return text
    end = max(text.rfind(mark, 0, most) for mark in (". ", ".\n", "。", "\n\n"))
    return text[: end + 1].rstrip() if end > most // 2 else text[: most - 1].rstrip() + "…"
