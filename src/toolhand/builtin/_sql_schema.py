"""What a model is told about a database: its tables, their columns, how many rows they have, and an example row."""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from toolhand.builtin._sqlite_reader import QueryError, SqliteReader

_MAX_TABLES: Final = 500
_MAX_COLUMNS: Final = 2_000
_MAX_LISTING_LENGTH: Final = 12_000
_EXAMPLE_CHARACTERS: Final = 40
_TABLES: Final = """
    SELECT name, type FROM sqlite_schema
    WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    ORDER BY name LIMIT {limit}
"""
_SHADOWS: Final = "SELECT name FROM pragma_table_list WHERE type = 'shadow'"


class Table(TypedDict):
    """A table or view. `row_count` is missing where counting took too long, `columns` where the listing grew too long."""

    table: str
    columns: NotRequired[list[str]]
    row_count: NotRequired[int]
    example: NotRequired[dict[str, Any]]
    is_view: NotRequired[bool]


def table_names(reader: SqliteReader) -> dict[str, bool]:
    """The tables and views in alphabetical order, and whether each is a view. A search index's inner tables are left out."""
    found = {
        str(name): kind == "view"
        for name, kind in reader.run(_TABLES.format(limit=_MAX_TABLES), rows=_MAX_TABLES).rows
    }
    try:
        inner = {row[0] for row in reader.run(_SHADOWS, rows=10 * _MAX_TABLES).rows}
    except QueryError:  # before SQLite 3.37
        inner = set()
    return {name: is_view for name, is_view in found.items() if name not in inner}


def columns(reader: SqliteReader, table: str, *, with_types: bool = True) -> list[str]:
    """The columns of a table, such as "id INTEGER primary key" and "city_id INTEGER → cities.id"."""
    targets: dict[str, str] = {}
    if with_types:
        for row in reader.run(f"PRAGMA foreign_key_list({quoted(table)})", rows=_MAX_COLUMNS).rows:
            targets[str(row[3])] = f"{row[2]}.{row[4]}" if row[4] else str(row[2])
    found = []
    for row in reader.run(f"PRAGMA table_info({quoted(table)})", rows=_MAX_COLUMNS).rows:
        name, declared, key = str(row[1]), str(row[2] or ""), row[5]
        if with_types:
            name = " ".join(filter(None, (name, declared, "primary key" if key else "")))
            name += f" → {targets[str(row[1])]}" if str(row[1]) in targets else ""
        found.append(name)
    return found


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever is in it."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def brief(reader: SqliteReader, length: int) -> str:
    """The whole schema in one line, or the tables' names where that would be longer than `length` characters.

    It holds names only: stored values reach a model through results, where they can be masked.
    """
    names = table_names(reader)
    parts = [f"{name}({', '.join(columns(reader, name, with_types=False))})" for name in list(names)[:60]]
    whole = "Tables: " + "; ".join(parts)
    if len(whole) <= length and len(names) <= 60:
        return whole
    listed = "Tables (call list_tables for their columns): " + ", ".join(names)
    return listed if len(listed) <= length else f"There are {len(names)} tables: call list_tables first."


def tables(reader: SqliteReader, only: str = "") -> tuple[list[Table], str]:
    """The tables in full, as far as time and length allow, and a note for the model where something is left out.

    Args:
        reader: the database.
        only: a table's name, in any case, or "" for all.
    """
    names = table_names(reader)
    if only:
        chosen = {name: is_view for name, is_view in names.items() if name.casefold() == only.casefold()}
        if not chosen:
            return [], f"There is no table '{only}'. There is: {', '.join(names)[:1_500] or 'no table'}."
        names = chosen
    found: list[Table] = []
    length = 0
    left_out = False
    for name, is_view in names.items():
        table = Table(table=name)
        if is_view:
            table["is_view"] = True
        if length < _MAX_LISTING_LENGTH:
            _fill(reader, table)
        else:
            left_out = True
        length += len(str(table))
        found.append(table)
    if not found:
        return [], "The database has no tables yet."
    return (
        found,
        "Some tables stand without columns: call list_tables with a table's name." if left_out else "",
    )


def _fill(reader: SqliteReader, table: Table) -> None:
    name = quoted(table["table"])
    try:
        table["columns"] = columns(reader, table["table"])
        first = reader.run(f"SELECT * FROM {name} LIMIT 1", cell_characters=_EXAMPLE_CHARACTERS)  # noqa: S608 - a quoted name
        for row in first.rows:
            table["example"] = dict(zip(first.columns, row, strict=True))
        table["row_count"] = reader.run(f"SELECT count(*) FROM {name}").rows[0][0]  # noqa: S608 - a quoted name
    except QueryError:  # out of time, too wide, or a broken view: what is known so far is still useful
        return
