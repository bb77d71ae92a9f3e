"""How an operation looks to a model: one flat object of parameters, and the place of each in the request."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.openapi.bodies import FORM, MULTIPART, Body, body_of
from toolhand.openapi.document import Document
from toolhand.openapi.operations import Operation
from toolhand.openapi.schemas import LONGEST_DESCRIPTION, Schemas, TooManyError, cut, variants
from toolhand.openapi.security import Security
from toolhand.openapi.writing import DEFAULT_STYLES

_LOG: Final = logging.getLogger("toolhand.openapi")

Place = Literal["path", "query", "header", "cookie", "body", "field"]
"""Where a value goes; "field" is a member of the body, "body" the whole of it."""

MOST_CHARACTERS: Final = 8000
"""Of parameters with their references replaced, before they are tried with references: a model reads them at each turn."""

FAR_TOO_MANY: Final = 30_000
"""Of parameters before the deepest levels are left undescribed: some 8,000 tokens for one tool."""

_BRACED: Final = re.compile(r"\{([^{}]+)\}")
_PLACES: Final = ("path", "query", "header", "cookie")


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One parameter of the tool and its place in the request.

    Args:
        name: as the model sends it.
        wire: as the API calls it.
        place: where it goes.
        style: how a list or an object is written.
        explode: whether each entry stands for itself.
        reserved: whether reserved characters stay as they are.
        is_json: whether its value is written as JSON.
    """

    name: str
    wire: str
    place: Place
    style: str = "form"
    explode: bool = False
    reserved: bool = False
    is_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """An operation's parameters.

    Args:
        parameters: their JSON Schema.
        places: where each goes.
        body: what is sent as the body, or None.
    """

    parameters: dict[str, Any]
    places: tuple[Input, ...]
    body: Body | None


def inputs_of(document: Document, operation: Operation, security: Security, fixed: Collection[str]) -> Inputs:
    """Lays an operation out for a model.

    Args:
        document: where references lead.
        operation: the operation.
        security: whose places the model does not see.
        fixed: names of parameters that the program fills in, as the API calls them.

    Raises:
        SettingsError: when its schemas are nested so deep that they cannot be written out in any way.
    """
    found: Inputs | None = None
    deepest: int | None = None
    for schemas in variants(document):
        if found is not None and _size(found) <= (
            MOST_CHARACTERS if schemas.deepest is None else FAR_TOO_MANY
        ):
            break
        try:
            other = _Layout(document, schemas, security, fixed).of(operation)
        except (TooManyError, RecursionError):
            continue
        if found is None or _size(other) < _size(found):
            found, deepest = other, schemas.deepest
    if found is None:  # schemas that refer on and on
        raise SettingsError(
            say(
                f"the parameters of '{operation.place}' are nested too deep to be described",
                f"“{operation.place}”的参数嵌套过深，无法描述",
            )
        )
    if deepest is not None:
        _LOG.warning(
            "the parameters of '%s' are described down to level %d only: whole they are too long for a model",
            operation.place,
            deepest,
        )
    return found


def _size(inputs: Inputs) -> int:
    return len(json.dumps(inputs.parameters, ensure_ascii=False, default=str))


