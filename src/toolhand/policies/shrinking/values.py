"""`shrunk`: a value that is too large for a model becomes one that it can use, and that says what is missing.

Tables and lists keep whole rows from their beginning and end, with a count and statistics; objects keep their shape and
have their largest parts shortened; texts keep beginning and end. Nothing is cut inside a record that fits by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from toolhand.core.language import Language
from toolhand.policies.shrinking.jsontext import loads_in_steps
from toolhand.policies.shrinking.paths import Path, written
from toolhand.policies.shrinking.sizes import size, size_alone
from toolhand.policies.shrinking.tables import Table, table_of, trimmed
from toolhand.policies.shrinking.texts import shortened
from toolhand.policies.shrinking.words import WORDS

MOST_CHARACTERS: Final = 16_000
"""The default limit of what a model reads of one result."""

_ROOM_FOR_A_TABLE: Final = 400
_MOST_DEPTH: Final = 60
_FIRST_SHARE: Final = 0.7
_STATISTICS_SHARE: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """What became of a value.

    Args:
        value: the value itself where it was small enough, else what stands for it.
        characters: how long the whole value is as a model would read it.
        is_shrunk: whether something was left out.
        source: the value whose parts the paths in it name: the whole value, read as JSON where it is JSON in a text.
        path: where the largest part that was shortened is.
    """

    value: Any
    characters: int
    is_shrunk: bool
    source: Any
    path: Path = ()


def shrunk(
    value: Any, *, most_characters: int = MOST_CHARACTERS, handle: str = "", language: Language = "en"
) -> Shrunk:
    """The value in at most so many characters, in linear time.

    Args:
        value: any JSON value. A text that holds a JSON object or array is shrunk as one and stays a text.
        most_characters: the limit, of the text that `core.jsonable.result_text` makes.
        handle: under which the whole is kept for `read_result`; "" where it is not.
        language: of the words about what is left out.
    """
    characters = size_alone(value)
    if characters <= most_characters:
        return Shrunk(value=value, characters=characters, is_shrunk=False, source=value)
    source = _json_inside(value) if isinstance(value, str) else value
    is_json_text = source is not value
    target, tries = most_characters, 0
    while target > 40:
        shrinker = Shrinker(handle, language)
        made = fitted = shrinker.fitted(source, target, (), whole=None if is_json_text else characters)
        if is_json_text:
            made = json.dumps(made, ensure_ascii=False)
        excess = size_alone(made) - most_characters
        if excess <= 0:
            return Shrunk(
                value=made,
                characters=characters,
                is_shrunk=fitted is not source,  # else only the blanks of a JSON text were left out
                source=source,
                path=shrinker.main_path(),
            )
        tries += 1
        target = (
            target // 2 if tries > 3 else target - max(excess, target // 10)
        )  # each try reads the whole value
    words = WORDS[language]["characters"].format(left_out=characters, total=characters)
    short = f"… {words} …"[: max(0, most_characters)]
    return Shrunk(value=short, characters=characters, is_shrunk=True, source=source)


def _json_inside(text: str) -> Any:
    """The JSON object or array that a text holds, or the text itself."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        found = loads_in_steps(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict | list) else text


