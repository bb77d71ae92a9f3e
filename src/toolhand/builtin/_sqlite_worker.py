"""The process that a SQLite file is read in. It is run as a script, with the standard library and a file beside it alone.

Its own process, because SQLite can be made to use any time and memory by a statement of 500 characters: common table
expressions that double, or functions that take quadratic time within one step, where no limit of SQLite's is looked at.
Here the operating system bounds memory and temporary files, and the parent ends the process when the time is over.

Against writing there are four fences, each enough: the file is opened read-only, `query_only` is on, nothing can be attached,
and an authorizer lets through only what is on its lists. A text check of the statement is not among them.

For a tool that writes there is another such process, started with the argument "writes": one INSERT, UPDATE or DELETE, in a
transaction that is taken back when it changes too many rows. Its authorizer lets rows be changed and nothing else; the tables in
which a search index keeps itself only by way of that index.

One request a line on stdin, one answer a line on stdout, both JSON:
{"path", "statements", "seconds", "lock_seconds", "rows", "result_characters", "cell_characters",
"changed_rows"} → for each statement
{"columns", "rows", "more": "" | "rows" | "size"} or {"error", "message", "refused"}.
"""

from __future__ import annotations

import importlib
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any, Final

MEMORY_BYTES: Final = 512 * 2**20
TEMPORARY_FILE_BYTES: Final = 256 * 2**20
MAX_SQL_LENGTH: Final = 20_000
_OPERATIONS_PER_CHECK: Final = 1_000
"""Virtual machine steps between looks at the clock."""

_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: 10_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MAX_SQL_LENGTH
    + 1_000,  # statements that virtual tables prepare count too
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 500_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_PRAGMAS_OF_A_TABLE: Final = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"}
    | {"foreign_key_list", "foreign_key_check"}
)
_PRAGMAS_WITHOUT_VALUE: Final = frozenset(
    {
        "encoding",
        "user_version",
        "schema_version",
        "application_id",
        "page_count",
        "page_size",
        "freelist_count",
        "data_version",
    }
    | {"collation_list", "function_list", "pragma_list", "compile_options", "integrity_check", "quick_check"}
)
_FUNCTIONS_REFUSED: Final = frozenset(
    {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "sqlite_log"}
)
_ACTION_NAMES: Final = {
    value: name.removeprefix("SQLITE_").replace("_", " ")
    for name, value in vars(sqlite3).items()
    if name.startswith(("SQLITE_CREATE_", "SQLITE_DROP_", "SQLITE_ALTER_"))
    or name.removeprefix("SQLITE_")
    in ("INSERT", "UPDATE", "DELETE", "ATTACH", "DETACH", "TRANSACTION", "SAVEPOINT", "REINDEX", "ANALYZE")
}


class Refusals:
    """The authorizer: SQLite asks it for everything that a statement would do, while the statement is compiled."""

    def __init__(self, *, writes: bool = False) -> None:
        self.last = ""
        self.shadows: dict[str, str] = {}
        """The tables that virtual ones keep themselves in, and whose each is."""
        self._writes = writes
        self._written: set[str] = set()

    def __call__(
        self, action: int, first: str | None, second: str | None, schema: str | None, within: str | None
    ) -> int:
        """What SQLite is to do with an action: go on, or refuse the statement."""
        del schema, within
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        is_row = action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
        if self._writes and is_row and self._may_be_written(first or ""):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            is_allowed, words = (second or "").lower() not in _FUNCTIONS_REFUSED, f"the function {second}"
        elif action == sqlite3.SQLITE_PRAGMA:
            name = (first or "").lower()
            is_allowed = name in _PRAGMAS_OF_A_TABLE or (name in _PRAGMAS_WITHOUT_VALUE and second is None)
            words = f"PRAGMA {name}"
        else:
            is_allowed, words = False, self._name(action, first or "")
        if is_allowed:
            return sqlite3.SQLITE_OK
        self.last = words
        return sqlite3.SQLITE_DENY

    def _name(self, action: int, table: str) -> str:
        """What is refused, in words."""
        if table in ("sqlite_master", "sqlite_temp_master", "sqlite_schema"):
            return "a change of the schema"
        if self._writes and table in self.shadows:
            return "a change of a search index's own tables"
        return _ACTION_NAMES.get(action, "that")

    def _may_be_written(self, table: str) -> bool:
        """Whether rows of a table may be changed. A statement names a virtual table before that writes its inner ones."""
        self._written.add(table)
        owner = self.shadows.get(table)
        return not table.lower().startswith("sqlite_") and (owner is None or owner in self._written)


