"""`redacted` and `redacted_text`: the same value with what nobody may see masked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from toolhand.core.jsonable import jsonable
from toolhand.core.tools import Tool
from toolhand.policies.redaction import labels
from toolhand.policies.redaction.assignments import without_declared
from toolhand.policies.redaction.echoes import sensitive_names
from toolhand.policies.redaction.elements import without_declared_elements
from toolhand.policies.redaction.html_tables import without_declared_cells, without_secret_cells
from toolhand.policies.redaction.masks import DECLARED, MASKED, SECRET, UNSEEN
from toolhand.policies.redaction.names import folded, holds_secret, promises_secret
from toolhand.policies.redaction.notable import is_notable
from toolhand.policies.redaction.patterns import DEFAULT, Pattern, always_tried, but, kinds
from toolhand.policies.redaction.pieces import MOST_AT_ONCE, in_pieces
from toolhand.policies.redaction.written_tables import without_declared_columns, without_secret_columns

_MOST_DEPTH: Final = 100
_MOST_PASSES: Final = 4
_SHORTEST: Final = 6
"""No default pattern finds anything in fewer characters."""

_MOST_NAME: Final = 80
_COLUMNS: Final = ("columns", "header", "headers", "fields")
_ROWS: Final = frozenset({"rows", "data", "values"})
"""What a table's parts are called: by spreadsheets, by pandas ("split"), by databases."""

_SMALLEST_NUMBER: Final = 10**10


def redacted_text(
    text: str,
    *,
    sensitive: frozenset[str] = frozenset(),
    patterns: tuple[Pattern, ...] = DEFAULT,
    label: str = "",
) -> str:
    """A text (a log line, an error, a page) with secrets and personal numbers masked; the rest stays as it is.

    Masking twice is masking once. The time grows with the length.

    Args:
        text: the text.
        sensitive: names whose values are masked where the text says `name: value`.
        patterns: what is looked for.
        label: the name of the field that holds the text; it can say what a number is.
    """
    shown = _without(text, sensitive, patterns, label)
    if text.isascii() or not UNSEEN.search(text):
        return shown
    # What stands unseen in the midst of a secret hides it from a pattern alone.
    bare = _without(UNSEEN.sub("", text), sensitive, patterns, label)
    return bare if bare.count("[masked") > shown.count("[masked") else shown


def _without(text: str, sensitive: frozenset[str], patterns: tuple[Pattern, ...], label: str) -> str:
    if len(text) > 2 * MOST_AT_ONCE:
        text = _without_named_parts(text, sensitive)
        if patterns is DEFAULT or "secret" in kinds(patterns):
            text = without_secret_cells(
                without_secret_columns(text)
            )  # only a long table's first piece has the names
        return in_pieces(text, lambda part: _without(part, sensitive, patterns, label))
    if not sensitive and (len(text) < _SHORTEST or not is_notable(text)):
        patterns = () if patterns is DEFAULT else always_tried(patterns)
        if not patterns:
            return text
    for _ in range(_MOST_PASSES):
        before = text
        if sensitive:
            text = without_declared(_without_named_parts(text, sensitive), sensitive)
        for pattern in patterns:
            text = pattern.without(text, label)
        if text == before:
            break
    return text


def _without_named_parts(text: str, sensitive: frozenset[str]) -> str:
    """What stands in tables and elements of declared names, which may be long, masked."""
    if not sensitive:
        return text
    text = without_declared_columns(text, sensitive)
    return without_declared_elements(without_declared_cells(text, sensitive), sensitive)


def redacted(
    value: Any,
    *,
    sensitive: Iterable[str] = frozenset(),
    patterns: tuple[Pattern, ...] = DEFAULT,
    reveals: Iterable[str] = frozenset(),
    echoes: Iterable[str] = (),
) -> Any:
    """A JSON value with what nobody may see masked. It never raises; a value with nothing to mask comes back itself.

    Masked are: values under declared names, whole; values under names of secrets (`api_key`, `密码`); what the patterns find
    in texts, keys and numbers. Names are also read in tables (`columns` and `rows`) and in pairs (`name` and `value`).

    Args:
        value: any JSON value; anything else is made one first.
        sensitive: declared names; case and joints do not matter.
        patterns: what is looked for in texts.
        reveals: kinds that may be seen, such as "phone"; declared names are masked all the same.
        echoes: texts that are masked wherever they stand, such as the values of sensitive arguments.
    """
    names = frozenset(sensitive)
    chosen = but(patterns, frozenset(reveals)) if reveals else patterns
    return _Walk(names, chosen, tuple(echoes)).masked(value, "", 0)


