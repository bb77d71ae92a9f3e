"""What runs programs: one file a backend, each with `BACKEND`, whose `run` works in a thread of its own."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolhand.core.errors import SettingsError
from toolhand.sandbox.calls import Calls
from toolhand.sandbox.limits import Kind, Limits


class SandboxError(SettingsError):
    """No sandbox holds here, or not the one that was asked for; the message says what is missing and how to get it."""


class NotHere(Exception):  # noqa: N818 - a program goes on elsewhere
    """The program needs what this backend does not have; nothing of it counts but the calls it made."""


class Stop:
    """When a run ends, and how it is ended from outside, at any moment and from any thread.

    Args:
        seconds: how long the program may take once it runs.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.kind: Kind | None = None
        self.deadline = math.inf
        self.watch: asyncio.TimerHandle | None = None
        self._lock = threading.Lock()
        self._kill: Callable[[], None] | None = None

    @property
    def left(self) -> float:
        """Seconds until the program is ended, not below 0."""
        return max(0.0, self.deadline - time.monotonic())

    def begin(self, kill: Callable[[], None]) -> None:
        """From now on the program runs, and `kill` ends it; it is called at once where that was asked for already."""
        with self._lock:
            self.deadline, self._kill = time.monotonic() + self.seconds, kill
            if self.kind is not None:
                kill()

    def end(self) -> None:
        """The program has ended: there is nothing to kill any more."""
        with self._lock:
            self._kill = None

    def stop(self, kind: Kind) -> None:
        """Ends the program."""
        with self._lock:
            if self.kind is None:
                self.kind = kind
                if self._kill is not None:
                    self._kill()


@dataclass(slots=True)
class Ran:
    """What came of a program.

    Args:
        output: what it printed, cut to `most` characters.
        value: of its last line.
        error: kind, the exception's type, its text, and the line; None where all went well.
        files: what it left.
    """

    most: int
    output: list[str] = field(default_factory=list)
    length: int = 0
    value: Any = None
    error: tuple[Kind, str, str, int] | None = None
    files: dict[str, bytes] = field(default_factory=dict)

    def print(self, text: str) -> None:
        """Takes text that was printed, as far as there is room."""
        self.output.append(text[: max(0, self.most - self.length)])
        self.length += len(text)


class SandboxBackend(Protocol):
    """A way to run programs behind walls."""

    @property
    def name(self) -> str:
        """Its file's name."""
        ...

    @property
    def most_memory_mb(self) -> int:
        """The most that a program can have here."""
        ...

    def walls(self) -> tuple[str, ...]:
        """What stands around a program, after it was seen to hold.

        Raises:
            SandboxError: when it does not hold here, or is not installed.
        """
        ...

    def run(self, code: str, calls: Calls, limits: Limits, stop: Stop) -> Ran:
        """Runs one program to its end.

        Raises:
            NotHere: when it needs more than this backend has.
            Ended: when its calls end it.
        """
        ...
