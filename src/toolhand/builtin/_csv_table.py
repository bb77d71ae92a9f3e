"""A CSV file as an SQLite database of one table, so that it can be asked like any other. The file itself is only read.

The database is a temporary file of this process. The first line names the columns. A column holds numbers where every value
is one, and else text: so it does where a number begins with a zero, as a telephone's or an article's.
"""

from __future__ import annotations

import csv
import os
import re
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from shutil import rmtree
from typing import Final

from toolhand.builtin._database import quoted
from toolhand.builtin._decoding import SAMPLE_BYTES, BinaryContentError, detect
from toolhand.core.errors import SettingsError
from toolhand.core.language import say

ENDINGS: Final = frozenset((".csv", ".tsv"))
MOST_BYTES: Final = 100 * 2**20
_MOST_COLUMNS: Final = 500
_WHOLE: Final = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})")
_NUMBER: Final = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?")


def csv_database(path: Path) -> Path:
    """Makes the database; its file goes with the process.

    Args:
        path: a file whose name ends in `.csv` or `.tsv`, in UTF-8, GBK or another encoding that `_decoding` knows.

    Returns:
        The path of the SQLite file; its table has the CSV file's name.

    Raises:
        SettingsError: when the file is too large, no text, empty, or has a line with more cells than columns.
    """
    if path.stat().st_size > MOST_BYTES:
        most = MOST_BYTES // 2**20
        raise _refused(path, f"is larger than {most} MB", f"超过 {most} MB")
    try:
        encoding = _encoding(path)
        columns, kinds = _columns(path, encoding)
        folder = tempfile.mkdtemp(prefix="toolhand-csv-")
        weakref.finalize(_KEPT, _drop, folder, os.getpid())
        made = Path(folder) / f"{path.stem}.db"
        _write(made, path, encoding, columns, kinds)
    except BinaryContentError:
        raise _refused(path, "is no text in a known encoding", "不是已知编码的文本") from None
    except csv.Error as error:
        raise _refused(path, f"cannot be read as CSV ({error})", f"无法按 CSV 读取（{error}）") from None
    return made


class _Kept:
    """Stands for the process: what it has made is dropped at its end."""


_KEPT: Final = _Kept()


def _drop(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not when a forked process ends
        rmtree(folder, ignore_errors=True)


def _refused(path: Path, english: str, chinese: str) -> SettingsError:
    return SettingsError(say(f"the CSV file {path} {english}", f"CSV 文件 {path} {chinese}"))


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
        return detect(sample, is_whole=not file.read(1))


def _rows(path: Path, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The lines that hold something, with their numbers, the heading first."""
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        heading = file.readline()
        file.seek(0)
        mark = "\t" if path.suffix.lower() == ".tsv" else max(",;\t|", key=heading.count)
        reader = csv.reader(file, delimiter=mark)
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, [cell.strip() for cell in row]


def _columns(path: Path, encoding: str) -> tuple[list[str], list[str]]:
    """The names of the columns, and SQLite's words for what they hold."""
    rows = _rows(path, encoding)
    _, heading = next(rows, (0, []))
    if not heading:
        raise _refused(path, "is empty", "是空的")
    if len(heading) > _MOST_COLUMNS:
        raise _refused(path, f"has more than {_MOST_COLUMNS} columns", f"超过 {_MOST_COLUMNS} 列")
    names = _distinct(heading)
    fits = [[True, True, False] for _ in names]  # whole numbers, numbers, anything at all
    for number, row in rows:
        if any(row[len(names) :]):
            raise _refused(
                path,
                f"has {len(row)} cells in line {number}, but {len(names)} columns: put quotes around a cell that holds a comma",
                f"第 {number} 行有 {len(row)} 格，而列只有 {len(names)} 个：含逗号的单元格请加引号",
            )
        for cell, fit in zip(row, fits, strict=False):
            if cell:
                fit[:] = (
                    fit[0] and _WHOLE.fullmatch(cell) is not None,
                    fit[1] and _NUMBER.fullmatch(cell) is not None,
                    True,
                )
    kinds = ["TEXT" if not (has and real) else "INTEGER" if whole else "REAL" for whole, real, has in fits]
    return names, kinds


def _distinct(heading: Sequence[str]) -> list[str]:
    """Names of columns, each once and none empty; SQLite takes no difference of case for one."""
    found: dict[str, str] = {}
    for number, cell in enumerate(heading, 1):
        name, count = cell or f"column{number}", 1
        while name.casefold() in found:
            count += 1
            name = f"{cell or f'column{number}'}_{count}"
        found[name.casefold()] = name
    return list(found.values())


def _write(made: Path, path: Path, encoding: str, columns: Sequence[str], kinds: Sequence[str]) -> None:
    table = _quoted(path.stem if not path.stem.casefold().startswith("sqlite_") else f"csv_{path.stem}")
    declared = ", ".join(f"{_quoted(name)} {kind}" for name, kind in zip(columns, kinds, strict=True))
    marks = ", ".join("?" * len(columns))
    rows = _rows(path, encoding)
    next(rows)
    with closing(sqlite3.connect(made)) as connection, connection:
        connection.execute(f"CREATE TABLE {table} ({declared})")
        # SQLite makes a number of what a column of numbers is given.
        connection.executemany(
            f"INSERT INTO {table} VALUES ({marks})",  # noqa: S608 - the name is quoted
            ([cell or None for cell in (row + [""] * len(columns))[: len(columns)]] for _, row in rows),
        )


def _quoted(name: str) -> str:
    return quoted(name.replace("\0", ""))
