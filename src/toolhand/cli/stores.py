"""What the commands about stored sessions share: the store that is meant, where output goes, how moments and tables look."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import typer
from rich.table import Table

from toolhand.cli.shown import tell
from toolhand.cli.terminal import is_person_here
from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.core.plain import plain
from toolhand.execution.running import run_blocking
from toolhand.sessions.memory import MemoryStore
from toolhand.sessions.store import SessionStore, open_store

OUT: Any = typer.Option(
    None,
    "--out",
    "-o",
    metavar="FILE",
    help=say("Into a file instead of standard output.", "写入文件而不是标准输出。"),
)

UNASKED: Any = typer.Option(False, "--yes", "-y", help=say("Without asking.", "不询问。"))


@contextlib.contextmanager
def opened(store: str | None, *, is_made: bool = False) -> Iterator[SessionStore]:
    """The store that is meant, closed afterwards.

    Args:
        store: its name; None for the default.
        is_made: whether its file is made where there is none. Else a default one is empty, and a named one is a mistake.

    Raises:
        SettingsError: when its name is empty, or there is no such file.
    """
    if store is not None and not store.strip():
        raise SettingsError(
            say("--store is empty: leave it out for the default", "--store 是空的：不写则使用默认位置")
        )
    found = open_store(store)
    path = getattr(found, "path", None)
    if not is_made and isinstance(path, Path) and not path.exists():
        if store is not None:
            raise SettingsError(
                say(
                    f"there is no store {path}: `toolhand chat --store …` makes one",
                    f"没有存储文件 {path}：用 `toolhand chat --store …` 创建",
                )
            )
        found = _NotThere(found.name)
    with _told_of_absence():
        try:
            yield found
        finally:
            run_blocking(found.close())


@contextlib.contextmanager
def _told_of_absence() -> Iterator[None]:
    """The person is told at once, and not after half a minute, that the store's server is away and is waited for."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.getMessage(), is_err=True)

    logger, lines = logging.getLogger("toolhand.stores"), Lines()
    logger.addHandler(lines)
    try:
        yield
    finally:
        logger.removeHandler(lines)


class _NotThere(MemoryStore):
    """An empty store in the place of a file that only a conversation makes."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


def confirm(question: str) -> None:
    """Asks the person before something goes for good.

    Raises:
        SettingsError: when nobody is there to be asked.
        typer.Abort: when they say no.
    """
    if not is_person_here():
        raise SettingsError(say("nobody can be asked here: add --yes", "这里无法询问：请加上 --yes"))
    typer.confirm(question, abort=True, err=True)


def when(seconds: float) -> str:
    """A moment as people here read it."""
    return dt.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def table_of(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in titles:
        english, _, chinese = title.partition(":")
        table.add_column(say(english, chinese))
    return table


@contextlib.contextmanager
def written_to(path: Path | None) -> Iterator[TextIO]:
    """Where an export goes: a file that is there only when it is whole, or standard output.

    A terminal gets nothing that would steer it. What stands there already and is no file, such as a pipe, is written at once.
    """
    if path is None:
        yield cast("TextIO", _Terminal(sys.stdout)) if sys.stdout.isatty() else sys.stdout
        return
    path = path.resolve()
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="", errors="backslashreplace") as file:
            yield file
        return
    part = path.with_name(f"{path.name[:200]}.{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8", newline="", errors="backslashreplace") as file:
            yield file
        if path.exists():
            part.chmod(path.stat().st_mode & 0o777)
        part.replace(path)
    except OSError as error:
        if error.filename == str(part):
            error.filename = str(path)  # the name that the person knows
        raise
    finally:
        part.unlink(missing_ok=True)


class _Terminal(io.TextIOBase):
    """A person's terminal as a file to write to."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        self._out.write(plain(text))
        return len(text)
