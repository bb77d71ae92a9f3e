"""A database on a server, spoken to through processes that are ended when a statement takes too long."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from toolhand.builtin._database import Answer, QueryError, QueryLimits, Table, quoted
from toolhand.builtin._processes import GRACE_SECONDS, Processes, ProcessGoneError
from toolhand.builtin._server_teaching import MISSING, told, unusable
from toolhand.builtin._sql_schema import (
    EXAMPLE_CHARACTERS,
    MAX_EXAMPLE_LENGTH,
    MAX_LISTING_LENGTH,
    schema_note,
)
from toolhand.core.errors import MissingExtraError, SettingsError, ToolFailure
from toolhand.core.language import Language, say

_WORKER: Final = str(Path(__file__).with_name("_server_worker.py"))
_MAX_PROCESSES: Final = 4
_START_SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 12.0
_GONE: Final = {"late": ("KILLED",), "gone": ("GONE",), "busy": ("BUSY",)}
_LIBRARIES: Final = {"postgresql": ("sqlalchemy", "asyncpg", "greenlet"), "mysql": ("sqlalchemy", "pymysql")}
_MAX_BRIEF_LENGTH: Final = 1_500


class ServerDatabase:
    """A database behind an SQLAlchemy URL.

    Args:
        url: "postgresql://user:password@host/database". The driver that it may name is not used: ours sends one statement
            at a time.
        limits: what one statement may take.
        role: the role that statements run as, where the user may take it.
        only_reads: the caller's word that the user may only read, for kinds of servers that are not known here.

    Raises:
        MissingExtraError: when the extra "sql" is not installed.
        SettingsError: when the server cannot be reached or used.
    """

    def __init__(self, url: str, limits: QueryLimits, *, role: str = "", only_reads: bool = False) -> None:
        backend = url.partition("://")[0].partition("+")[0].replace("mariadb", "mysql")
        if backend == "postgres":
            url, backend = f"postgresql{url.removeprefix('postgres')}", "postgresql"
        folders = _folders(_LIBRARIES.get(backend, ("sqlalchemy",)))
        self._url = url
        self._limits = limits
        self._role = role
        self._only_reads = only_reads
        self._processes = Processes(
            lambda: [sys.executable, "-I", "-S", _WORKER, *folders],
            most=_MAX_PROCESSES,
            start_seconds=_START_SECONDS,
        )
        try:
            self._kind = str(self._asked("check", [])["server"])
            self._overview = _brief(self._schema())
        except QueryError as error:
            raise SettingsError(unusable(error, backend)) from None

    @property
    def kind(self) -> str:
        """See `Database`."""
        return self._kind

    @property
    def overview(self) -> str:
        """See `Database`."""
        return self._overview

    def run(self, sql: str, *, seconds: float | None = None) -> Answer:
        """See `Database`."""
        return _one(self._asked("read", [sql], seconds=seconds))

    def change(self, sql: str) -> Answer:
        """See `Database`."""
        return _one(self._asked("change", [sql]))

    def tables(self, only: str, language: Language) -> tuple[list[Table], str]:
        """See `Database`."""
        schema = self._schema()
        names = [str(one["table"]) for one in schema]
        if only:
            wanted = only.casefold()
            schema = [
                one for one in schema if wanted in (one["table"].casefold(), one["path"][-1].casefold())
            ]
            if not schema:
                return [], schema_note("missing", language, only=only, names=names)
        if not schema:
            return [], schema_note("empty", language)
        found: list[Table] = []
        described: list[tuple[Table, str]] = []
        length = 0
        for one in schema:
            table = Table(table=one["table"])
            if one["is_view"]:
                table["is_view"] = True
            if length < MAX_LISTING_LENGTH:
                table["columns"] = one["columns"]
                described.append((table, self._quoted(one["path"])))
            length += len(str(table))
            found.append(table)
        self._add_rows(described)
        return found, schema_note("short", language) if length >= MAX_LISTING_LENGTH else ""

    def failure(
        self, error: QueryError, sql: str, language: Language, *, writes: bool = False
    ) -> ToolFailure:
        """See `Database`."""
        del sql
        hint = self._overview
        if error.code in MISSING:
            try:
                hint = _brief(self._schema())  # what there is by now
            except QueryError:
                hint = self._overview
        return told(error, self._kind, hint, language, writes=writes)

    def close(self) -> None:
        """Ends the idle processes."""
        self._processes.close()

    def _quoted(self, path: list[str]) -> str:
        return ".".join(quoted(name, self._kind) for name in path)

    def _add_rows(self, described: list[tuple[Table, str]]) -> None:
        """Adds an example row and the number of rows; what fails is left out."""
        for what in ("*", "count(*)"):
            tail = " LIMIT 1" if what == "*" else ""
            statements = [f"SELECT {what} FROM {quoted}{tail}" for _, quoted in described]  # noqa: S608 - quoted
            try:
                replies = self._asked("read", statements, cell_characters=EXAMPLE_CHARACTERS)["answers"]
            except QueryError:
                continue
            for (table, _), reply in zip(described, replies, strict=True):
                if not reply.get("rows"):
                    continue
                if what == "*":
                    row = dict(zip(reply["columns"], reply["rows"][0], strict=True))
                    if len(str(row)) < MAX_EXAMPLE_LENGTH:
                        table["example"] = row
                else:
                    table["row_count"] = reply["rows"][0][0]

    def _schema(self) -> list[dict[str, Any]]:
        tables: list[dict[str, Any]] = self._asked("schema", [])["tables"]
        return tables

    def _asked(
        self,
        mode: str,
        statements: list[str],
        *,
        cell_characters: int | None = None,
        seconds: float | None = None,
    ) -> Any:
        limits = self._limits.within(seconds)
        request = {
            "url": self._url,
            "role": self._role,
            "mode": mode,
            "statements": statements,
            "seconds": limits.seconds,
            "lock_seconds": limits.lock_seconds,
            "rows": limits.rows,
            "changed_rows": limits.changed_rows,
            "result_characters": limits.result_characters,
            "cell_characters": cell_characters or limits.cell_characters,
            "only_reads": self._only_reads,
        }
        patience = limits.seconds + limits.lock_seconds + GRACE_SECONDS + _CONNECT_SECONDS
        try:
            answer = self._processes.ask(request, patience, wait_seconds=limits.seconds)
        except ProcessGoneError as error:
            raise QueryError(*_GONE[error.reason]) from None
        if "error" in answer:
            raise QueryError(answer["error"], answer["message"])
        return answer


def _one(answer: Any) -> Answer:
    (reply,) = answer["answers"]
    if "error" in reply:
        raise QueryError(reply["error"], reply["message"])
    return Answer(**reply)


def _folders(libraries: tuple[str, ...]) -> list[str]:
    found: dict[str, None] = {}
    for name in (*libraries, "typing_extensions"):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise MissingExtraError("sql", say("a database on a server", "服务器上的数据库"))
        path = Path(spec.origin)
        found[str(path.parent.parent if path.name == "__init__.py" else path.parent)] = None
    return list(found)


def _brief(schema: list[dict[str, Any]]) -> str:
    """The whole schema in one line, or only names; stored values are never in it."""
    if not schema:
        return "The database has no tables yet."
    whole = "Tables: " + "; ".join(f"{one['table']}({', '.join(one['names'])})" for one in schema)
    if len(whole) <= _MAX_BRIEF_LENGTH:
        return whole
    names = [str(one["table"]) for one in schema]
    listed = "Tables (call list_tables for their columns): " + ", ".join(names)
    return (
        listed
        if len(listed) <= _MAX_BRIEF_LENGTH
        else f"There are {len(names)} tables: call list_tables first."
    )
