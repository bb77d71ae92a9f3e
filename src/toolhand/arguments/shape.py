"""A JSON Schema made ready for binding: references followed, `allOf` merged, each part once.

The keywords are those that schema generators emit (JSON Schema 2020-12 and OpenAPI's `nullable` and `discriminator`).
`oneOf` is read as `anyOf`: generators write it for unions with a discriminator, where the two mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Predicate = Callable[[Any], bool]

_ANNOTATIONS: Final = frozenset({"description", "title", "default", "examples", "deprecated", "x-unit"})
_ANYTHING: Final[Mapping[str, Any]] = {}  # one object, so that its shape, which holds itself, is made once
_SINGLE: Final = ("anyOf", "oneOf", "pattern", "format", "not", "items", "prefixItems", "multipleOf", "const")


class Shape:
    """What is declared for one value.

    Args:
        raw: the schema with its references followed and its `allOf` merged.

    Attributes:
        name: the property's name, or "".
        types: the JSON types that are allowed; empty means any.
        options: the allowed values of an `enum` or `const`, or None.
        option_names: other names of those values, name → value.
        properties: the members of an object by name.
        required: those that must be sent.
        extra: what further members must look like; None where none are declared, so a policy decides.
        is_open: whether further members are expressly allowed.
        items: what the items of an array look like.
        prefix: what its first items look like.
        branches: the alternatives of a union.
        spellings: aliases and the folded spellings that they make, kept by `object`.
        also: further schemas that must hold.
        never: whether nothing fits.
        fits: whether a value can be passed on as it is. Set by `checks`.
    """

    __slots__ = (
        "also",
        "branches",
        "extra",
        "fits",
        "is_open",
        "items",
        "name",
        "never",
        "option_names",
        "options",
        "prefix",
        "properties",
        "raw",
        "required",
        "spellings",
        "types",
    )

    def __init__(self, raw: Mapping[str, Any], name: str = "") -> None:
        self.raw = raw
        self.name = name
        self.types: tuple[str, ...] = ()
        self.options: tuple[Any, ...] | None = None
        self.option_names: Mapping[str, Any] = {}
        self.properties: dict[str, Shape] = {}
        self.required: tuple[str, ...] = ()
        self.extra: Shape | None = None
        self.items: Shape | None = None
        self.prefix: tuple[Shape, ...] = ()
        self.branches: tuple[Shape, ...] = ()
        self.also: tuple[Shape, ...] = ()
        self.never = False
        self.is_open = False
        self.spellings: tuple[Mapping[str, str], Mapping[str, str]] | None = None
        self.fits: Predicate = bool

    def __repr__(self) -> str:
        return f"Shape({self.name or '$'}: {' | '.join(self.types) or 'any'})"

    @property
    def is_nullable(self) -> bool:
        """Whether null is among what is allowed."""
        return self.fits(None)

    def names_value(self, value: Any) -> bool:
        """Whether the schema itself mentions this value: in an enum, as a name of one, or as the default."""
        if self.options is not None and (value in self.options or value in self.option_names):
            return True
        if "default" in self.raw and self.raw["default"] == value:
            return True
        return any(branch.names_value(value) for branch in self.branches)

    def alternatives(self) -> tuple[Shape, ...]:
        """The branches of a union, those of unions inside it included, or the shape itself."""
        if not self.branches:
            return (self,)
        return tuple(part for branch in self.branches for part in branch.alternatives())


class Compiler:
    """Makes shapes out of one document's schemas. Recursive references end where they began.

    Args:
        root: the document in which `$ref` is looked up.
        finish: sets `fits` on a shape whose parts are known.
    """

    def __init__(self, root: Mapping[str, Any], finish: Callable[[Shape], None]) -> None:
        self._root = root
        self._finish = finish
        self._made: dict[tuple[int, str], tuple[Any, Shape]] = {}

    def shape(self, schema: Any, name: str = "", *, is_root: bool = False) -> Shape:
        """The shape of a schema.

        Args:
            schema: a JSON Schema: an object, or true or false.
            name: the property that it describes.
            is_root: whether it describes a tool's arguments. A function takes no argument that it does not declare, so
                there, other than JSON Schema has it, saying nothing of further members does not allow them.
        """
        key = (id(schema), name)
        found = self._made.get(key)
        if found is not None:
            return found[1]
        raw = self._merged(schema, frozenset())
        shape = Shape(raw, name)
        self._made[key] = (schema, shape)  # before its parts: one of them may be itself
        self._fill(shape, raw, is_root)
        self._finish(shape)
        return shape

    def _fill(self, shape: Shape, raw: Mapping[str, Any], is_root: bool) -> None:
        shape.never = bool(raw.get("x-never"))
        shape.types = _types(raw)
        shape.also = tuple(self.shape(part, shape.name) for part in raw.get("x-also", ()))
        shape.options, shape.option_names = _options(raw)
        branches = raw.get("anyOf") or raw.get("oneOf")
        if shape.options is None and isinstance(branches, Sequence) and not isinstance(branches, str):
            shape.branches = tuple(self.shape(branch, shape.name) for branch in branches)
            if raw.get("nullable") is True and not any("null" in branch.types for branch in shape.branches):
                shape.branches += (self.shape({"type": "null"}, shape.name),)
        properties = raw.get("properties")
        if isinstance(properties, Mapping):
            shape.properties = {str(key): self.shape(part, str(key)) for key, part in properties.items()}
        shape.required = tuple(key for key in raw.get("required") or () if isinstance(key, str))
        extra = raw.get("additionalProperties")
        shape.is_open = extra is not None and extra is not False
        if extra is None and not (is_root and "properties" in raw and not raw.get("patternProperties")):
            extra = True
        if extra is not None and extra is not False:
            shape.extra = self.shape(extra if isinstance(extra, Mapping) and extra else _ANYTHING)
        items = raw.get("items")
        if isinstance(items, Mapping | bool):
            shape.items = self.shape(items, shape.name)
        prefix = raw.get("prefixItems") or (
            items if isinstance(items, Sequence) and not isinstance(items, str) else ()
        )
        shape.prefix = tuple(self.shape(part, shape.name) for part in prefix)

    def _merged(self, schema: Any, seen: frozenset[str]) -> Mapping[str, Any]:
        if schema is False:
            return {"x-never": True}
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" not in schema and "allOf" not in schema:
            return schema
        merged: dict[str, Any] = {}
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            merged = dict(self._merged(self._resolve(reference), seen | {reference}))
            merged.pop("$defs", None)
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, Sequence) else ():
            _add(merged, self._merged(part, seen))
        _add(merged, {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "$defs")})
        return merged

    def _resolve(self, reference: str) -> Any:
        """What a local reference points at; an empty schema where there is nothing."""
        if not reference.startswith("#"):
            return {}
        found: Any = self._root
        for step in reference[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return {}
        return found


def _add(merged: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Narrows `merged` by a further schema that must hold too."""
    also: dict[str, Any] = {}
    for key, value in part.items():
        old = merged.get(key)
        if key not in merged or key in _ANNOTATIONS or old == value:
            merged[key] = value
        elif key == "properties" and isinstance(old, Mapping) and isinstance(value, Mapping):
            shared = {name: {"allOf": [old[name], value[name]]} for name in value if name in old}
            merged[key] = {**old, **value, **shared}
        elif key in ("required", "x-also"):
            merged[key] = [*(old or ()), *(entry for entry in value or () if entry not in (old or ()))]
        elif key == "enum":
            merged[key] = [option for option in old or () if option in value]
        elif key == "type":
            merged[key] = _both_types(old, value)
            if not merged[key]:
                merged["x-never"] = True
        elif key.startswith(("minimum", "minL", "minI", "minP", "exclusiveMin")):
            merged[key] = max(old, value)
        elif key.startswith(("maximum", "maxL", "maxI", "maxP", "exclusiveMax")):
            merged[key] = min(old, value)
        elif key == "additionalProperties":
            merged[key] = False if old is False or value is False else value
        elif key in _SINGLE:
            also[key] = value
    if also:
        merged["x-also"] = [*merged.get("x-also", ()), also]


