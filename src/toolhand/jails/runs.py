"""What both sides of a wall share in words: when a run ends, what came of it, and who answers its tool calls."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from toolhand.core.errors import SettingsError
from toolhand.jails.watching import WATCH
from toolhand.parsing.programs.outcomes import Kind

MOST_ARGUMENT_BYTES: Final = 1_000_000
_LOOK_SECONDS: Final = 0.05
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

    def start(self, name: str, arguments: Mapping[str, Any]) -> asyncio.Future[Answer]:
        """Starts a call, in the event loop; its answer comes in time.

        Raises:
            Ended: when the program may make no more.
        """
        ...


class NoTools:
    """For a program without tools."""

    ended: Ended | None = None

    @property
    def parameters(self) -> dict[str, list[str]]:
        """None."""
        return {}

    def start(self, name: str, arguments: Mapping[str, Any]) -> asyncio.Future[Answer]:
        """There is nothing to start.

        Raises:
            Ended: always.
        """
        del name, arguments
        raise Ended("calls")


class Stop:
    """When a run ends, and how it is ended from outside, at any moment and from any thread.

    Args:
        seconds: how long the program may take once it runs.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.kind: Kind | None = None
        self.deadline = math.inf
        self._lock = threading.Lock()
        self._kill: Callable[[], None] | None = None
        self._is_too_big: Callable[[], bool] | None = None

    @property
    def left(self) -> float:
        """Seconds until the program is ended, not below 0."""
        return max(0.0, self.deadline - time.monotonic())

    def begin(self, kill: Callable[[], None], is_too_big: Callable[[], bool] | None = None) -> None:
        """From now on the program runs, and its time too.

        Args:
            kill: ends it; called at once where that was asked for already.
            is_too_big: whether it has taken more than it may, asked now and then.
        """
        with self._lock:
            self.deadline, self._kill, self._is_too_big = time.monotonic() + self.seconds, kill, is_too_big
            if self.kind is not None:
                kill()
        WATCH.add(self)

    def end(self) -> None:
        """The program has ended: there is nothing to kill any more."""
        WATCH.drop(self)
        with self._lock:
            self._kill = None

    def stop(self, kind: Kind) -> None:
        """Ends the program."""
        with self._lock:
            if self.kind is None:
                self.kind = kind
                if self._kill is not None:
                    self._kill()

    def look(self) -> float | None:
        """Ends the program where its time is over or it has taken too much; gives when to look again."""
        if not self.left:
            self.stop("time")
        elif self._is_too_big is None:
            return self.deadline
        elif self._is_too_big():
            self.stop("memory")
        else:
            return min(self.deadline, time.monotonic() + _LOOK_SECONDS)
        return None


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
        if self.length < self.most:
            self.output.append(text[: self.most - self.length])
        self.length += len(text)