def shown_arguments(arguments: Mapping[str, Any], tool: Tool) -> str:
    """A call's arguments as JSON, without the values of the tool's sensitive names.

    Args:
        arguments: typed, as the tool gets them.
        tool: the tool.
    """
    names = sensitive_names(tool)
    shown = redacted(dict(arguments), sensitive=names, patterns=()) if names else dict(arguments)
    return json.dumps(jsonable(shown), ensure_ascii=False)


@lru_cache(maxsize=256)
def _folded_names(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(folded, names))


@lru_cache(maxsize=4096)
def _plain_name(name: str) -> tuple[str, bool]:
    """What most walks find out about a field's name."""
    shown = redacted_text(name)
    return shown, promises_secret(shown)


class _Walk:
    """One pass over a value, with what it looks for and the names that it has met."""

    __slots__ = ("declared", "echoes", "knows_names", "met", "names", "patterns")

    def __init__(self, names: frozenset[str], patterns: tuple[Pattern, ...], echoes: tuple[str, ...]) -> None:
        self.names = names
        self.declared = _folded_names(names) if names else names
        self.patterns = patterns
        self.knows_names = patterns is DEFAULT or "secret" in kinds(patterns)
        # A mask is found first, so that an echo is not looked for inside one.
        spelled = (
            "|".join(map(re.escape, sorted(filter(None, echoes), key=len, reverse=True))) if echoes else ""
        )
        self.echoes = re.compile(f"{MASKED.pattern}|{spelled}") if spelled else None
        self.met: dict[str, tuple[str, bool]] = {}

    def masked(self, value: Any, label: str, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value, label)
        if kind is float or value is None or kind is bool:
            return value
        if kind is int:
            return self._number(value, label) if value >= _SMALLEST_NUMBER else value
        if depth > _MOST_DEPTH:
            return "(nested too deeply)"
        if kind is dict:
            return self._object(value, label, depth + 1)
        if kind is list:
            return self._list(value, label, depth + 1)
        if isinstance(value, Mapping):
            return self._object(dict(value), label, depth + 1)
        if isinstance(value, tuple):
            return self._list(list(value), label, depth + 1)
        return self.masked(jsonable(value), label, depth + 1)

    def _text(self, text: str, label: str) -> str:
        if self.echoes is not None:
            if len(text) > 2 * MOST_AT_ONCE:
                text = in_pieces(text, partial(self.echoes.sub, _echo_masked))
            else:
                text = self.echoes.sub(_echo_masked, text)
        elif len(text) < _SHORTEST and self.patterns is DEFAULT and not self.names:
            return text
        return redacted_text(text, sensitive=self.names, patterns=self.patterns, label=label)

    def _number(self, number: int, label: str) -> int | str:
        """A whole number; unlike a text it is masked only where its name or its check digit leaves no doubt."""
        if number >= _SMALLEST_NUMBER**2:
            return number
        text = str(number)
        is_called = any(words.search(f"{label}: ") for words in (labels.PHONE, labels.CARD, labels.IDENTITY))
        if not is_called and len(text) != 18:
            return number
        patterns = self.patterns if is_called else but(self.patterns, frozenset({"card"}))
        masked = redacted_text(text, patterns=patterns, label=label)
        return number if masked == text else masked

    def _object(self, fields: dict[str, Any], label: str, depth: int) -> dict[str, Any]:
        if not _ROWS.isdisjoint(fields) and (table := self._table(fields, label, depth)) is not None:
            return table
        own_name = self._text(_own_name(fields), "") if "value" in fields else ""
        is_in_secret = bool(label) and self.knows_names and _is_inside_secret(label)
        changes: dict[str, Any] = {}
        renamed = False
        for key, value in fields.items():
            shown, is_special = self.met.get(key) or self._meet(key)
            if is_special or is_in_secret or (own_name and key == "value"):
                new = self._field(value, own_name if own_name and key == "value" else shown, label, depth)
            else:
                new = self.masked(value, shown, depth)
            if new is not value:
                changes[key] = new
            renamed = renamed or shown != key
        if not renamed:
            return {**fields, **changes} if changes else fields
        masked: dict[str, Any] = {}
        for key, value in fields.items():
            shown = self.met[key][0]
            while shown in masked:
                shown += "'"
            masked[shown] = changes.get(key, value)
        return masked

    def _meet(self, key: Any) -> tuple[str, bool]:
        """A field's name as it may be shown, and whether it says something about its value."""
        name = key if type(key) is str else str(key)
        if self.patterns is DEFAULT and not self.names and self.echoes is None and len(name) <= _MOST_NAME:
            self.met[key] = met = _plain_name(name)
            return met
        shown = self._text(name, "")
        is_declared = bool(self.declared) and folded(shown) in self.declared
        self.met[key] = met = (shown, is_declared or (self.knows_names and promises_secret(shown)))
        return met

    def _field(self, value: Any, name: str, label: str, depth: int) -> Any:
        if self.declared and folded(name) in self.declared:
            return value if value is None or value in ("", DECLARED) else DECLARED
        if self.knows_names:
            if promises_secret(name):
                return self._secret(value, name, depth)
            if label and _is_inside_secret(label):
                return self._secret(value, label, depth)
        return self.masked(value, name, depth)

    def _secret(self, value: Any, name: str, depth: int) -> Any:
        if isinstance(value, dict):
            return self._object(value, name, depth + 1) if depth < _MOST_DEPTH else SECRET
        if isinstance(value, list):
            new = [self._secret(item, name, depth + 1) for item in value] if depth < _MOST_DEPTH else [SECRET]
            return value if all(map(_is, new, value)) and len(new) == len(value) else new
        if not holds_secret(name, value):
            masked = self.masked(value, name, depth)
            # What was found in it may leave one run of characters, as a secret is.
            return SECRET if masked is not value and holds_secret(name, masked) else masked
        return value if isinstance(value, str) and MASKED.fullmatch(value) else SECRET

    def _list(self, items: list[Any], label: str, depth: int) -> list[Any]:
        if len(items) > 1 and type(items[0]) is list and self._is_special_head(items[0]):
            table = self._table({"columns": items[0], "rows": items[1:]}, label, depth)
            if table is not None:
                return [table["columns"], *table["rows"]]
        new = [self.masked(item, label, depth) for item in items]
        return items if all(map(_is, new, items)) else new

    def _is_special_head(self, names: list[Any]) -> bool:
        """Whether a first row holds columns' names of which one says that what is below it is not to be seen."""
        return all(type(name) is str and len(name) <= _MOST_NAME for name in names) and any(
            (self.met.get(name) or self._meet(name))[1] for name in names
        )

    def _table(self, fields: dict[str, Any], label: str, depth: int) -> dict[str, Any] | None:
        """A value of columns and rows with each cell read under its column's name, or None where it is no table."""
        columns = next((fields[key] for key in _COLUMNS if key in fields), None)
        body = next((key for key in fields if key in _ROWS and isinstance(fields[key], list)), "")
        rows = fields.get(body)
        if (
            not isinstance(columns, list)
            or not isinstance(rows, list)
            or not rows
            or not isinstance(rows[0], list)
        ):
            return None
        names = [_column_name(column) for column in columns]
        width = len(names)
        new_rows = []
        for row in rows:
            if isinstance(row, list) and len(row) == width:
                cells = [
                    self._field(cell, name, "", depth + 1) for cell, name in zip(row, names, strict=True)
                ]
                new_rows.append(row if all(map(_is, cells, row)) else cells)
            else:
                new_rows.append(self.masked(row, "", depth + 1))
        rest = {key: value for key, value in fields.items() if key != body}
        new_rest = {key: self._field(value, key, label, depth) for key, value in rest.items()}
        if all(map(_is, new_rows, rows)) and all(new_rest[key] is rest[key] for key in rest):
            return fields
        return {key: new_rows if key == body else new_rest[key] for key in fields}


def _echo_masked(match: re.Match[str]) -> str:
    return match.group() if MASKED.fullmatch(match.group()) else DECLARED


def _is(one: Any, other: Any) -> bool:
    return one is other


def _is_inside_secret(label: str) -> bool:
    return promises_secret(label) and folded(label).endswith(
        ("credential", "credentials", "cookie", "cookies", "secret", "secrets")
    )


def _own_name(fields: dict[str, Any]) -> str:
    """For `{"name": "DB_PASSWORD", "value": "…"}`: the name that is the value's own."""
    for field in ("name", "key"):
        name = fields.get(field)
        if isinstance(name, str) and len(name) <= 80:
            return name
    return ""


def _column_name(column: Any) -> str:
    if isinstance(column, Mapping):
        return str(column.get("name") or column.get("title") or "")
    return str(column)
