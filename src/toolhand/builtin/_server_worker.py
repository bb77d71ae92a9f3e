"""The process that a database server is spoken to from. It is run as a script and imports nothing of ours but files beside it.

Its own process, because a driver holds a whole row in memory, however large, and because not every driver can be stopped. Here
the operating system bounds memory, and the parent ends the process when the time is over; the server ends the statement too.

A line when it is ready; then one request a line on stdin, one answer a line on stdout, both JSON:
{"url", "role", "mode": "read" | "change" | "schema" | "check", "statements", "seconds", "lock_seconds", "rows", "changed_rows",
"result_characters", "cell_characters", "only_reads"} → {"answers": [{"columns", "rows", "more"} or {"error", "message"}]},
{"tables": […]} or {"error", "message"}.
The arguments are the folders that the libraries are in. Each request has a connection of its own, which is thrown away.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import importlib
import json
import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

MEMORY_BYTES: Final = 1024 * 2**20
_FETCHED_AT_ONCE: Final = 10
_MAX_TABLES: Final = 500
_MAX_COLUMNS: Final = 200


def _fences() -> Any:
    """The file beside this one; it is no part of a package here."""
    return importlib.import_module("_server_fences")


def answered(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    import sqlalchemy.exc  # noqa: PLC0415 - the path is set first

    fences = _fences()
    try:
        fence = fences.fence_of(request)
        return _connected(fence, request, lambda connection: _work(connection, fence, request))
    except fences.RefusedError as refused:
        return {"error": refused.code, "message": refused.message}
    except (
        sqlalchemy.exc.SQLAlchemyError,
        OSError,
        ValueError,
        TypeError,
        TimeoutError,
        MemoryError,
    ) as error:
        return failure(error)


def _connected(
    fence: Any, request: Mapping[str, Any], work: Callable[[Any], dict[str, Any]]
) -> dict[str, Any]:
    from sqlalchemy import create_engine  # noqa: PLC0415
    from sqlalchemy.pool import NullPool  # noqa: PLC0415

    options = {"connect_args": fence.arguments(request), "poolclass": NullPool, **fence.engine_options}
    if not fence.is_async:
        engine = create_engine(fence.url, **options)
        with engine.connect() as connection:
            return work(connection)

    async def through() -> dict[str, Any]:
        from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415

        async with create_async_engine(fence.url, **options).connect() as connection:
            return await connection.run_sync(work)

    return asyncio.run(through())


def _work(connection: Any, fence: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    writes = request["mode"] == "change"
    connection = fence.begun(connection, request, writes=writes)
    try:
        if request["mode"] == "check":
            return {"server": fence.name}
        if request["mode"] == "schema":
            return {"tables": _tables(connection, fence)}
        if writes:
            return {"answers": [_changed(connection, fence, request)]}
        return {"answers": [_read(connection, fence, sql, request) for sql in request["statements"]]}
    finally:
        connection.rollback()


def _read(connection: Any, fence: Any, sql: str, request: Mapping[str, Any]) -> dict[str, Any]:
    import sqlalchemy.exc  # noqa: PLC0415

    fences = _fences()
    point = connection.begin_nested()  # what fails must not spoil the statements after it
    try:
        return _rows(fence.reading(connection, sql), request)
    except fences.RefusedError as refused:
        return {"error": refused.code, "message": refused.message}
    except (sqlalchemy.exc.SQLAlchemyError, OSError, ValueError, TypeError) as error:
        return failure(error)
    finally:
        if point.is_active:
            point.rollback()


def _changed(connection: Any, fence: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    (sql,) = request["statements"]
    found = fence.changing(connection, sql)
    answer = _rows(found, request) if found.returns_rows else {"columns": [], "rows": [], "more": ""}
    count = found.rowcount
    if count > request["changed_rows"]:
        raise _fences().RefusedError("TOO_MANY", str(count))
    connection.commit()
    return {**answer, "changed": count}


def _rows(cursor: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    if not cursor.returns_rows:
        raise _fences().RefusedError("EMPTY")
    columns = [_shown(str(name), 200) for name in cursor.keys()]  # noqa: SIM118 - a method of its own kind
    rows: list[list[Any]] = []
    budget = request["result_characters"]
    while batch := cursor.fetchmany(_FETCHED_AT_ONCE):
        for row in batch:
            if len(rows) == request["rows"]:
                return {"columns": columns, "rows": rows, "more": "rows"}
            shown = [_shown(value, request["cell_characters"]) for value in row]
            budget -= sum(len(str(value)) + 2 for value in shown)
            if budget < 0 and rows:
                return {"columns": columns, "rows": rows, "more": "size"}
            rows.append(shown)
    return {"columns": columns, "rows": rows, "more": ""}


def _shown(value: Any, characters: int) -> Any:
    """A value as JSON can hold it, cut where it is too long."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float | decimal.Decimal):
        return _number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value[:16])
        return f"(binary, {len(value):,} bytes{', starts with ' + raw.hex(' ') if raw else ''})"
    if isinstance(value, dt.datetime):
        text = value.isoformat(sep=" ")
    elif isinstance(value, dict | list | tuple):
        text = json.dumps(value, ensure_ascii=False, default=str)
    else:
        text = str(value)
    if len(text) > characters:
        return f"{text[:characters]}… (cut; {len(text):,} characters in all)"
    return text


