"""How far an evaluation is: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from toolhand.cli.words import say
from toolhand.core.plain import plain
from toolhand.evals.results import Attempt

_SECONDS_BETWEEN_LINES: Final = 30.0


class ProgressShow:
    """Shows attempts as they end.

    Args:
        err: where to.
        total: how many attempts there will be.
    """

    def __init__(self, err: Console, total: int) -> None:
        self._err, self._total = err, total
        self._done = self._passed = 0
        self._last_line = time.monotonic()
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn(say("left:", "剩余：")),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def note(self, attempt: Attempt) -> None:
        """Takes one attempt that has ended."""
        self._done += 1
        self._passed += attempt.passes
        told = say(f"{self._passed} passed", f"已通过 {self._passed}")
        self._progress.update(self._task, completed=self._done, description=f"{plain(attempt.case)} · {told}")
        now = time.monotonic()
        if not self._err.is_terminal and now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._err.print(f"{self._done}/{self._total}, {told}", highlight=False)