class _Layout:
    def __init__(
        self, document: Document, schemas: Schemas, security: Security, fixed: Collection[str]
    ) -> None:
        self.document, self.schemas, self.security, self.fixed = document, schemas, security, fixed
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.places: list[Input] = []

    def of(self, operation: Operation) -> Inputs:
        for place in _PLACES:
            for parameter in operation.parameters:
                if parameter.get("in") == place and not self.security.hides(parameter):
                    self._parameter(parameter, place)
        for wire in _BRACED.findall(operation.path):
            if not any(found.place == "path" and found.wire == wire for found in self.places):
                self._parameter(
                    {"name": wire, "schema": {"type": "string"}}, "path"
                )  # used, but not declared
        body = body_of(operation.body)
        if body is not None:
            self._body(body)
            body = self._with_resolved_schema(body)
        parameters = {"type": "object", "properties": self.properties, "required": self.required}
        if self.schemas.definitions:
            parameters["$defs"] = self.schemas.definitions
        return Inputs(parameters=parameters, places=tuple(self.places), body=body)

    def _parameter(self, parameter: Mapping[str, Any], place: Any) -> None:
        wire = str(parameter["name"])
        content = parameter.get("content")
        is_json = isinstance(content, Mapping) and bool(content)
        schema = next(iter(content.values())).get("schema", {}) if is_json else parameter.get("schema", {})  # type: ignore[union-attr]
        style = str(parameter.get("style") or DEFAULT_STYLES[place])
        found = Input(
            name=self._free_name(wire, place),
            wire=wire,
            place=place,
            style=style,
            explode=parameter.get("explode", style in ("form", "deepObject")) is True,
            reserved=parameter.get("allowReserved") is True,
            is_json=is_json,
        )
        is_required = parameter.get("required") is True or place == "path"
        self._add(found, self._described(schema, parameter), is_required=is_required)

    def _described(self, schema: Any, parameter: Mapping[str, Any]) -> dict[str, Any]:
        plain = self.schemas.plain(schema)
        description = cut(
            str(parameter.get("description") or plain.get("description") or ""), LONGEST_DESCRIPTION
        )
        found = {**plain, "description": description} if description else plain
        if "example" in parameter and not {"enum", "examples"} & found.keys():
            found = {**found, "examples": [parameter["example"]]}
        return found

    def _add(self, found: Input, schema: dict[str, Any], *, is_required: bool) -> None:
        self.places.append(found)
        if found.wire in self.fixed:
            return  # the program fills it in
        self.properties[found.name] = schema
        if is_required:
            self.required.append(found.name)

    def _free_name(self, wire: str, place: str) -> str:
        taken = {found.name for found in self.places}
        name = wire if wire not in taken else f"{place}_{wire}"
        while name in taken:
            name += "_"
        return name

    def _with_resolved_schema(self, body: Body) -> Body:
        """The body with its fields' own schemas at hand, as forms need them for writing."""
        schema = self._resolved(body.schema)
        properties = schema.get("properties")
        if body.media_type in (FORM, MULTIPART) and isinstance(properties, Mapping):
            schema = {**schema, "properties": {k: self._resolved(v) for k, v in properties.items()}}
        return replace(body, schema=schema)

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        try:
            return self.document.resolved(schema)
        except LookupError:
            return {}

    def _body(self, body: Body) -> None:
        schema = self.schemas.plain(body.schema) if body.is_structured else {"type": "string"}
        members = self._members(schema, body)
        if members is None:
            description = (
                body.description or str(schema.get("description") or "") or f"the body ({body.media_type})"
            )
            found = Input(name=self._free_name("body", "request"), wire="body", place="body")
            self._add(found, {**schema, "description": description}, is_required=body.is_required)
            return
        properties, required = members
        for wire, member in properties.items():
            found = Input(name=self._free_name(wire, "body"), wire=wire, place="field")
            self._add(found, member, is_required=wire in required)

    def _members(
        self, schema: Mapping[str, Any], body: Body
    ) -> tuple[Mapping[str, Any], Collection[str]] | None:
        """The body's members where they can stand beside the other parameters; None where the body stays one value."""
        reference = schema.get("$ref")
        if isinstance(reference, str):
            schema = self.schemas.definitions.get(reference.rpartition("/")[2], {})
        merged = _merged(schema)
        if merged is None or (not body.is_required and merged[1]):
            return None  # an optional body with required members: all of it, or nothing
        return merged


_JUST_AN_OBJECT: Final = frozenset(
    {"type", "properties", "required", "description", "allOf", "examples", "default"}
)


def _merged(schema: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]] | None:
    """The members of an object, those of `allOf` included; None where it is more than its members."""
    if schema.get("additionalProperties") not in (None, False) or schema.keys() - _JUST_AN_OBJECT - {
        "additionalProperties"
    }:
        return None
    if schema.get("type", "object") != "object":
        return None
    properties: dict[str, Any] = {}
    required: list[str] = []
    for part in schema.get("allOf") or ():
        merged = _merged(part) if isinstance(part, Mapping) else None
        if merged is None:
            return None
        properties |= merged[0]
        required += merged[1]
    own = schema.get("properties")
    properties |= own if isinstance(own, Mapping) else {}
    required += [name for name in schema.get("required") or () if name in properties]
    return (properties, required) if properties else None