def _number(value: float | decimal.Decimal) -> Any:
    as_float = float(value)
    if as_float in (float("inf"), float("-inf")) or as_float != as_float:  # noqa: PLR0124 - how NaN is told
        return str(value)
    if isinstance(value, float):
        return value
    if value == value.to_integral_value() and abs(value) < 2**53:
        return int(value)
    return as_float if len(value.as_tuple().digits) <= 15 else str(value)


def _tables(connection: Any, fence: Any) -> list[dict[str, Any]]:
    """The tables and views with their columns, in every schema that is not the server's own."""
    from sqlalchemy import inspect  # noqa: PLC0415
    from sqlalchemy.engine.reflection import ObjectKind  # noqa: PLC0415

    inspector = inspect(connection)
    found: list[dict[str, Any]] = []
    schemas = [None, *(name for name in inspector.get_schema_names() if fence.is_shown(name, inspector))]
    for schema in schemas:
        columns = inspector.get_multi_columns(schema=schema, kind=ObjectKind.ANY)
        keys = inspector.get_multi_pk_constraint(schema=schema)
        references = inspector.get_multi_foreign_keys(schema=schema)
        views = set(inspector.get_view_names(schema=schema))
        for key in sorted(columns, key=str)[: _MAX_TABLES - len(found)]:
            name = key[1]
            targets = {
                one["constrained_columns"][0]: f"{one['referred_table']}.{one['referred_columns'][0]}"
                for one in references.get(key, [])
                if len(one["constrained_columns"]) == 1
            }
            primary = set((keys.get(key) or {}).get("constrained_columns") or [])
            found.append(
                {
                    "table": f"{schema}.{name}" if schema else name,
                    "path": [*([schema] if schema else []), name],
                    "columns": [_column(one, primary, targets) for one in columns[key][:_MAX_COLUMNS]],
                    "names": [one["name"] for one in columns[key][:_MAX_COLUMNS]],
                    "is_view": name in views,
                }
            )
    return found


def _column(column: Mapping[str, Any], primary: set[str], targets: Mapping[str, str]) -> str:
    try:
        kind = str(column["type"])
    except Exception:  # noqa: BLE001 - a kind that only the server knows has no name here
        kind = ""
    words = " ".join(filter(None, (column["name"], kind, "primary key" if column["name"] in primary else "")))
    return f"{words} → {targets[column['name']]}" if column["name"] in targets else words


def failure(error: BaseException) -> dict[str, Any]:
    """What failed, as the server's code for it and its sentence."""
    original: Any = getattr(error, "orig", None) or error
    cause = original.__cause__ or original
    if original.args and isinstance(original.args[0], int):  # MySQL's drivers: number, sentence
        return {"error": str(original.args[0]), "message": str(original.args[-1])[:500]}
    code = getattr(cause, "sqlstate", None) or getattr(original, "sqlstate", None)
    message = str(getattr(cause, "message", None) or cause).split("\n", maxsplit=1)[0][:500]
    hint = getattr(cause, "hint", None)
    if isinstance(hint, str) and hint:
        message = f"{message.rstrip('.')}. {hint[:200]}"
    return {"error": str(code or type(cause).__name__), "message": message}


def main() -> None:
    """Answers requests until stdin ends."""
    sys.path += [*sys.argv[1:], str(Path(__file__).parent)]
    lines: Any = importlib.import_module("_answering_lines")
    lines.bound_this_process(MEMORY_BYTES)
    logging.disable(logging.CRITICAL)
    import sqlalchemy  # noqa: F401, PLC0415 - what takes long

    lines.say({})
    lines.serve(
        answered, lambda error: {"error": type(error).__name__, "message": ""}
    )  # a driver can raise anything


if __name__ == "__main__":
    main()
