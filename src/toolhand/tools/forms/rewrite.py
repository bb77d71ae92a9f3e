"""Brings a tool's parameters into a form, and keeps what it changed so that a call can be brought back.

Nothing is lost in silence: what a provider has no word for goes into the description, and everything else into the notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolhand.tools.forms import Form
from toolhand.tools.forms.changes import (
    AsText,
    Branches,
    Change,
    Items,
    Later,
    Member,
    Members,
    Options,
    option_text,
)
from toolhand.tools.forms.plain import (
    Schema,
    appended,
    branches_of,
    flattened,
    merged,
    takes_null,
    told,
    types_of,
    unspeakable,
    wire_key,
    with_null,
    without_null,
)

LEVELS: Final = 3
"""How often a definition that refers to itself is written out."""

MOST_NODES: Final = 3_000
"""How many schemas a tool's parameters may grow to by writing references out."""

Rewritten = tuple[Schema, Change | None]


class NotStrictError(Exception):
    """The parameters have no strict form; the message says where and why."""


class Rewriter:
    """Rewrites the parameters of one tool.

    Args:
        form: what the provider takes.
        parameters: the tool's own.
    """

    def __init__(self, form: Form, parameters: Mapping[str, Any]) -> None:
        self.form = form
        self.notes: list[str] = []
        self._root = parameters
        self._has_changed = False
        self._definitions: dict[str, Rewritten] = {}
        self._left = MOST_NODES
        self._is_closed = form.keywords is not None and not form.strict

    def rewritten(self) -> Rewritten:
        """The parameters in the form, and what changes between the two; None where nothing does."""
        root = self._resolved(self._root)
        schema: Schema = dict(root) if isinstance(root, Mapping) else {}
        if "allOf" in schema and not self.form.top_unions:
            schema = self._merged(schema, "$")
        if branches_of(schema) and not self.form.top_unions:
            schema = flattened(schema, self._resolved)
            self.notes.append(
                "$: a union of the whole parameters is sent as one object with the members of all"
            )
        schema.setdefault("type", "object")
        schema.setdefault("properties", {})
        result, change = self._object(schema, "$", (), is_root=True)
        found = {name: made for name, (made, _) in self._definitions.items()}
        if self.form.keywords is None:  # words that are handed on as they are may refer to the others
            found = {**result.get("$defs", {}), **found}
        result.pop("$defs", None)
        if found:
            result["$defs"] = found
        return result, change if self._has_changed else None

    # ------------------------------------------------------------------ references

    def _resolved(self, schema: Any) -> Any:
        """What a schema refers to, however often; the schema itself where that cannot be found."""
        for _ in range(16):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                return schema
            target = self._target(schema["$ref"])
            if target is None:
                return schema
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**target, **beside} if isinstance(target, Mapping) and beside else target
        return {}

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return None
        node: Any = self._root
        for step in reference[1:].strip("/").split("/") if len(reference) > 1 else ():
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                node = node[int(key)]
            elif isinstance(node, Mapping) and key in node:
                node = node[key]
            else:
                return None
        return node

    def _reference(self, schema: Schema, path: str, above: tuple[str, ...]) -> Rewritten:
        reference = schema["$ref"]
        target = self._target(reference)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if target is None:
            if self.form.strict:
                raise NotStrictError(f"{path} refers to '{reference}', which is not there")
            if self.form.refs:
                return schema, None
            return self._as_text(schema, path, f"refers to '{reference}', which is not there")
        folder, _, name = reference.rpartition("/")
        if self.form.refs and folder in ("#/$defs", "#/definitions"):
            if name not in self._definitions:
                self._definitions[name] = (
                    {},
                    None,
                )  # claimed before the descent, which may come by here again
                self._definitions[name] = self._node(target, f"{path}", ())
            spoken = {} if self.form.strict else beside
            return {"$ref": f"#/$defs/{name}", **spoken}, Later(lambda: self._definitions[name][1])
        times = above.count(reference)
        if times >= LEVELS or self._left <= 0:
            how = (
                f"recurs: it is written out {LEVELS} levels deep"
                if times >= LEVELS
                else "refers to very much"
            )
            return self._as_text(beside, path, f"{how}, what is deeper is sent as JSON text")
        inner = {**target, **beside} if isinstance(target, Mapping) else target
        return self._node(inner, path, (*above, reference))

    # ------------------------------------------------------------------ one schema

    def _node(self, schema: Any, path: str, above: tuple[str, ...]) -> Rewritten:
        self._left -= 1
        schema = dict(schema) if isinstance(schema, Mapping) else {}
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema, path, above)
        is_narrow = self.form.keywords is not None
        if is_narrow and "allOf" in schema:
            schema = self._merged(schema, path)
            if isinstance(schema.get("$ref"), str):
                return self._reference(schema, path, above)
        is_nullable = False
        if self._is_closed:
            schema, is_nullable = without_null(schema)
            if isinstance(schema.get("$ref"), str):
                made, change = self._reference(schema, path, above)
                return self._with_nullable(made, is_nullable), change
        if is_narrow and "const" in schema and "const" not in (self.form.keywords or ()):
            schema["enum"] = [schema.pop("const")]
        made, change = self._by_kind(schema, path, above)
        return self._with_nullable(made, is_nullable), change

    def _merged(self, schema: Schema, path: str) -> Schema:
        parts = schema["allOf"]
        if len(parts) == 1 and isinstance(parts[0], Mapping) and "$ref" in parts[0]:
            return {**parts[0], **{key: value for key, value in schema.items() if key != "allOf"}}
        result, conflicts = merged(schema, self._resolved)
        if conflicts:
            self.notes.append(
                f"{path}: the parts of allOf do not agree on {', '.join(sorted(set(conflicts)))}"
            )
        return result

    def _with_nullable(self, schema: Schema, is_nullable: bool) -> Schema:
        if not is_nullable or not self.form.nullable:
            return schema
        if "anyOf" in schema:
            return {**schema, "anyOf": [{**branch, "nullable": True} for branch in schema["anyOf"]]}
        return {**schema, "nullable": True}

    def _by_kind(self, schema: Schema, path: str, above: tuple[str, ...]) -> Rewritten:
        kinds = types_of(schema)
        if branches_of(schema):
            return self._union(schema, path, above)
        if "enum" in schema and isinstance(schema["enum"], list | tuple):
            return self._enum(schema, path)
        if self._is_closed and len(kinds) > 1:
            return self._union(self._by_type(schema, kinds), path, above)
        if not kinds and "const" not in schema and schema.get("type") != "null" and not self.form.untyped:
            if self.form.strict:
                raise NotStrictError(f"{path} may be of any type")
            return self._as_text(schema, path, "may be of any type: it is sent as JSON text", takes_text=True)
        if kinds == ("object",):
            return self._object(schema, path, above)
        if kinds == ("array",):
            return self._array(schema, path, above)
        return self._kept(schema, path), None

    def _by_type(self, schema: Schema, kinds: tuple[str, ...]) -> Schema:
        beside = {key: value for key, value in schema.items() if key not in ("type", "description")}
        described = {key: value for key, value in schema.items() if key == "description"}
        return {"anyOf": [{"type": kind, **beside} for kind in kinds], **described}

    def _as_text(self, schema: Schema, path: str, why: str, *, takes_text: bool = False) -> Rewritten:
        self._has_changed = True
        self.notes.append(f"{path} {why}")
        description = appended(schema.get("description"), "(JSON)")
        return {"type": "string", "description": description}, AsText(takes_text)

    def _kept(self, schema: Schema, path: str) -> Schema:
        """The words that the provider takes; the meaning of the others goes into the description."""
        words, formats = self.form.keywords, self.form.formats
        if words is None:
            return schema
        left_out = {word for word in schema if word not in words}
        kinds = types_of(schema)
        if (
            formats is not None
            and "format" in schema
            and schema["format"] not in formats.get("".join(kinds[:1]), ())
        ):
            left_out.add("format")
        if left_out - {"properties", "required"} and (said := told(schema, left_out)):
            self.notes.append(f"{path}: {said[1:-1]} is told in the description")
            schema = {**schema, "description": appended(schema.get("description"), said)}
        lost = unspeakable(left_out - {"anyOf", "oneOf", "allOf", "prefixItems", "patternProperties"})
        if lost and self.form.strict:
            raise NotStrictError(f"{path} uses {', '.join(lost)}")
        self.notes += [f"{path}: '{word}' is left out" for word in lost]
        return {word: value for word, value in schema.items() if word not in left_out}

    # ------------------------------------------------------------------ kinds

    def _object(
        self, schema: Schema, path: str, above: tuple[str, ...], *, is_root: bool = False
    ) -> Rewritten:
        properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        is_open = bool(schema.get("patternProperties")) or (
            extra not in (None, False) if properties or is_root else extra is not False
        )
        if is_open and not self.form.open_objects:
            if self.form.strict:
                raise NotStrictError(f"{path} may have members that are not declared")
            if not properties and not is_root:
                return self._as_text(
                    schema, path, "has members that are not declared: it is sent as JSON text"
                )
            self.notes.append(f"{path}: members that are not declared cannot be sent")
        made: Schema = {}
        members: list[Member] = []
        required = [name for name in schema.get("required") or () if name in properties]
        for own, part in properties.items():
            if part is False:
                self.notes.append(f"{path}.{own}: takes no value, so it is left out")
                continue
            member, made_part = self._member(own, part, path, above, is_required=own in required)
            made[member.wire] = made_part
            members.append(member)
        wires = {member.own: member.wire for member in members}
        result = {**self._kept(schema, path), "type": "object"}
        if made or is_root or "properties" in schema:
            result["properties"] = made
        if "required" in schema or self.form.keywords is not None:
            result["required"] = [wires[name] for name in required if name in wires]
        if self.form.strict:
            result |= {"properties": made, "required": list(made), "additionalProperties": False}
        elif isinstance(extra, Mapping) and extra and self.form.keywords is None:
            result["additionalProperties"] = self._node(extra, f"{path}.*", above)[0]
        changes = any(not member.is_plain for member in members)
        return result, Members(members) if changes else None

    def _member(
        self, own: str, part: Any, path: str, above: tuple[str, ...], *, is_required: bool
    ) -> tuple[Member, Schema]:
        wire = wire_key(own, self.form.keys)
        made, change = self._node(part, f"{path}.{own}", above)
        drops_null = False
        if wire != own:
            made = {**made, "description": appended(own, str(made.get("description", "")))}
        if self.form.strict and not is_required:
            drops_null = not takes_null(part, self._resolved)
            made = with_null(made)
        self._has_changed = self._has_changed or wire != own or drops_null
        return Member(own, wire, change, drops_null), made

    def _array(self, schema: Schema, path: str, above: tuple[str, ...]) -> Rewritten:
        prefix, items = list(schema.get("prefixItems") or ()), schema.get("items")
        if isinstance(items, list | tuple):
            prefix, items = list(items), schema.get("additionalItems")
        if prefix and (self.form.keywords is not None or self.form.items):
            schema = {key: value for key, value in schema.items() if key != "prefixItems"}
            if not isinstance(items, Mapping):
                schema.setdefault("minItems", len(prefix))
                schema.setdefault("maxItems", len(prefix))
            rest = [items] if isinstance(items, Mapping) else []
            distinct = [part for number, part in enumerate([*prefix, *rest]) if part not in prefix[:number]]
            items = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
            self.notes.append(f"{path}: which item is of which kind cannot be said")
        result = self._kept(schema, path)
        change: Change | None = None
        if isinstance(items, Mapping) or self.form.items or not self.form.untyped:
            made, change = self._node(items, f"{path}[]", above)
            result["items"] = made
        return {**result, "type": "array"}, None if change is None else Items(change)

    def _enum(self, schema: Schema, path: str) -> Rewritten:
        options, form = list(schema["enum"]), self.form
        if not form.empty_options and "" in options:
            options = [option for option in options if option != ""]
            self.notes.append(f'{path}: the option "" cannot be sent')
        change: Change | None = None
        if form.enums is not None:
            if not all(isinstance(option, str) for option in options):
                change, self._has_changed = Options(options), True
                self.notes.append(f"{path}: its options are sent as strings")
                options = list(dict.fromkeys(option_text(option) for option in options))
            schema = {**schema, "type": "string"}
        elif form.keywords is not None and not types_of(schema):
            schema = {**schema, "type": _type_of(options)}
        schema = {**schema, "enum": options}
        if not options:
            del schema["enum"]
        return self._kept(schema, path), change

    def _union(self, schema: Schema, path: str, above: tuple[str, ...]) -> Rewritten:
        branches = branches_of(schema)
        if not self.form.unions:
            return self._widened(schema, branches, path, above)
        rewritten = [self._node(branch, path, above) for branch in branches]
        made = [branch for branch, _ in rewritten]
        changes = [change for _, change in rewritten if change is not None]
        change = Branches(changes) if changes else None
        word = "anyOf" if self.form.keywords is not None or "anyOf" in schema else "oneOf"
        beside = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        if not self.form.lone_unions:
            return {**self._kept(beside, path), word: made}, change
        if description := beside.get("description"):
            made = [{**branch, "description": branch.get("description") or description} for branch in made]
        return {word: made}, change

    def _widened(self, schema: Schema, branches: list[Any], path: str, above: tuple[str, ...]) -> Rewritten:
        """A union for a provider that takes none: one schema that all the branches' values fit."""
        found = [self._resolved(branch) for branch in branches]
        kinds = {kind for part in found if isinstance(part, Mapping) for kind in types_of(part)}
        beside = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        if kinds == {"object"}:
            return self._node(flattened(schema, self._resolved), path, above)
        if kinds and kinds <= {"integer", "number"}:
            return self._node({**beside, "type": "number"}, path, above)
        if len(kinds) == 1:
            return self._node({**beside, "type": kinds.pop()}, path, above)
        names = " | ".join(sorted(kinds)) or "any"
        return self._as_text(beside, path, f"may be {names}: it is sent as JSON text", takes_text=True)


def _type_of(options: list[Any]) -> Any:
    names = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "NoneType": "null"}
    kinds = list(dict.fromkeys(names.get(type(option).__name__, "string") for option in options))
    return kinds[0] if len(kinds) == 1 else kinds or "string"