class Shrinker:
    """Makes one value smaller, and remembers which of its parts were shortened.

    Args:
        handle: under which the whole is kept, or "".
        language: of the words about what is left out.
    """

    def __init__(self, handle: str, language: Language) -> None:
        self._handle = handle
        self._language = language
        self._words = WORDS[language]
        self._parts: list[tuple[int, Path]] = []

    def main_path(self) -> Path:
        """Where the part is of which most was left out."""
        return max(self._parts, key=lambda found: found[0])[1] if self._parts else ()

    def fitted(self, value: Any, most: int, path: Path, *, whole: int | None = None) -> Any:
        """The value in about `most` characters, itself where it fits.

        Args:
            value: a JSON value.
            most: characters of its JSON, or of a text as it is where it is a whole result.
            path: where in the whole it is.
            whole: how long it is, where that is known: measuring a large value takes most of the time.
        """
        if whole is None:
            whole = size(value) if path else size_alone(value)
        if whole <= most:
            return value
        if most < 40 or len(path) > _MOST_DEPTH:
            return self._gap(whole, path)
        if isinstance(value, str):
            return self._text(value, most, path, is_alone=not path)
        table = table_of(value)
        if table is not None:
            self._parts.append((whole - most, path))
            return self._rows(table, most, path)
        if isinstance(value, dict):
            return self._object(value, most, path)
        return self._gap(whole, path)

    def _gap(self, characters: int, path: Path) -> str:
        self._parts.append((characters, path))
        return f"… {self._words['characters'].format(left_out=characters, total=characters)} …"

    def _more(self, path: Path, start: int | str) -> str:
        if not self._handle:
            return ""
        word = "more_of" if path else "more"
        return self._words[word].format(handle=self._handle, path=written(path), start=start)

    def _text(self, text: str, most: int, path: Path, *, is_alone: bool) -> str:
        self._parts.append((len(text) - most, path))
        more = self._more(path, "{start}")
        if len(more) > most // 3:
            more = ""
        target = most if is_alone else most - 2
        for _ in range(8):
            made, _ = shortened(text, target, self._language, more)
            excess = 0 if is_alone else size(made) - most
            if excess <= 0:
                return made
            target -= max(excess, target // 8)  # quotes and line ends take two characters in JSON
            if target < 20:
                break
        return self._gap(len(text), path)

    def _rows(self, table: Table, most: int, path: Path) -> Any:
        """A table's first and last rows, whole, with what is known about all of them."""
        if most < _ROOM_FOR_A_TABLE:
            return self._few(table, most)
        unit = table.unit
        made: dict[str, Any] = {"note": "", f"total_{unit}": len(table.rows)}
        made |= self._beside(table, most // 4, path)
        if statistics := trimmed(table.statistics(), int(most * _STATISTICS_SHARE)):
            made["statistics"] = statistics
        note_room = 80 + len(self._more(path, len(table.rows))) + len(self._words["one"])
        room = most - size(made) - note_room - len(unit) * 2 - 24
        first, last = _ends(table.rows, room)
        note = [
            self._words[unit].format(left_out=len(table.rows) - len(first) - len(last), total=len(table.rows))
        ]
        if not first:
            inner = (*path, table.field, 0) if table.field else (*path, 0)
            first = [self.fitted(table.rows[0], max(40, room - size(last)), inner)]
            left_out = len(table.rows) - 1 - len(last)
            note = [
                self._words[unit].format(left_out=left_out, total=len(table.rows)),
                self._words["one"].format(unit=self._words["row" if unit == "rows" else "item"]),
            ]
        note.append(self._more(path, len(first)))
        made["note"] = self._sentences(note)
        return made | {f"first_{unit}": first} | ({f"last_{unit}": last} if last else {})

    def _sentences(self, pieces: Iterable[str]) -> str:
        end, blank = (".", " ") if self._language == "en" else ("。", "")
        return blank.join(piece if piece.endswith(end) else piece + end for piece in pieces if piece)

    def _beside(self, table: Table, most: int, path: Path) -> dict[str, Any]:
        """What a value of columns and rows holds beside its rows, under names that the description does not use."""
        if not table.beside:
            return {}
        fitted = self._object(table.beside, most, path) if size(table.beside) > most else table.beside
        return {
            key: value
            for key, value in fitted.items()
            if key not in ("note", "statistics", "first_rows", "last_rows", "total_rows")
        }

    def _few(self, table: Table, most: int) -> list[Any]:
        """As many of the first and last rows as there is room for, with a mark between them."""
        mark = f"… {self._words[table.unit].format(left_out=len(table.rows), total=len(table.rows))} …"
        first, last = _ends(table.rows, most - size(mark) - 6)
        left_out = len(table.rows) - len(first) - len(last)
        mark = f"… {self._words[table.unit].format(left_out=left_out, total=len(table.rows))} …"
        return [*first, mark, *last]

    def _object(self, fields: dict[str, Any], most: int, path: Path) -> dict[str, Any]:
        """The same fields, with what room there is given first to the small ones, then shared by the large ones."""
        names = size(dict.fromkeys(fields, 0))
        if names > most * 0.6:
            return self._some_entries(fields, most, path)
        room, waiting = most - names, len(fields)
        sizes = {key: size(value) for key, value in fields.items()}
        made = dict(fields)
        for key in sorted(fields, key=sizes.__getitem__):
            share = room // waiting
            if sizes[key] > share:
                made[key] = self.fitted(fields[key], share, (*path, key), whole=sizes[key])
                room -= size(made[key])
            else:
                room -= sizes[key]
            waiting -= 1
        return made

    def _some_entries(self, fields: dict[str, Any], most: int, path: Path) -> dict[str, Any]:
        """The first of very many fields, whole, and a field that says how many there are."""
        said = self._words["entries"].format(left_out=len(fields), total=len(fields))
        room = most - len(said) - len(self._more(path, len(fields))) - 24
        made: dict[str, Any] = {}
        for key, value in fields.items():
            room -= size(key) + size(value) + 4
            if room < 0:
                break
            made[key] = value
        left_out = len(fields) - len(made)
        self._parts.append((size(fields) - most, path))
        note = [
            self._words["entries"].format(left_out=left_out, total=len(fields)),
            self._more(path, len(made)),
        ]
        return {**made, "…": self._sentences(note)}


def _ends(rows: list[Any], room: int) -> tuple[list[Any], list[Any]]:
    """Whole rows from both ends that fit into the room: most of it for the first ones."""
    first = _prefix(rows, int(room * _FIRST_SHARE))
    used = sum(size(row) + 2 for row in first)
    last = _prefix(rows[: len(first) - 1 if first else None : -1], room - used)
    return first, last[::-1]


def _prefix(rows: list[Any], room: int) -> list[Any]:
    for count, row in enumerate(rows):
        room -= size(row) + 2
        if room < 0:
            return rows[:count]
    return rows
