"""Processes that do one kind of work and are ended when it takes too long: for libraries that nothing else can stop.

A process answers one line of JSON on stdin with one line of JSON on stdout. It ends with its stdin, so also when this
process is killed; what it may take of memory it bounds itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

GRACE_SECONDS: Final = 0.5
"""What a process gets beyond its own limit, to say that it stopped by itself."""

_KEPT_VARIABLES: Final = (
    "TMPDIR",
    "TEMP",
    "TMP",
    "SQLITE_TMPDIR",
    "SYSTEMROOT",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
)


class ProcessGoneError(Exception):
    """A process has not answered.

    Args:
        reason: "late" (it was ended, as the time was over), "gone" (it died, most likely for want of memory) or "busy" (none
            was free).
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Processes:
    """A few processes of one kind, kept for the next request. Safe in any thread.

    Args:
        command: what starts one; asked when the first is needed.
        most: how many may work at once.
        start_seconds: where a process takes long to get ready and then says so by a line: how long that may take. It does not
            count as part of a request.
    """

    def __init__(
        self, command: Callable[[], Sequence[str]], *, most: int = 4, start_seconds: float | None = None
    ) -> None:
        self._command = command
        self._start_seconds = start_seconds
        self._free = threading.BoundedSemaphore(most)
        self._idle: list[_Process] = []
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _end_all, self._idle)

    def ask(self, request: Mapping[str, Any], seconds: float, *, wait_seconds: float) -> Any:
        """What a process answers.

        Args:
            request: as JSON.
            seconds: until it is ended.
            wait_seconds: how long to wait until one is free.

        Raises:
            ProcessGoneError: when it has not answered.
        """
        with self._process(wait_seconds) as process:
            return process.ask(request, seconds)

    def close(self) -> None:
        """Ends the idle processes; a later request starts a new one."""
        _end_all(self._idle)

    @contextmanager
    def _process(self, wait_seconds: float) -> Iterator[_Process]:
        if os.getpid() != self._owner:  # after a fork the pipes belong to the parent
            self._idle.clear()
            self._owner = os.getpid()
        if not self._free.acquire(timeout=wait_seconds):
            raise ProcessGoneError("busy")
        try:
            idle = self._idle_process()
            process = idle or _Process(self._command())
            try:
                if idle is None and self._start_seconds is not None:
                    process.answer(self._start_seconds)
                yield process
            except BaseException:
                process.end()
                raise
            self._idle.append(process)
        finally:
            self._free.release()

    def _idle_process(self) -> _Process | None:
        while True:
            try:
                process = self._idle.pop()
            except IndexError:
                return None
            if process.is_alive:
                return process
            process.end()


class _Process:
    def __init__(self, command: Sequence[str]) -> None:
        self._child = subprocess.Popen(  # noqa: S603 - our own file, our own interpreter
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            close_fds=True,
        )

    @property
    def is_alive(self) -> bool:
        return self._child.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        return self.answer(seconds, json.dumps(request).encode() + b"\n")

    def answer(self, seconds: float, sent: bytes = b"") -> Any:
        """Its next line, after it was sent something or nothing."""
        assert self._child.stdin is not None  # noqa: S101 - opened above
        assert self._child.stdout is not None  # noqa: S101 - opened above
        was_ended = threading.Event()

        def end() -> None:
            was_ended.set()
            self._child.kill()

        alarm = threading.Timer(seconds, end)
        alarm.daemon = True
        alarm.start()
        try:
            self._child.stdin.write(sent)
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            alarm.cancel()
        if not line.endswith(b"\n"):
            raise ProcessGoneError("late" if was_ended.is_set() else "gone")
        return json.loads(line)

    def end(self) -> None:
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # a request that was never read
                    continue


def _end_all(processes: list[_Process]) -> None:
    while processes:
        processes.pop().end()