def _both_types(one: Any, other: Any) -> Any:
    first, second = _types({"type": one}), _types({"type": other})
    if not first or not second:
        return other if not first else one
    narrowed = [kind for kind in first if kind in second or (kind == "integer" and "number" in second)]
    return narrowed + [
        kind for kind in second if kind == "integer" and "number" in first and kind not in narrowed
    ]


def _types(raw: Mapping[str, Any]) -> tuple[str, ...]:
    declared = raw.get("type")
    types: tuple[str, ...] = ()
    if isinstance(declared, str):
        types = (declared.lower(),)
    elif isinstance(declared, Sequence):
        types = tuple(str(kind).lower() for kind in declared)
    if not types and "anyOf" not in raw and "oneOf" not in raw and "enum" not in raw and "const" not in raw:
        if "properties" in raw:
            types = ("object",)
        elif "items" in raw or "prefixItems" in raw:
            types = ("array",)
    if types and raw.get("nullable") is True and "null" not in types:
        types = (*types, "null")
    return types


def _options(raw: Mapping[str, Any]) -> tuple[tuple[Any, ...] | None, Mapping[str, Any]]:
    """The fixed values of a schema and their other names, also where they are written as a union of constants."""
    names = raw.get("x-enum-names")
    known = dict(names) if isinstance(names, Mapping) else {}
    aliases = raw.get("x-enum-aliases")
    known |= dict(aliases) if isinstance(aliases, Mapping) else {}
    varnames = raw.get("x-enum-varnames")
    if "const" in raw:
        return (raw["const"],), known
    options = raw.get("enum")
    if isinstance(options, Sequence) and not isinstance(options, str):
        if isinstance(varnames, Sequence) and len(varnames) == len(options):
            known |= {str(name): option for name, option in zip(varnames, options, strict=True)}
        allowed = tuple(options)
        if raw.get("nullable") is True and None not in allowed:
            allowed = (*allowed, None)
        return allowed, known
    branches = raw.get("oneOf") or raw.get("anyOf")
    if (
        isinstance(branches, Sequence)
        and branches
        and all(isinstance(branch, Mapping) and "const" in branch for branch in branches)
    ):
        titles = {str(branch["title"]): branch["const"] for branch in branches if "title" in branch}
        return tuple(branch["const"] for branch in branches), titles | known
    return None, known
