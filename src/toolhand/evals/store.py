"""Evaluations in SQLite: each attempt is written when it ends, so that nothing is lost when the process stops."""

from __future__ import annotations

import datetime as dt
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.evals.case import Suite
from toolhand.evals.results import Attempt, Evaluation, Subject, attempt_of

VARIABLE: Final = "TOOLHAND_EVALS"
"""The environment variable that names the file."""

DEFAULT_PATH: Final = Path(".toolhand") / "evals.db"

_VERSION: Final = 1

_SCHEMA: Final = """
create table if not exists evaluations (
    id text primary key, suite text not null, started text not null, state text not null, repeat integer not null,
    subjects text not null, note text not null);
create table if not exists cases (
    evaluation text not null, number integer not null, id text not null, written text not null,
    primary key (evaluation, id)) without rowid;
create table if not exists attempts (
    evaluation text not null, subject text not null, case_id text not null, repeat integer not null,
    outcome text not null, body text not null,
    primary key (evaluation, subject, case_id, repeat)) without rowid;
"""


def default_path() -> Path:
    """What `TOOLHAND_EVALS` names, or `.toolhand/evals.db` in the current folder."""
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named).expanduser() if named else DEFAULT_PATH


class Store:
    """A file of evaluations. Several processes may write to it at once.

    Args:
        path: the file; made when something is first written, for its owner alone.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = default_path() if path is None else Path(path).expanduser()
        self._held: sqlite3.Connection | None = None

    @contextmanager
    def held_open(self) -> Iterator[None]:
        """Keeps the file open for many writes from one thread: opening and closing costs more than writing."""
        with self._open(writes=True), closing(sqlite3.connect(self.path, timeout=30)) as database:
            database.execute("pragma synchronous = normal")
            self._held = database
            try:
                yield
            finally:
                self._held = None

    def begin(
        self, suite: Suite, subjects: Sequence[Subject], *, repeat: int = 1, note: str = ""
    ) -> Evaluation:
        """A new evaluation without attempts.

        Raises:
            SettingsError: when the file cannot be written.
        """
        now = dt.datetime.now(dt.UTC)
        evaluation = Evaluation(
            id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
            suite=suite.name,
            started=now.isoformat(timespec="milliseconds"),
            subjects=tuple(subjects),
            cases=tuple(case.id for case in suite.cases),
            written={case.id: case.written for case in suite.cases},
            repeat=repeat,
            note=note,
        )
        with self._open(writes=True) as database:
            database.execute(
                "insert into evaluations values (?, ?, ?, ?, ?, ?, ?)",
                (
                    evaluation.id,
                    evaluation.suite,
                    evaluation.started,
                    evaluation.state,
                    repeat,
                    _json([{"model": s.model, "protocol": s.protocol} for s in subjects]),
                    note,
                ),
            )
            database.executemany(
                "insert into cases values (?, ?, ?, ?)",
                [
                    (evaluation.id, number, case.id, _json(case.written))
                    for number, case in enumerate(suite.cases)
                ],
            )
        return evaluation

    def add(self, evaluation: str, attempts: Sequence[Attempt]) -> None:
        """Keeps attempts that have ended."""
        rows = [
            (evaluation, a.subject.label, a.case, a.repeat, a.outcome, _json(a.as_json())) for a in attempts
        ]
        with self._open(writes=True) as database:
            database.executemany("insert or replace into attempts values (?, ?, ?, ?, ?, ?)", rows)

    def end(self, evaluation: str, state: str) -> None:
        """Notes how an evaluation ended: "finished" or "stopped"."""
        with self._open(writes=True) as database:
            database.execute("update evaluations set state = ? where id = ?", (state, evaluation))

    def ids(self) -> list[str]:
        """The evaluations' ids, the newest first."""
        with self._open() as database:
            return [
                row[0]
                for row in database.execute("select id from evaluations order by started desc, rowid desc")
            ]

    def heads(self) -> list[Evaluation]:
        """The evaluations without their attempts and cases, the newest first."""
        with self._open() as database:
            rows = database.execute("select * from evaluations order by started desc, rowid desc").fetchall()
        return [_head(row) for row in rows]

    def counts(self, evaluation: str) -> dict[str, int]:
        """How many attempts of an evaluation had which outcome."""
        with self._open() as database:
            rows = database.execute(
                "select outcome, count(*) from attempts where evaluation = ? group by outcome", (evaluation,)
            )
            return dict(rows.fetchall())

    def find(self, name: str) -> str:
        """The id that a person means: the id, its beginning, or "last".

        Raises:
            SettingsError: when there is none, or more than one.
        """
        ids = self.ids()
        found = ids[:1] if name == "last" else [id_ for id_ in ids if id_.startswith(name)]
        exact = [id_ for id_ in found if id_ == name]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if found:
            raise SettingsError(
                say(
                    f"'{name}' may be {', '.join(found)}: write more of it",
                    f"“{name}”可能是 {'、'.join(found)}：请写得更完整",
                )
            )
        raise SettingsError(
            say(
                f"there is no evaluation '{name}' in {self.path}: `toolhand eval list` shows what is there",
                f"{self.path} 中没有评测“{name}”：`toolhand eval list` 可列出已有的评测",
            )
        )

    def load(self, name: str = "last") -> Evaluation:
        """One evaluation whole.

        Args:
            name: its id, the beginning of it, or "last".

        Raises:
            SettingsError: when it is not there.
        """
        id_ = self.find(name)
        with self._open() as database:
            head = _head(database.execute("select * from evaluations where id = ?", (id_,)).fetchone())
            cases = database.execute(
                "select id, written from cases where evaluation = ? order by number", (id_,)
            ).fetchall()
            bodies = database.execute("select body from attempts where evaluation = ?", (id_,)).fetchall()
        order = {case: number for number, (case, _) in enumerate(cases)}
        subjects = {subject: number for number, subject in enumerate(head.subjects)}
        attempts = sorted(
            (attempt_of(json.loads(body)) for (body,) in bodies),
            key=lambda a: (subjects.get(a.subject, len(subjects)), a.repeat, order.get(a.case, 0)),
        )
        return Evaluation(
            id=head.id,
            suite=head.suite,
            started=head.started,
            subjects=head.subjects,
            cases=tuple(order),
            written={case: json.loads(written) for case, written in cases},
            attempts=attempts,
            repeat=head.repeat,
            state=head.state,
            note=head.note,
        )

    @contextmanager
    def _open(self, *, writes: bool = False) -> Iterator[sqlite3.Connection]:
        if not writes and not self.path.exists():
            raise SettingsError(
                say(
                    f"there are no evaluations at '{self.path}': run one, or give --store FILE",
                    f"“{self.path}”处没有评测结果：请先运行一次，或使用 --store 指定文件",
                )
            )
        try:
            if self._held is not None:
                with self._held as database:
                    yield database
                return
            if writes and not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(self.path, timeout=30)) as database:
                self._prepare(database, writes=writes)
                with database:
                    yield database
        except (sqlite3.Error, OSError) as error:
            raise SettingsError(
                say(
                    f"the evaluations in '{self.path}' cannot be used: {error}; give another --store FILE",
                    f"无法使用“{self.path}”中的评测结果：{error}；请用 --store 指定其他文件",
                )
            ) from None

    def _prepare(self, database: sqlite3.Connection, *, writes: bool) -> None:
        database.execute("pragma synchronous = normal")
        version = database.execute("pragma user_version").fetchone()[0]
        if version > _VERSION:
            raise SettingsError(
                say(
                    f"'{self.path}' was written by a newer Toolhand: update, or give another --store FILE",
                    f"“{self.path}”由更新版本的 Toolhand 写入：请升级，或用 --store 指定其他文件",
                )
            )
        if writes and version < _VERSION:
            database.execute("pragma journal_mode = wal")
            database.executescript(_SCHEMA)
            database.execute(f"pragma user_version = {_VERSION}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _head(row: Sequence[Any]) -> Evaluation:
    id_, suite, started, state, repeat, subjects, note = row
    return Evaluation(
        id=id_,
        suite=suite,
        started=started,
        subjects=tuple(Subject(**subject) for subject in json.loads(subjects)),
        cases=(),
        repeat=repeat,
        state=state,
        note=note,
    )
