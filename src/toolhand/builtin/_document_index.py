"""Keeps an index of a folder's documents up to date, and searches it by words and, where wanted, by vectors."""

from __future__ import annotations

import hashlib
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from toolhand.builtin._document_passages import Passage, passages
from toolhand.builtin._document_reading import DocumentReader, UnreadableError, kind_of
from toolhand.builtin._document_store import DocumentStore, Known, Placed
from toolhand.builtin._file_walk import Budget, FileLimits, below
from toolhand.builtin._rooted import root_at
from toolhand.core.errors import MissingExtraError, ModelError
from toolhand.core.language import say
from toolhand.execution.running import run_blocking
from toolhand.models.embeddings import Embeddings
from toolhand.models.weights.cache import cache_folder

_CANDIDATES: Final = 50
_RANK_OFFSET: Final = 60
"""Reciprocal rank fusion's constant. Source: Cormack, Clarke and Büttcher, SIGIR 2009."""

_BATCH: Final = 64
_LOOKED_AT_SECONDS: Final = 2.0

Progress = Callable[[int, int, str], None]
"""Is told how many files are done, of how many, and which is next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """What an index may take.

    Args:
        files: documents in the folder.
        file_bytes: a larger file is named and skipped.
        file_characters: text of one document that is indexed.
        file_seconds: for reading one document.
        call_seconds: how long a search may bring the index up to date before it answers with what there is.
    """

    files: int = 20_000
    file_bytes: int = 50 * 2**20
    file_characters: int = 5_000_000
    file_seconds: float = 30.0
    call_seconds: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far an index is.

    Args:
        files: documents in the folder.
        waiting: those of them that are new or changed and not indexed yet.
        skipped: those that cannot be searched, and why.
        is_cut: whether there are more documents than an index takes.
    """

    files: int
    waiting: int
    skipped: dict[str, str]
    is_cut: bool


