"""What a model is told about a database: its tables, their columns, how many rows they have, and an example row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolhand.builtin._database import Answer, QueryError, Table, quoted
from toolhand.builtin._sqlite_reader import SqliteReader
from toolhand.core.language import Language

_MAX_TABLES: Final = 500
_MAX_COLUMNS: Final = 2_000
_MAX_TABLES_IN_BRIEF: Final = 60
MAX_LISTING_LENGTH: Final = 12_000
EXAMPLE_CHARACTERS: Final = 40
MAX_EXAMPLE_LENGTH: Final = 1_500
_TABLES: Final = """
    SELECT name, type FROM sqlite_schema
    WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    ORDER BY name LIMIT 500
"""
_NOTES: Final[Mapping[str, Mapping[Language, str]]] = {
    "missing": {
        "en": "There is no table '{only}'. There is: {names}.",
        "zh": "没有名为“{only}”的表。现有：{names}。",
    },
    "empty": {"en": "The database has no tables yet.", "zh": "数据库里还没有表。"},
    "short": {
        "en": "Some tables stand without columns: call list_tables with a table's name.",
        "zh": "有些表没有列出字段：请用表名调用 list_tables。",
    },
}
_SHADOWS: Final = "SELECT name FROM pragma_table_list WHERE type = 'shadow'"


def table_names(reader: SqliteReader) -> dict[str, bool]:
    """The tables and views in alphabetical order, and whether each is a view. A search index's inner tables are left out.

    Raises:
        QueryError: when the database cannot be read.
    """
    listed, shadows = reader.run_all([_TABLES, _SHADOWS], rows=10 * _MAX_TABLES)
    if isinstance(listed, QueryError):
        raise listed
    # Before SQLite 3.37 there is no such list; then they stay.
    inner = set() if isinstance(shadows, QueryError) else {row[0] for row in shadows.rows}
    return {str(name): kind == "view" for name, kind in listed.rows if name not in inner}


def columns(reader: SqliteReader, names: Sequence[str], *, with_types: bool = True) -> dict[str, list[str]]:
    """The columns of tables, such as "id INTEGER primary key" and "city_id INTEGER → cities.id"; none of a broken view."""
    statements = [f"PRAGMA table_info({quoted(name)})" for name in names]
    keys = [f"PRAGMA foreign_key_list({quoted(name)})" for name in names] if with_types else []
    answers = reader.run_all(statements + keys, rows=_MAX_COLUMNS)
    found: dict[str, list[str]] = {}
    for i, name in enumerate(names):
        described, references = answers[i], answers[len(names) + i] if with_types else None
        targets = {str(row[3]): row for row in references.rows} if isinstance(references, Answer) else {}
        rows = described.rows if isinstance(described, Answer) else []
        found[name] = [_column(row, targets) if with_types else str(row[1]) for row in rows]
    return found


def _column(row: list[Any], targets: Mapping[str, list[Any]]) -> str:
    words = " ".join(filter(None, (str(row[1]), str(row[2] or ""), "primary key" if row[5] else "")))
    target = targets.get(str(row[1]))
    if target is None:
        return words
    return f"{words} → {target[2]}.{target[4]}" if target[4] else f"{words} → {target[2]}"


def brief(reader: SqliteReader, names: Sequence[str], length: int) -> str:
    """The whole schema in one line, or the tables' names where that would be longer than `length` characters.

    It holds names only: stored values reach a model through results, where they can be masked.
    """
    if len(names) <= _MAX_TABLES_IN_BRIEF:
        by_table = columns(reader, names, with_types=False)
        whole = "Tables: " + "; ".join(f"{name}({', '.join(by_table[name])})" for name in names)
        if len(whole) <= length:
            return whole
    listed = "Tables (call list_tables for their columns): " + ", ".join(names)
    return listed if len(listed) <= length else f"There are {len(names)} tables: call list_tables first."


def schema_note(word: str, language: Language, *, only: str = "", names: Iterable[str] = ()) -> str:
    """A word on a listing of tables, in the language of the run."""
    return _NOTES[word][language].format(only=only, names=", ".join(names)[:1_500] or "-")


def tables(reader: SqliteReader, only: str, language: Language) -> tuple[list[Table], str]:
    """The tables in full, as far as time and length allow, and a note for the model where something is left out.

    Args:
        reader: the database.
        only: a table's name, in any case, or "" for all.
        language: of the note.
    """
    names = table_names(reader)
    if only:
        chosen = {name: is_view for name, is_view in names.items() if name.casefold() == only.casefold()}
        if not chosen:
            return [], schema_note("missing", language, only=only, names=names)
        names = chosen
    if not names:
        return [], schema_note("empty", language)
    by_table = columns(reader, list(names))
    found, described, length = [], [], 0
    for name, is_view in names.items():
        table = Table(table=name)
        if is_view:
            table["is_view"] = True
        if by_table[name] and length < MAX_LISTING_LENGTH:
            table["columns"] = by_table[name]
            described.append(table)
        length += len(str(table))
        found.append(table)
    _add_rows(reader, described)
    is_short = length >= MAX_LISTING_LENGTH
    return found, schema_note("short", language) if is_short else ""


def _add_rows(reader: SqliteReader, described: Sequence[Table]) -> None:
    """Adds an example row and the number of rows. What fails (out of time, too wide, a broken view) is left out."""
    names = [quoted(table["table"]) for table in described]
    first_rows = [f"SELECT * FROM {name} LIMIT 1" for name in names]  # noqa: S608 - names from the schema, quoted
    counting = [f"SELECT count(*) FROM {name}" for name in names]  # noqa: S608 - names from the schema, quoted
    firsts = reader.run_all(first_rows, cell_characters=EXAMPLE_CHARACTERS)
    counts = reader.run_all(counting)
    for table, first, count in zip(described, firsts, counts, strict=True):
        if isinstance(first, Answer) and first.rows and len(str(first.rows[0])) < MAX_EXAMPLE_LENGTH:
            table["example"] = dict(zip(first.columns, first.rows[0], strict=True))
        if isinstance(count, Answer):
            table["row_count"] = count.rows[0][0]
