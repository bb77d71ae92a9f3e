"""What both sides of a wall share in words: when a run ends, what came of it, and who answers its tool calls."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from toolhand.core.errors import SettingsError
from toolhand.parsing.programs.outcomes import Kind

MOST_ARGUMENT_BYTES: Final = 1_000_000
Answer = dict[str, Any]
"""`{"value": …}`, or `{"error": sentence, "code": code}`."""


class SandboxError(SettingsError):
    """No sandbox holds here, or not the one that was asked for; the message says what is missing and how to get it."""


class Ended(Exception):  # noqa: N818 - how a program ends from outside, not a fault
    """The program goes no further.

    Args:
        kind: why.
        words: for the sentence.
    """

    def __init__(self, kind: Kind, **words: Any) -> None:
        super().__init__(kind)
        self.kind: Kind = kind
        self.words = words


class Answers(Protocol):
    """Who answers the tool calls of a program."""

    ended: Ended | None

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The parameters of each tool by its name, in order."""
        ...

    def start(self, name: str, arguments: Mapping[str, Any]) -> Future[Answer]:
        """Starts a call; its answer comes in time.

        Raises:
            Ended: when the program may make no more.
        """
        ...

    def stop(self) -> None:
        """Cancels the calls that still run: nobody waits for them any more."""
        ...


class NoTools:
    """For a program without tools."""

    ended: Ended | None = None

    @property
    def parameters(self) -> dict[str, list[str]]:
        """None."""
        return {}

    def start(self, name: str, arguments: Mapping[str, Any]) -> Future[Answer]:
        """There is nothing to start.

        Raises:
            Ended: always.
        """
        del name, arguments
        raise Ended("calls")

    def stop(self) -> None:
        """There is nothing to cancel."""


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
