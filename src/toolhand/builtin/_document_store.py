"""The index of a folder's documents: passages, their words by SQLite's FTS5, and their vectors, in one file.

Sources: https://www.sqlite.org/fts5.html; Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolhand.builtin._document_passages import Passage
from toolhand.builtin._document_words import asked, indexed
from toolhand.core.errors import SettingsError
from toolhand.core.language import say

_APPLICATION: Final = 0x54486478
_VERSION: Final = 1
_SCHEMA: Final = f"""
    CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE, size INTEGER, modified REAL, skipped TEXT);
    CREATE TABLE passages (
        id INTEGER PRIMARY KEY, file INTEGER REFERENCES files (id), page INTEGER, heading TEXT, line INTEGER, text TEXT
    );
    CREATE INDEX passages_of_file ON passages (file);
    CREATE VIRTUAL TABLE words USING fts5(title, body, content='', tokenize="porter unicode61 remove_diacritics 2");
    CREATE TABLE vectors (passage INTEGER PRIMARY KEY, model TEXT, vector BLOB);
    PRAGMA application_id = {_APPLICATION};
    PRAGMA user_version = {_VERSION};
"""
_TITLE_WEIGHT: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A file as the index has it.

    Args:
        size: bytes.
        modified: seconds since 1970.
        skipped: why it cannot be searched, or "".
    """

    size: int
    modified: float
    skipped: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A passage and the file that it is in.

    Args:
        id: the index's own number.
        path: the file, relative to the folder.
        passage: the passage.
    """

    id: int
    path: str
    passage: Passage


class DocumentStore:
    """The file that an index is kept in. Safe in any thread and in several processes.

    Args:
        path: the file; made where there is none.

    Raises:
        SettingsError: when the file is something else, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not path.exists():
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # it holds what the documents say
            self._prepare()
        except (OSError, sqlite3.OperationalError) as error:
            raise SettingsError(
                say(
                    f"the index of the documents cannot be written at {path} ({error}): give another place",
                    f"无法在 {path} 写入文档索引（{error}）：请给出其他位置",
                )
            ) from None

    def _prepare(self) -> None:
        try:
            with closing(sqlite3.connect(self.path, timeout=30)) as connection:
                is_ours = connection.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION
                version = connection.execute("PRAGMA user_version").fetchone()[0]
                is_empty = not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
                if is_ours and version == _VERSION:
                    return
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            is_ours = is_empty = False
        if not (is_ours or is_empty):
            raise SettingsError(
                say(
                    f"{self.path} is no index of documents: give another place, or remove it",
                    f"{self.path} 不是文档索引：请给出其他位置，或将其删除",
                )
            )
        if is_ours:  # of another version of this package: it is built anew
            self._remove()
        with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
            connection.execute("COMMIT")

    def _remove(self) -> None:
        for ending in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    @contextmanager
    def _opened(self, *, writes: bool = False) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            yield connection
            connection.execute("COMMIT")

    def files(self) -> dict[str, Known]:
        """What is known, by path."""
        with self._opened() as connection:
            rows = connection.execute("SELECT path, size, modified, skipped FROM files").fetchall()
        return {row[0]: Known(size=row[1], modified=row[2], skipped=row[3]) for row in rows}

    def has(self, under: str) -> bool:
        """Whether there is a file, or a folder with files, of that path."""
        with self._opened() as connection:
            found = connection.execute(
                "SELECT 1 FROM files WHERE path = ? OR substr(path, 1, ?) = ? LIMIT 1", _under(under)
            )
            return found.fetchone() is not None

    def put(self, path: str, known: Known, passages: Sequence[Passage]) -> None:
        """Keeps a file's passages instead of those that it had."""
        with self._opened(writes=True) as connection:
            self._take_out(connection, path)
            file = connection.execute(
                "INSERT INTO files (path, size, modified, skipped) VALUES (?, ?, ?, ?)",
                (path, known.size, known.modified, known.skipped),
            ).lastrowid
            for passage in passages:
                number = connection.execute(
                    "INSERT INTO passages (file, page, heading, line, text) VALUES (?, ?, ?, ?, ?)",
                    (file, passage.page, passage.heading, passage.line, passage.text),
                ).lastrowid
                connection.execute(
                    "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)",
                    (number, indexed(f"{path} {passage.heading}"), indexed(passage.text)),
                )

    def drop(self, path: str) -> None:
        """Forgets a file."""
        with self._opened(writes=True) as connection:
            self._take_out(connection, path)

    @staticmethod
    def _take_out(connection: sqlite3.Connection, path: str) -> None:
        rows = connection.execute(
            "SELECT p.id, p.heading, p.text FROM passages AS p JOIN files AS f ON f.id = p.file WHERE f.path = ?",
            (path,),
        ).fetchall()
        for number, heading, text in rows:
            connection.execute(  # an index without its texts is told what it forgets
                "INSERT INTO words (words, rowid, title, body) VALUES ('delete', ?, ?, ?)",
                (number, indexed(f"{path} {heading}"), indexed(text)),
            )
            connection.execute("DELETE FROM vectors WHERE passage = ?", (number,))
            connection.execute("DELETE FROM passages WHERE id = ?", (number,))
        connection.execute("DELETE FROM files WHERE path = ?", (path,))

    def by_words(self, question: str, most: int, under: str = "") -> list[int]:
        """The passages that share words with a question, best first.

        Args:
            question: in any words.
            most: how many at most.
            under: only this file, or the files in this folder; "" for all.
        """
        words = asked(question)
        if not words:
            return []
        # A word is quoted: what is in it means nothing to the index.
        query = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        with self._opened() as connection:
            rows = connection.execute(
                "SELECT w.rowid FROM words AS w JOIN passages AS p ON p.id = w.rowid JOIN files AS f ON f.id = p.file"
                " WHERE words MATCH ? AND (f.path = ? OR substr(f.path, 1, ?) = ?) ORDER BY bm25(words, ?, 1.0) LIMIT ?",
                (query, *_under(under), _TITLE_WEIGHT, most),
            ).fetchall()
        return [row[0] for row in rows]

    def placed(self, numbers: Sequence[int]) -> list[Placed]:
        """Passages by their numbers, in that order; one that is gone is left out."""
        with self._opened() as connection:
            found = {
                row[0]: Placed(
                    id=row[0],
                    path=row[1],
                    passage=Passage(page=row[2], heading=row[3], line=row[4], text=row[5]),
                )
                for number in numbers
                for row in connection.execute(
                    "SELECT p.id, f.path, p.page, p.heading, p.line, p.text FROM passages AS p"
                    " JOIN files AS f ON f.id = p.file WHERE p.id = ?",
                    (number,),
                )
            }
        return [found[number] for number in numbers if number in found]

    def without_vector(self, model: str, most: int) -> list[tuple[int, str]]:
        """Passages that have no vector of a model yet, as number and text."""
        with self._opened() as connection:
            return connection.execute(
                "SELECT p.id, p.heading || char(10) || p.text FROM passages AS p WHERE NOT EXISTS"
                " (SELECT 1 FROM vectors AS v WHERE v.passage = p.id AND v.model = ?) ORDER BY p.id LIMIT ?",
                (model, most),
            ).fetchall()

    def put_vectors(self, model: str, vectors: Mapping[int, bytes]) -> None:
        """Keeps vectors; those of passages that are gone by now are not kept."""
        with self._opened(writes=True) as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vectors SELECT id, ?, ? FROM passages WHERE id = ?",
                [(model, vector, number) for number, vector in vectors.items()],
            )

    def vectors(self, model: str, under: str = "") -> list[tuple[int, bytes]]:
        """All vectors of a model, by passage."""
        with self._opened() as connection:
            return connection.execute(
                "SELECT v.passage, v.vector FROM vectors AS v JOIN passages AS p ON p.id = v.passage"
                " JOIN files AS f ON f.id = p.file WHERE v.model = ? AND (f.path = ? OR substr(f.path, 1, ?) = ?)"
                " ORDER BY v.passage",
                (model, *_under(under)),
            ).fetchall()


def _under(path: str) -> tuple[str, int, str]:
    """The values that say: this file itself, or what lies in this folder."""
    folder = f"{path}/" if path else ""
    return path, len(folder), folder