def answers(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs statements one after another on a fresh connection; the time is for all of them together."""
    writes = "changed_rows" in request
    refusals = Refusals(writes=writes)
    try:
        connection = _connect(request, refusals, writes=writes)
    except (sqlite3.Error, ValueError, MemoryError) as error:
        return [_failure(error, "")] * len(request["statements"])
    try:
        if writes:
            return [_changed(connection, request["statements"][0], refusals, request)]
        return [_answer(connection, sql, refusals, request) for sql in request["statements"]]
    finally:
        connection.close()


def _answer(
    connection: sqlite3.Connection, sql: str, refusals: Refusals, request: dict[str, Any]
) -> dict[str, Any]:
    refusals.last = ""
    try:
        # Only at the end, where a semicolon cannot be inside a literal: there it would be followed by a quote.
        cursor = connection.execute(sql.rstrip().rstrip("; \t\r\n\f；"))
        if cursor.description is None:
            return {"error": "EMPTY", "message": "", "refused": ""}
        return _rows(cursor, request)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        return _failure(error, refusals.last)


def _changed(
    connection: sqlite3.Connection, sql: str, refusals: Refusals, request: dict[str, Any]
) -> dict[str, Any]:
    """Runs a statement that changes rows, wholly or not at all."""
    refusals.last = ""
    answer: dict[str, Any] = {"columns": [], "rows": [], "more": ""}
    try:
        before = connection.total_changes
        cursor = connection.execute(sql.rstrip().rstrip("; \t\r\n\f；"))
        if cursor.description is not None:
            answer = _rows(cursor, request)
        cursor.close()  # one that has rows left would keep the transaction open
        changed = connection.total_changes - before
        if changed > request["changed_rows"]:
            return {"error": "TOO_MANY", "message": str(changed), "refused": ""}
        connection.set_authorizer(None)
        connection.execute("COMMIT")
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        return _failure(error, refusals.last)
    return {**answer, "changed": changed}  # what was not committed ends with the connection


def _failure(error: BaseException, refused: str) -> dict[str, Any]:
    name = "SQLITE_NOMEM" if isinstance(error, MemoryError) else getattr(error, "sqlite_errorname", None)
    return {"error": name or type(error).__name__, "message": str(error), "refused": refused}


def _connect(request: dict[str, Any], refusals: Refusals, *, writes: bool) -> sqlite3.Connection:
    ends = time.monotonic() + request["seconds"]
    uri = f"{Path(request['path']).as_uri()}?mode={'rw' if writes else 'ro'}"
    connection = sqlite3.connect(uri, uri=True, timeout=request["lock_seconds"], isolation_level=None)
    connection.text_factory = _text
    if not writes:
        connection.execute("PRAGMA query_only = ON")
    connection.set_progress_handler(lambda: time.monotonic() > ends, _OPERATIONS_PER_CHECK)
    refusals.shadows = _load_schema(connection)
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, min(most, connection.getlimit(limit)))
    if writes:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN IMMEDIATE")
    connection.set_authorizer(refusals)
    return connection


def _load_schema(connection: sqlite3.Connection) -> dict[str, str]:
    """Reads the schema and connects virtual tables, which SQLite does by way of writes to the schema in memory.

    Returns the tables that virtual ones keep themselves in, and whose each is.

    It comes before the limits: the file's own tables may be wider than a query's result is allowed to be.
    """
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    virtual = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'create virtual table%' LIMIT 1000"
    ).fetchall()
    pragmas = sorted(f"pragma_{name}" for name in _PRAGMAS_OF_A_TABLE | _PRAGMAS_WITHOUT_VALUE)
    for name in ("json_each", "json_tree", *pragmas, *(row[0] for row in virtual)):
        quoted = str(name).replace('"', '""')
        try:
            connection.execute(f'EXPLAIN SELECT 1 FROM "{quoted}"').close()  # noqa: S608 - a name from the schema, quoted
        except sqlite3.OperationalError:  # its module is not in this SQLite: a query on it says so
            continue
    owners = sorted(
        (str(row[0]) for row in virtual), key=len
    )  # of "a" and "a_b", "a_b_data" is the longer one's
    try:
        shadows = connection.execute("SELECT name FROM pragma_table_list WHERE type = 'shadow'").fetchall()
    except sqlite3.OperationalError:  # before SQLite 3.37 there is no such list
        return {}
    return {str(name): owner for (name,) in shadows for owner in owners if str(name).startswith(f"{owner}_")}


def _rows(cursor: sqlite3.Cursor, request: dict[str, Any]) -> dict[str, Any]:
    columns = [_shown(str(column[0]), 200) for column in cursor.description]
    rows: list[list[Any]] = []
    more = ""
    budget = request["result_characters"]
    for row in cursor:
        if len(rows) == request["rows"]:
            more = "rows"
            break
        shown = [_shown(value, request["cell_characters"]) for value in row]
        budget -= sum(len(str(value)) + 2 for value in shown)
        if budget < 0 and rows:
            more = "size"
            break
        rows.append(shown)
    return {"columns": columns, "rows": rows, "more": more}


def _text(raw: bytes) -> str:
    """A stored text. SQLite does not check what programs store; ones on Chinese Windows store GBK."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("gb18030", errors="replace")


def _shown(value: Any, characters: int) -> Any:
    """A value as JSON can hold it, cut where it is too long."""
    if isinstance(value, bytes):
        start = value[:16].hex(" ")
        return f"(binary, {len(value):,} bytes{', starts with ' + start if start else ''})"
    if isinstance(value, str) and len(value) > characters:
        return f"{value[:characters]}… (cut; {len(value):,} characters in all)"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "infinity" if value > 0 else "-infinity"
    return value


def main() -> None:
    """Answers requests until stdin ends."""
    sys.path.append(str(Path(__file__).parent))
    lines: Any = importlib.import_module("_answering_lines")
    writes = sys.argv[1:] == ["writes"]  # the database itself may be larger than a temporary file
    lines.bound_this_process(MEMORY_BYTES, file_bytes=None if writes else TEMPORARY_FILE_BYTES)
    lines.serve(answers)


if __name__ == "__main__":
    main()
