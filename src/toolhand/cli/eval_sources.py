"""From what a person names on the command line to suites, tapes, evaluations and drift records."""

from __future__ import annotations

from pathlib import Path

from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.evals.bfcl import read_bfcl
from toolhand.evals.case import Suite
from toolhand.evals.reading import read_suite
from toolhand.evals.results import Evaluation
from toolhand.evals.store import Store
from toolhand.evals.tape import Tape
from toolhand.observability.drift import DriftLog, DriftRecord


def tape_of(record: Path | None, replay: Path | None) -> Tape | None:
    """The file that `--record` and `--replay` name.

    Raises:
        SettingsError: when they name two.
    """
    if record is None and replay is None:
        return None
    if record is not None and replay is not None and record.resolve() != replay.resolve():
        raise SettingsError(
            say(
                "--record and --replay together take one file: what is missing in it is recorded",
                "--record 与 --replay 同时使用时必须是同一文件：缺少的部分会被录制",
            )
        )
    path = record if record is not None else replay
    return None if path is None else Tape(path, plays=replay is not None, records=record is not None)


def suite_of(files: list[str], *, allow_writes: bool) -> Suite:
    """The cases of files and of the public benchmark, together.

    Raises:
        SettingsError: when a file or a case in it cannot be used.
    """
    found: Suite | None = None
    for name in files:
        if name == "bfcl" or name.startswith("bfcl:"):
            suite = read_bfcl(tuple(filter(None, name.partition(":")[2].split(","))))
        else:
            suite = read_suite(name, runs_writing_tools=allow_writes)
        found = suite if found is None else found.joined(suite)
    if found is None:
        raise SettingsError(say("name a case file", "请给出用例文件"))
    return found


def named_evaluation(store: Store, name: str) -> Evaluation:
    """An evaluation by id, or the last one of another store's file, or `file#id`."""
    path, _, inner = name.partition("#")
    if Path(path).is_file():
        return Store(path).load(inner or "last")
    return store.load(name)


def drift_record(path: Path, number: str) -> DriftRecord:
    """A record of a drift log by its number in the list.

    Raises:
        SettingsError: when there is none.
    """
    records = list(DriftLog(path, keep_days=None).records())
    if not number.isdigit() or not 1 <= int(number) <= len(records):
        raise SettingsError(
            say(
                f"there is no record {number}: the log holds {len(records)}",
                f"没有第 {number} 条记录：日志共有 {len(records)} 条",
            )
        )
    return records[int(number) - 1]
