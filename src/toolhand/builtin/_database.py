"""What the SQL tools need of a database, whichever it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NotRequired, Protocol, TypedDict

from toolhand.core.errors import ToolFailure
from toolhand.core.language import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """What one statement may take.

    Args:
        seconds: time until it is stopped.
        rows: rows that come back.
        result_characters: characters of all values together.
        cell_characters: characters of one value; a longer one is cut, with a mark.
        lock_seconds: how long to wait while another program writes.
        changed_rows: rows that a writing statement may change; one that would change more changes none.
    """

    seconds: float = 5.0
    rows: int = 100
    result_characters: int = 20_000
    cell_characters: int = 2_000
    lock_seconds: float = 1.0
    changed_rows: int = 1_000

    def within(self, seconds: float | None) -> QueryLimits:
        """The same with less time, where less is given; never none at all."""
        return self if seconds is None else replace(self, seconds=min(self.seconds, max(seconds, 0.05)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The rows of a statement.

    Args:
        columns: their titles.
        rows: JSON values, in the order of the columns.
        more: why rows are missing: "rows" (too many), "size" (too long), or "".
        changed: how many rows a writing statement changed.
    """

    columns: list[str]
    rows: list[list[Any]]
    more: str = ""
    changed: int = 0


class QueryError(Exception):
    """A statement failed.

    Args:
        code: the database's name for it, such as "SQLITE_BUSY" or "42P01"; or a name of ours, such as "KILLED" (out of time) and
            "GONE" (the process died, most likely for want of memory).
        message: the database's sentence.
        refused: what was refused, in words.
    """

    def __init__(self, code: str, message: str = "", refused: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.refused = refused


def quoted(name: str, kind: str = "") -> str:
    """A name as SQL writes it, whatever is in it.

    Args:
        name: of a table, a column or a schema.
        kind: whose SQL, as `Database.kind` says.
    """
    mark = "`" if kind in ("MySQL", "MariaDB") else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


class Table(TypedDict):
    """A table or view. `row_count` is missing where counting took too long, `columns` where the listing grew too long."""

    table: str
    columns: NotRequired[list[str]]
    row_count: NotRequired[int]
    example: NotRequired[dict[str, Any]]
    is_view: NotRequired[bool]


class Database(Protocol):
    """A database that the SQL tools are over. Safe in any thread."""

    @property
    def kind(self) -> str:
        """What it is called, such as "SQLite"."""
        ...

    @property
    def overview(self) -> str:
        """Its tables in brief, for a tool's description."""
        ...

    def run(self, sql: str, *, seconds: float | None = None) -> Answer:
        """Runs one statement that reads.

        Args:
            sql: the statement.
            seconds: where it may take less time than the limits allow.

        Raises:
            QueryError: when it fails, is refused, or takes too much.
        """
        ...

    def change(self, sql: str) -> Answer:
        """Runs one statement that writes, wholly or not at all.

        Raises:
            QueryError: when it fails, is refused, or takes too much.
        """
        ...

    def tables(self, only: str, language: Language) -> tuple[list[Table], str]:
        """The tables in full, and a note for the model.

        Raises:
            QueryError: when they cannot be read.
        """
        ...

    def failure(
        self, error: QueryError, sql: str, language: Language, *, writes: bool = False
    ) -> ToolFailure:
        """The failure of a statement, in words that help to mend it."""
        ...
