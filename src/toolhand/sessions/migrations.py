"""The tables, as numbered steps: each is applied once, in order, in one transaction with the note that it was.

Statements are written for SQLite; `{…}` stands for what another database says differently. A step that was published is never
changed; a new need is a new step at the end. `docs/adr/0010-session-stores.md` says why there is no Alembic.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from toolhand.core.errors import StoreError
from toolhand.core.language import say

T = TypeVar("T")

Rows: TypeAlias = list[Any]
Script: TypeAlias = Generator[tuple[str, Sequence[Any]], Rows, T]
"""A transaction without I/O: it yields statements with their values, is sent the rows, and returns what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step.

    Args:
        number: which, from 1.
        name: what it is for.
        statements: what is run.
    """

    number: int
    name: str
    statements: tuple[str, ...]


MIGRATIONS: Final = (
    Migration(
        number=1,
        name="sessions, their entries and leases",
        statements=(
            """CREATE TABLE session (
                no {identity}, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, title TEXT NOT NULL DEFAULT '',
                messages INTEGER NOT NULL DEFAULT 0, created {real} NOT NULL, updated {real} NOT NULL,
                epoch {integer} NOT NULL DEFAULT 0, holder TEXT NOT NULL DEFAULT '', lease_until {real} NOT NULL DEFAULT 0
            )""",
            "CREATE INDEX session_updated ON session (updated DESC, id)",
            "CREATE INDEX session_owner ON session (owner, updated DESC, id)",
            """CREATE TABLE entry (
                id {identity}, session {integer} NOT NULL REFERENCES session (no), seq {integer} NOT NULL, kind TEXT NOT NULL,
                call_id TEXT NOT NULL DEFAULT '', at {real} NOT NULL, body TEXT NOT NULL, UNIQUE (session, seq)
            )""",
            "CREATE INDEX entry_call ON entry (session, call_id) WHERE call_id <> ''",
            """CREATE TABLE waiter (
                ticket {identity}, session {integer} NOT NULL REFERENCES session (no), holder TEXT NOT NULL,
                until {real} NOT NULL
            )""",
            "CREATE INDEX waiter_session ON waiter (session, ticket)",
        ),
    ),
    Migration(
        number=2,
        name="the audit, and the index of words",
        statements=(
            """CREATE TABLE audit (
                id {identity}, at {real} NOT NULL, who TEXT NOT NULL, session_id TEXT NOT NULL, trace_id TEXT NOT NULL,
                tool TEXT NOT NULL, outcome TEXT NOT NULL, body TEXT NOT NULL
            )""",
            "CREATE INDEX audit_at ON audit (at)",
            "CREATE INDEX audit_who ON audit (who, at)",
            "CREATE INDEX audit_tool ON audit (tool, at)",
            "CREATE INDEX audit_session ON audit (session_id, at)",
            "CREATE TABLE mark (name TEXT PRIMARY KEY, value {integer} NOT NULL)",
            "{words}",
        ),
    ),
)
"""All steps there are."""

NEWEST: Final = MIGRATIONS[-1].number


def migrate(
    dialect: Mapping[str, str],
    name: str,
    migrations: Sequence[Migration] = MIGRATIONS,
    *,
    table: str = "migration",
) -> Script[int]:
    """Brings a store to the newest schema. Run it under a lock that keeps a second process out.

    Args:
        dialect: what the database says for each `{…}`.
        name: the store, for errors.
        migrations: the steps.
        table: where it is written down which were taken.

    Returns:
        how many steps were taken.

    Raises:
        StoreError: when the store was written by a newer program.
    """
    yield (
        f"CREATE TABLE IF NOT EXISTS {table} (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL)",
        (),
    )
    rows = yield f"SELECT COALESCE(MAX(number), 0) FROM {table}", ()  # noqa: S608 - our own name
    version, newest = int(rows[0][0]), migrations[-1].number
    if version > newest:
        raise StoreError(
            say(
                f"the store {name} has schema {version}, and this version of toolhand knows schemas up to {newest}: "
                "update toolhand, or name another store",
                f"存储 {name} 的结构版本是 {version}，而这个版本的 toolhand 只认识到 {newest}：请升级 toolhand，或换一个存储",
            )
        )
    for migration in migrations[version:]:
        for statement in migration.statements:
            if text := statement.format_map(dialect):
                yield text, ()
        yield (
            f"INSERT INTO {table} (number, name, at) VALUES (?, ?, {dialect['now_text']})",  # noqa: S608
            (migration.number, migration.name),
        )
    return newest - min(version, newest)


def step_taken(table: str) -> Script[int]:
    """The step that a schema in PostgreSQL is at; 0 where there is none yet. Looking makes nothing, and needs no right to.

    Args:
        table: where it is written down which were taken.
    """
    rows = yield "SELECT to_regclass(?) IS NOT NULL", (table,)
    if not rows[0][0]:
        return 0
    rows = yield f"SELECT COALESCE(MAX(number), 0) FROM {table}", ()  # noqa: S608 - our own name
    return int(rows[0][0])
