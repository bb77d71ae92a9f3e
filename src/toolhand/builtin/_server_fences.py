"""What keeps a statement to reading, for each kind of database server. Loaded by `_server_worker.py`; imports nothing of ours.

PostgreSQL: a read-only transaction that has already read, so that nothing can turn it back; `DECLARE … CURSOR FOR`, which the
server's grammar lets stand before one query only, without writing parts; a driver that sends one statement at a time. What a
read-only transaction leaves open (files, other connections, signals, settings) is done by functions, so the catalogue is asked
what the functions of the statement are: volatile ones of the server itself or of libraries, and ones in languages that can do
anything, are refused. A superuser may get around any of it and is refused.

MySQL and MariaDB: a read-only transaction, one statement, one that asks; a user who may write files is refused.

Sources: PostgreSQL's manual, SET TRANSACTION, DECLARE, and src/backend/commands/variable.c; MySQL's manual, START TRANSACTION.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

# As PostgreSQL's src/backend/parser/scan.l has them: every character beyond ASCII belongs to a name, and a comment also ends
# with a carriage return. A difference here would be a place to hide a function's name in.
_SPACE: Final = re.compile(r"(?:[ \t\n\r\f\v]|--[^\n\r]*)+")
_STRING: Final = re.compile(r"'(?:[^']|'')*'")
_BITS: Final = re.compile(r"[bBxX]'[^']*'")
_ESCAPED_STRING: Final = re.compile(r"[eE]'(?:[^'\\]|''|\\.)*'", re.DOTALL)
_DOLLAR: Final = re.compile("\\$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?\\$")
_QUOTED: Final = re.compile(r'"((?:[^"]|"")*)"')
_WORD: Final = re.compile("[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*")
_UNICODE_NAME: Final = re.compile(r"[uU]&[\"']")
_HARMLESS: Final = (
    "random", "random_normal", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7", "uuid_generate_v4",
    "pg_relation_size", "pg_table_size", "pg_total_relation_size", "pg_indexes_size", "pg_database_size", "pg_tablespace_size",
    "currval", "lastval",
)  # fmt: skip
_ASKING: Final = frozenset({"select", "with", "values", "table", "explain", "show", "describe", "desc"})
_CHANGING: Final = frozenset({"insert", "update", "delete", "merge", "replace", "with"})
_POSTGRES_SYSTEM: Final = re.compile(r"pg_|information_schema$")
_POSTGRES_ROLES: Final = ("pg_read_server_files", "pg_write_server_files", "pg_execute_server_program")


class RefusedError(Exception):
    """What a fence does not let through.

    Args:
        code: "REFUSED", "EMPTY", "PRIVILEGED", "TOO_MANY" or "UNKNOWN".
        message: what was refused, in words.
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def fence_of(request: Mapping[str, Any]) -> Any:
    """The fence for a URL's kind of server.

    Raises:
        RefusedError: when none is known for it and the caller has not vouched for its user.
    """
    from sqlalchemy.engine import make_url  # noqa: PLC0415

    url = make_url(request["url"])
    kind = FENCES.get(url.get_backend_name())
    if kind is None and not request["only_reads"]:
        raise RefusedError("UNKNOWN", url.get_backend_name())
    return (kind or Fence)(url)