class DocumentIndex:
    """An index of the documents under a folder. Safe in any thread.

    Args:
        folder: the folder. Links in it are not followed.
        index: the file that the index is kept in; by default one in the user's cache folder.
        embeddings: the model that gives vectors; None for words alone.
        limits: what the index may take.

    Raises:
        SettingsError: when it is no folder, or the index cannot be written.
        MissingExtraError: when the extra "docs-search" is not installed, or "vectors" where vectors are wanted.
    """

    def __init__(
        self,
        folder: Path,
        *,
        index: Path | None = None,
        embeddings: Embeddings | None = None,
        limits: DocumentLimits | None = None,
    ) -> None:
        self._limits = limits or DocumentLimits()
        self._place = root_at(folder)
        self._reader = DocumentReader(
            self._place,
            file_bytes=self._limits.file_bytes,
            characters=self._limits.file_characters,
            seconds=self._limits.file_seconds,
        )
        self._embeddings = embeddings
        self._numpy = None if embeddings is None else _numpy()
        self.store = DocumentStore(index or default_place(folder))
        self._lock = threading.Lock()
        self._looked_at = float("-inf")
        self._state = State(files=0, waiting=0, skipped={}, is_cut=False)

    @property
    def call_seconds(self) -> float:
        """How long a search may bring the index up to date."""
        return self._limits.call_seconds

    def update(self, *, progress: Progress | None = None, seconds: float | None = None) -> State:
        """Brings the index up to date: reads what is new or changed, and forgets what is gone.

        Args:
            progress: is told how far it is.
            seconds: until it stops with what it has; None for no limit.
        """
        ends = float("inf") if seconds is None else time.monotonic() + seconds
        if not self._lock.acquire(timeout=-1 if seconds is None else seconds):
            return self._state  # another thread is at it
        try:
            if seconds is not None and time.monotonic() - self._looked_at < _LOOKED_AT_SECONDS:
                return self._state
            self._state = self._updated(progress or _nobody, ends)
            if not self._state.waiting:
                self._looked_at = time.monotonic()
            return self._state
        finally:
            self._lock.release()

    def search(self, question: str, most: int, under: str = "") -> list[Placed]:
        """The passages that answer a question best, best first.

        Args:
            question: in any words.
            most: how many at most.
            under: only this file, or the files in this folder; "" for all.

        Raises:
            ModelError: when the embedding model cannot be asked.
        """
        lists = [self.store.by_words(question, _CANDIDATES, under)]
        if self._embeddings is not None:
            lists.append(self._by_vector(question, under))
        scores: dict[int, float] = {}
        for ranked in lists:
            for rank, number in enumerate(ranked):
                scores[number] = scores.get(number, 0.0) + 1 / (_RANK_OFFSET + rank)
        best = sorted(scores, key=lambda number: -scores[number])
        return self.store.placed(best[:most])

    def has(self, under: str) -> bool:
        """Whether there is a file, or a folder with files, of that path."""
        return self.store.has(under)

    def search_words(self, question: str, most: int, under: str = "") -> list[Placed]:
        """As `search`, by words alone: for when the embedding model cannot be asked."""
        return self.store.placed(self.store.by_words(question, most, under))

    def close(self) -> None:
        """Ends the processes that read documents."""
        self._reader.close()

    def _updated(self, progress: Progress, ends: float) -> State:
        there, is_cut = self._there()
        known = self.store.files()
        for path in known.keys() - there.keys():
            self.store.drop(path)
        changed = [
            path for path, stamp in there.items()
            if path not in known or (known[path].size, known[path].modified) != stamp or known[path].skipped in ("gone", "extra")
        ]  # fmt: skip
        skipped = {path: one.skipped for path, one in known.items() if one.skipped and path in there}
        done = 0
        for path in changed:
            if time.monotonic() > ends:
                break
            progress(done, len(changed), path)
            skipped.pop(path, None)
            if reason := self._take_in(path, *there[path]):
                skipped[path] = reason
            done += 1
        self._add_vectors(progress, ends)
        if done == len(changed):
            progress(done, done, "")
        return State(
            files=len(there),
            waiting=len(changed) - done,
            skipped=dict(sorted(skipped.items())),
            is_cut=is_cut,
        )

    def _there(self) -> tuple[dict[str, tuple[int, float]], bool]:
        """The documents in the folder by path, with size and time of change."""
        limits = self._limits
        budget = Budget(FileLimits(visited=limits.files * 5, seconds=600.0))
        found: dict[str, tuple[int, float]] = {}
        for names, entry in below(self._place, (), budget):
            if kind_of(names[-1]):
                if len(found) == limits.files:
                    return found, True
                found["/".join(names)] = (entry.size_bytes, entry.modified)
        return found, budget.is_spent or budget.has_left_out

    def _take_in(self, path: str, size: int, modified: float) -> str:
        """Reads a file into the index; gives why it cannot be searched, or ""."""
        cut: list[Passage] = []
        reason = ""
        try:
            cut = list(passages(self._reader.parts(tuple(path.split("/")))))
        except UnreadableError as error:
            reason = error.reason
        self.store.put(path, Known(size=size, modified=modified, skipped=reason), cut)
        return reason

    def _add_vectors(self, progress: Progress, ends: float) -> None:
        if self._embeddings is None:
            return
        while time.monotonic() < ends and (rows := self.store.without_vector(self._embeddings.name, _BATCH)):
            progress(0, len(rows), self._embeddings.name)
            try:
                found = run_blocking(self._embeddings.vectors([text for _, text in rows]))
            except ModelError:
                return  # words alone find most; the next search asks again
            packed = {
                number: array("f", vector).tobytes() for (number, _), vector in zip(rows, found, strict=True)
            }
            self.store.put_vectors(self._embeddings.name, packed)

    def _by_vector(self, question: str, under: str) -> list[int]:
        """The passages that are nearest in meaning, by cosine over all of them."""
        assert self._embeddings is not None  # noqa: S101 - asked only where there is one
        rows = self.store.vectors(self._embeddings.name, under)
        if not rows:
            return []
        numpy: Any = self._numpy
        (vector,) = run_blocking(self._embeddings.vectors([question]))
        rows = [row for row in rows if len(row[1]) == len(vector) * 4]
        matrix = numpy.frombuffer(b"".join(row[1] for row in rows), dtype=numpy.float32)
        matrix = matrix.reshape(len(rows), len(vector))
        nearness = (matrix @ numpy.asarray(vector, dtype=numpy.float32)) / (
            numpy.linalg.norm(matrix, axis=1) + 1e-9
        )
        order = numpy.argsort(-nearness)[:_CANDIDATES]
        return [rows[int(place)][0] for place in order]


def default_place(folder: Path) -> Path:
    """Where a folder's index is kept unless another place is given."""
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:20]
    return cache_folder() / "documents" / f"{name}.db"


def _numpy() -> Any:
    try:
        return import_module("numpy")
    except ImportError:
        raise MissingExtraError("vectors", say("searching documents by vectors", "按向量搜索文档")) from None


def _nobody(done: int, total: int, path: str) -> None:
    """Nobody listens."""
    del done, total, path
