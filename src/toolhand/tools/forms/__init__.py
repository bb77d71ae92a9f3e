"""The forms in which providers take tools: their quirks as data, and the way back for what a call brings.

`exported(tool, form)` is the entry. `forms.toml` holds the quirks, `rewrite.py` applies them, `changes.py` undoes them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

ANY_KEY: Final = re.compile(r".*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a provider takes of a tool's schema. `forms.toml` explains each word.

    Args:
        name: as in `Toolset.schemas(name)`.
        envelope: "openai", "responses", "anthropic", "gemini" or "mcp".
        strict: whether every object is closed and every member required.
        otherwise: the form of a tool that cannot be strict.
        names: whether names are brought into the form that all providers take.
        keys: what a parameter's name may be.
        refs: whether `$ref` is followed.
        top_unions: whether the parameters as a whole may be a union.
        unions: whether a value may be a union.
        lone_unions: whether nothing may stand beside a union.
        open_objects: whether an object may have members that are not declared.
        untyped: whether a value may be of any type.
        nullable: whether null is written as `nullable: true`.
        enums: of which types an enum may be; None for any.
        empty_options: whether an enum may hold "".
        items: whether every array must say what it holds.
        keywords: the words of JSON Schema that are taken; None for all.
        formats: the formats that are taken by type; None for all.
        most_description: characters of a tool's description, or None.
    """

    name: str
    envelope: str
    strict: bool = False
    otherwise: str = ""
    names: bool = True
    keys: re.Pattern[str] = ANY_KEY
    refs: bool = True
    top_unions: bool = True
    unions: bool = True
    lone_unions: bool = False
    open_objects: bool = True
    untyped: bool = True
    nullable: bool = False
    enums: frozenset[str] | None = None
    empty_options: bool = True
    items: bool = False
    keywords: frozenset[str] | None = None
    formats: Mapping[str, frozenset[str]] | None = field(default=None, hash=False)
    most_description: int | None = None


def form(name: str | Form) -> Form:
    """The form of this name.

    Raises:
        SettingsError: when there is none; the message lists what there is.
    """
    if isinstance(name, Form):
        return name
    found = _forms().get(name)
    if found is None:
        raise SettingsError(
            say(
                f"there is no schema form '{name}'; there is: {', '.join(_forms())}",
                f"没有“{name}”这种 schema 格式；可用：{', '.join(_forms())}",
            )
        )
    return found


@cache
def _forms() -> Mapping[str, Form]:
    rows = tomllib.loads(files(__name__).joinpath("forms.toml").read_text("utf-8"))
    return {name: _form(name, rows.get(row.get("like", ""), {}) | row) for name, row in rows.items()}


def _form(name: str, row: Mapping[str, Any]) -> Form:
    given = {key: value for key, value in row.items() if key != "like"}
    if given.get("unions") == "alone":
        given |= {"unions": True, "lone_unions": True}
    if "keys" in given:
        given["keys"] = re.compile(given["keys"])
    for key in ("enums", "keywords"):
        if key in given:
            given[key] = frozenset(given[key])
    if "formats" in given:
        given["formats"] = {kind: frozenset(names) for kind, names in given["formats"].items()}
    return Form(name=name, **given)