class Fence:
    """A server of any other kind, whose user may only read, as the caller says.

    Args:
        url: SQLAlchemy's.
    """

    is_async = False
    engine_options: Mapping[str, Any] = {}

    def __init__(self, url: Any) -> None:
        self.url = url
        self.name = url.get_backend_name()

    def arguments(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """What the driver is given beside the URL."""
        del request
        return {}

    def begun(self, connection: Any, request: Mapping[str, Any], *, writes: bool) -> Any:
        """The connection in a transaction that can do no more than it should."""
        del request, writes
        return connection.execution_options(stream_results=True, max_row_buffer=10)

    def reading(self, connection: Any, sql: str) -> Any:
        """The rows of a statement that asks. No values come with it, so that a "%" is one."""
        if first_word(sql) not in _ASKING:
            raise RefusedError("REFUSED", f"{first_word(sql).upper() or 'that'}")
        return connection.execution_options(no_parameters=True).exec_driver_sql(trimmed(sql))

    def changing(self, connection: Any, sql: str) -> Any:
        """The outcome of a statement that changes rows."""
        if first_word(sql) not in _CHANGING:
            raise RefusedError("REFUSED", f"{first_word(sql).upper() or 'that'}")
        return connection.execution_options(stream_results=False, no_parameters=True).exec_driver_sql(
            trimmed(sql)
        )

    def is_shown(self, schema: str, inspector: Any) -> bool:
        """Whether a schema beside the usual one is the user's own."""
        del schema, inspector
        return False


class Postgres(Fence):
    """PostgreSQL, by asyncpg: each statement is prepared, and only one can be."""

    is_async = True

    def __init__(self, url: Any) -> None:
        query = dict(url.query)
        sslmode = query.pop("sslmode", None)
        if sslmode is not None:
            query["ssl"] = sslmode
        super().__init__(url.set(drivername="postgresql+asyncpg", query=query))
        self.name = "PostgreSQL"

    def arguments(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """See `Fence`."""
        milliseconds = str(int(request["seconds"] * 1000))
        reads = "off" if request["mode"] == "change" else "on"
        return {
            "timeout": 10,
            "statement_cache_size": 0,
            "prepared_statement_cache_size": 0,  # a FETCH that is kept would have the columns of the query before
            "server_settings": {
                "application_name": "toolhand",
                "standard_conforming_strings": "on",  # `tokens` reads literals so
                "default_transaction_read_only": reads,
                "statement_timeout": milliseconds,
                "lock_timeout": str(int(request["lock_seconds"] * 1000)),
                "idle_in_transaction_session_timeout": str(int(request["seconds"] * 1000) + 60_000),
            },
        }

    def begun(self, connection: Any, request: Mapping[str, Any], *, writes: bool) -> Any:
        """See `Fence`."""
        if not writes:
            connection = connection.execution_options(postgresql_readonly=True)
        if request["role"]:
            role = request["role"].replace('"', '""')
            connection.exec_driver_sql(f'SET LOCAL ROLE "{role}"')
        # It also takes the transaction's snapshot, after which it cannot be made a writing one.
        rights = connection.exec_driver_sql(
            "SELECT rolsuper OR EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = ANY($1)"
            " AND pg_has_role(current_user, r.oid, 'USAGE')) FROM pg_roles WHERE rolname = current_user",
            (list(_POSTGRES_ROLES),),
        )
        if rights.scalar():
            raise RefusedError("PRIVILEGED")
        return connection

    def reading(self, connection: Any, sql: str) -> Any:
        """See `Fence`."""
        first = first_word(sql)
        if not first:
            raise RefusedError("EMPTY")
        if first in ("explain", "show"):
            self._check_functions(connection, sql)
            return connection.exec_driver_sql(trimmed(sql))
        if first not in _ASKING:
            raise RefusedError("REFUSED", first.upper())
        self._check_functions(connection, sql)
        connection.exec_driver_sql(f"DECLARE toolhand_rows NO SCROLL CURSOR FOR\n{trimmed(sql)}")
        return _Fetched(connection)

    def changing(self, connection: Any, sql: str) -> Any:
        """See `Fence`."""
        if first_word(sql) not in _CHANGING:
            raise RefusedError("REFUSED", first_word(sql).upper() or "that")
        self._check_functions(connection, sql)
        return connection.exec_driver_sql(trimmed(sql))

    def _check_functions(self, connection: Any, sql: str) -> None:
        names = sorted(set(functions(sql)))
        if not names:
            return
        found = connection.exec_driver_sql(
            "SELECT p.proname FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang"
            " WHERE p.proname = ANY($1) AND p.proname <> ALL($2) AND NOT l.lanpltrusted"
            " AND (p.provolatile = 'v' OR l.lanname NOT IN ('internal', 'c')) LIMIT 1",
            (names, list(_HARMLESS)),
        ).scalar()
        if found is not None:
            raise RefusedError("REFUSED", f"the function {found}")

    def is_shown(self, schema: str, inspector: Any) -> bool:
        """See `Fence`."""
        return schema != inspector.default_schema_name and not _POSTGRES_SYSTEM.match(schema)


class _Fetched:
    """The rows of PostgreSQL's cursor, as many at a time as are wanted."""

    returns_rows = True

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._first = self._more(1)

    def _more(self, count: int) -> Any:
        return self._connection.exec_driver_sql(f"FETCH FORWARD {count} FROM toolhand_rows")

    def keys(self) -> Any:
        """The columns."""
        return self._first.keys()

    def fetchmany(self, count: int) -> Any:
        """The next rows. The first comes alone: it may be large."""
        if self._first is not None:
            self._columns = self._first.keys()
            rows, self._first = self._first.fetchall(), None
            return rows
        return self._more(count).fetchall()


class MySql(Fence):
    """MySQL and MariaDB, by PyMySQL, which does not let several statements through."""

    def __init__(self, url: Any) -> None:
        super().__init__(url.set(drivername=f"{url.get_backend_name()}+pymysql"))
        self.name = "MySQL" if url.get_backend_name() == "mysql" else "MariaDB"

    def arguments(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """See `Fence`."""
        seconds = int(request["seconds"]) + 2
        return {
            "connect_timeout": 10,
            "read_timeout": seconds,
            "write_timeout": seconds,
            "local_infile": False,
            "charset": "utf8mb4",
        }

    def begun(self, connection: Any, request: Mapping[str, Any], *, writes: bool) -> Any:
        """See `Fence`."""
        if request["role"]:
            role = request["role"].replace("`", "``")
            connection.exec_driver_sql(f"SET ROLE `{role}`")
        is_maria = "mariadb" in str(connection.exec_driver_sql("SELECT version()").scalar()).lower()
        for grant in connection.exec_driver_sql(_grants(connection, is_maria=is_maria)).scalars().all():
            if re.match(r"GRANT (?:.*, )?(?:ALL PRIVILEGES|FILE|SUPER)\b.* ON \*\.\*", grant):
                raise RefusedError("PRIVILEGED")
        seconds = request["seconds"]
        connection.exec_driver_sql(
            f"SET SESSION max_statement_time = {float(seconds)}"
            if is_maria
            else f"SET SESSION max_execution_time = {int(seconds * 1000)}"
        )
        connection.exec_driver_sql(
            f"SET SESSION innodb_lock_wait_timeout = {max(1, int(request['lock_seconds']))}"
        )
        if not writes:
            connection.exec_driver_sql("SET SESSION TRANSACTION READ ONLY")
            connection.rollback()
            connection.exec_driver_sql("START TRANSACTION READ ONLY")
        return connection.execution_options(stream_results=True, max_row_buffer=10)

    def reading(self, connection: Any, sql: str) -> Any:
        """See `Fence`."""
        _check_comments(sql)
        return super().reading(connection, sql)

    def changing(self, connection: Any, sql: str) -> Any:
        """See `Fence`."""
        _check_comments(sql)
        return super().changing(connection, sql)

    def is_shown(self, schema: str, inspector: Any) -> bool:
        """See `Fence`."""
        del schema, inspector
        return False


def _check_comments(sql: str) -> None:
    """MySQL runs what stands in some comments, and takes settings, such as how long a statement may take, from others."""
    if re.search(r"/\*(?:M?!|\+)", sql):
        raise RefusedError("REFUSED", "a comment that is run")


def _grants(connection: Any, *, is_maria: bool) -> str:
    """What lists the rights of the user; MySQL leaves out those of active roles unless they are named."""
    if is_maria:
        return "SHOW GRANTS"
    try:
        roles = str(connection.exec_driver_sql("SELECT current_role()").scalar())
    except Exception:  # noqa: BLE001 - before version 8 there are no roles
        return "SHOW GRANTS"
    return "SHOW GRANTS" if roles == "NONE" else f"SHOW GRANTS FOR CURRENT_USER() USING {roles}"


FENCES: Final[Mapping[str, type[Fence]]] = {"postgresql": Postgres, "mysql": MySql, "mariadb": MySql}


def trimmed(sql: str) -> str:
    """A statement without what models put at its end."""
    return sql.rstrip().rstrip("; \t\r\n\f；")


def first_word(sql: str) -> str:
    """A statement's first word, in small letters, behind comments and parentheses."""
    for kind, text in tokens(sql):
        if kind == "word":
            return text.lower()
        if text != "(":
            return ""
    return ""


def functions(sql: str) -> Iterator[str]:
    """The names that stand before a parenthesis, as PostgreSQL keeps them.

    Raises:
        RefusedError: when names are written so that they cannot be read.
    """
    name = ""
    for kind, text in tokens(sql):
        if kind == "symbol" and text == "(" and name:
            yield name
        name = text.lower() if kind == "word" else text if kind == "name" else ""


def tokens(sql: str) -> Iterator[tuple[str, str]]:
    """The words, names in quotes and symbols of a statement, as PostgreSQL reads it; literals and comments are left out.

    Raises:
        RefusedError: when it holds names in Unicode escapes.
    """
    at, is_after_literal = 0, False
    while at < len(sql):
        if match := _SPACE.match(sql, at):
            at = match.end()
            continue
        if sql.startswith("/*", at):
            at = _end_of_comment(sql, at)
            continue
        if _UNICODE_NAME.match(sql, at):
            raise RefusedError("REFUSED", "a name in Unicode escapes")
        elif match := _literal(sql, at):
            # Literals side by side are one, and the second is read as the first is: nobody needs that.
            if is_after_literal:
                raise RefusedError("REFUSED", "a string beside a string")
            at, is_after_literal = match.end(), True
            yield "literal", ""
            continue
        elif match := _DOLLAR.match(sql, at):
            end = sql.find(match[0], match.end())
            at = len(sql) if end < 0 else end + len(match[0])
            yield "literal", ""
        elif match := _QUOTED.match(sql, at):
            at = match.end()
            yield "name", match[1].replace('""', '"')
        elif match := _WORD.match(sql, at):
            at = match.end()
            yield "word", match[0]
        else:
            yield "symbol", sql[at]
            at += 1
        is_after_literal = False


def _literal(sql: str, at: int) -> re.Match[str] | None:
    return _BITS.match(sql, at) or _ESCAPED_STRING.match(sql, at) or _STRING.match(sql, at)


def _end_of_comment(sql: str, at: int) -> int:
    """Where a comment ends; they may be nested."""
    depth, here = 0, at
    for match in re.compile(r"/\*|\*/").finditer(sql, at):
        depth += 1 if match[0] == "/*" else -1
        here = match.end()
        if not depth:
            return here
    return len(sql)
