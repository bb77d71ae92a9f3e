"""One thread that ends programs in time, and those that take too much, whatever the event loop is busy with."""

from __future__ import annotations

import os
import threading
import time
from typing import Protocol


class Watched(Protocol):
    """A program that runs."""

    def look(self) -> float | None:
        """Ends it where it has to end; gives when to look again, by `time.monotonic`, or None when it is over."""
        ...


class _Watch:
    """The programs that run, each with the moment at which it is looked at next."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)  # a forked host has none of its parent's threads

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._held: dict[Watched, float] = {}
        self._thread: threading.Thread | None = None

    def add(self, one: Watched) -> None:
        """Looks at a program from now on."""
        with self._changed:
            self._held[one] = 0.0
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="toolhand-watch", daemon=True)
                self._thread.start()
            self._changed.notify()

    def drop(self, one: Watched) -> None:
        """Looks no more."""
        with self._changed:
            self._held.pop(one, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._held:
                    self._changed.wait()
                left = min(self._held.values()) - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                now = time.monotonic()
                due = [one for one, at in self._held.items() if at <= now]
            for one in due:
                at = one.look()
                with self._changed:
                    if at is None:
                        self._held.pop(one, None)
                    elif one in self._held:
                        self._held[one] = at


WATCH = _Watch()
