"""One tool as a provider takes it, made once per tool and form."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from toolhand.core.tools import Tool
from toolhand.tools.forms import Form, form
from toolhand.tools.forms.changes import Change
from toolhand.tools.forms.rewrite import NotStrictError, Rewriter
from toolhand.tools.names import wire_name
from toolhand.tools.visible import visible

_MOST_KEPT: Final = 4096
_MOST_LEVELS: Final = 10
_MOST_PROPERTIES: Final = 5000
_MOST_OPTIONS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A tool in a provider's form.

    Args:
        tool: the tool.
        name: its name there.
        schema: what is sent; not to be changed.
        is_strict: whether the provider holds the model to it.
        notes: what could not be said, or only in words; each names the place.
        change: between the tool's arguments and the provider's; None where they are the same.
    """

    tool: Tool
    name: str
    schema: Mapping[str, Any]
    is_strict: bool = False
    notes: tuple[str, ...] = ()
    change: Change | None = None

    def own_arguments(self, sent: Any) -> Any:
        """Arguments as the provider sent them, as the tool means them.

        Args:
            sent: JSON text or an object. A text that is not a JSON object is handed on as it is: reading it is not done here.
        """
        if self.change is None:
            return sent
        value = sent
        if isinstance(sent, str):
            try:
                value = json.loads(sent)
            except ValueError:
                return sent
        return self.change.undo(value) if isinstance(value, Mapping) else sent

    def wire_arguments(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The tool's own arguments, as the provider writes them."""
        if self.change is None:
            return arguments
        changed: Mapping[str, Any] = self.change.redo(arguments)
        return changed


# By identity, with the tool itself beside it so that its id cannot be given to another.
_kept: dict[tuple[int, Form], Exported] = {}


def exported(tool: Tool, provider: str | Form) -> Exported:
    """A tool in a provider's form.

    Args:
        tool: the tool.
        provider: a form's name in `forms.toml`, or a `Form`.

    Raises:
        SettingsError: when there is no such form.
    """
    wanted = form(provider)
    key = (id(tool), wanted)
    found = _kept.get(key)
    if found is not None and found.tool is tool:
        return found
    made = _made(tool, wanted)
    if len(_kept) >= _MOST_KEPT:
        for old in list(_kept)[: _MOST_KEPT // 2]:
            _kept.pop(old, None)
    _kept[key] = made
    return made


def _made(tool: Tool, wanted: Form) -> Exported:
    parameters = visible(tool.parameters)
    rewriter = Rewriter(wanted, parameters)
    try:
        schema, change = rewriter.rewritten()
        if wanted.strict:
            _check_size(schema)
    except NotStrictError as error:
        other = exported(tool, wanted.otherwise)
        note = f"tool '{tool.name}' cannot be strict: {error}"
        sent = _envelope(replace(form(wanted.otherwise), strict=True), other.schema, is_strict=False)
        return replace(other, schema=sent, notes=(note, *other.notes))
    name = wire_name(tool.name) if wanted.names else tool.name
    description = (
        tool.description if name == tool.name else f"{tool.name}: {tool.description}".removesuffix(": ")
    )
    description, overflow = _cut(description, wanted.most_description)
    if overflow:
        schema["description"] = f"{overflow} {schema.get('description', '')}".strip()
    whole = {"name": name, "description": description, "parameters": schema}
    sent = _envelope(wanted, _bare(wanted, whole), is_strict=wanted.strict)
    notes = tuple(f"tool '{tool.name}': {note}" for note in rewriter.notes)
    return Exported(tool=tool, name=name, schema=sent, is_strict=wanted.strict, notes=notes, change=change)


def _cut(description: str, most: int | None) -> tuple[str, str]:
    """A description that is short enough, and the rest of it; cut where a line, a sentence or a word ends."""
    if most is None or len(description) <= most:
        return description, ""
    for mark in ("\n", "。", ". ", " "):
        end = description.rfind(mark, most // 2, most)
        if end > 0:
            return description[: end + 1].strip(), description[end + 1 :].strip()
    return description[:most], description[most:]


def _bare(wanted: Form, whole: dict[str, Any]) -> dict[str, Any]:
    """Name, description and parameters by the provider's words."""
    if wanted.envelope == "anthropic":
        return {
            "name": whole["name"],
            "description": whole["description"],
            "input_schema": whole["parameters"],
        }
    if wanted.envelope == "mcp":
        return {
            "name": whole["name"],
            "description": whole["description"],
            "inputSchema": whole["parameters"],
        }
    if wanted.envelope == "gemini" and not whole["parameters"]["properties"]:
        return {
            "name": whole["name"],
            "description": whole["description"],
        }  # an empty object is refused there
    return whole


def _envelope(wanted: Form, inner: Mapping[str, Any], *, is_strict: bool) -> dict[str, Any]:
    """The whole of it. A strict form says of each tool whether it is strict."""
    inner = dict(inner.get("function", inner))
    inner.pop("type", None)
    strict = {"strict": is_strict} if wanted.strict or wanted.envelope == "responses" else {}
    if wanted.envelope == "openai":
        return {"type": "function", "function": {**inner, **strict}}
    if wanted.envelope == "responses":
        return {"type": "function", **inner, **strict}
    return inner


def _check_size(schema: Mapping[str, Any]) -> None:
    """Refuses what is beyond the bounds of strict mode.

    Source: https://platform.openai.com/docs/guides/structured-outputs.
    """
    counts = {"properties": 0, "options": 0}

    def walk(node: Any, level: int) -> None:
        if isinstance(node, list):
            for item in node:
                walk(item, level)
        if not isinstance(node, Mapping):
            return
        properties = node.get("properties")
        if isinstance(properties, Mapping):
            counts["properties"] += len(properties)
            level += 1
            if level > _MOST_LEVELS:
                raise NotStrictError(f"it is more than {_MOST_LEVELS} levels deep")
        if isinstance(node.get("enum"), list):
            counts["options"] += len(node["enum"])
        for key, part in node.items():
            walk(
                list(part.values()) if key in ("properties", "$defs") and isinstance(part, Mapping) else part,
                level,
            )

    walk(schema, 0)
    if counts["properties"] > _MOST_PROPERTIES or counts["options"] > _MOST_OPTIONS:
        raise NotStrictError(f"it has more than {_MOST_PROPERTIES} properties or {_MOST_OPTIONS} options")


def schema(tool: Tool, provider: str | Form = "openai") -> dict[str, Any]:
    """One tool's schema in a provider's form: a copy that the caller may change.

    Raises:
        SettingsError: when there is no such form.
    """
    return copy.deepcopy(dict(exported(tool, provider).schema))
