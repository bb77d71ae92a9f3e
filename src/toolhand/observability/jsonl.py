"""A file of JSON lines that several processes may write at once, set aside when it is large and removed when it is old.

Each line is one write to a file opened for appending, so that lines of different processes never mix (POSIX, O_APPEND; on a
network file system that does not keep to it, give each process a file of its own).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_DAY_SECONDS: Final = 86_400
_NOT_PLAIN: Final = re.compile("[\x7f\x85\u2028\u2029\ud800-\udfff]")
"""What JSON leaves as it is though it ends a line for some readers, or cannot be encoded."""

_MOST_FIRST: Final = 1024 * 1024
_STAMP: Final = "%Y%m%dT%H%M%S.%f"


def line_of(value: Any) -> str:
    """A JSON value as one line, without its end; Chinese stays readable."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return _NOT_PLAIN.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


class JsonLines:
    """The lines of one file and of those that were set aside from it.

    Args:
        path: the file; it and its folder are made when the first line is written, for their owner alone.
        most_bytes: how large it grows before it is set aside under a name with the time.
        keep_days: how long lines are kept, or None for ever. They go file by file, so up to a day later.
        now: gives seconds since 1970.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        most_bytes: int = 64 * 1024 * 1024,
        keep_days: float | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.path = Path(path).expanduser()
        self._most_bytes = most_bytes
        self._keep_days = keep_days
        self._now = now
        self._lock = threading.Lock()
        self._descriptor = -1
        self._identity: tuple[int, int] | None = None
        self._began = 0.0
        self._is_torn = False

    def append(self, value: Mapping[str, Any]) -> None:
        """Writes one line.

        Raises:
            OSError: when the file cannot be written.
        """
        line = (line_of(value) + "\n").encode()
        with self._lock:
            self._open()
            if self._is_torn:
                line = b"\n" + line
            written = os.write(self._descriptor, line)
            self._is_torn = written < len(line)
            if self._is_torn:
                raise OSError(f"only part of a line could be written to {self.path}")

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every line, oldest first. A line that is empty or not whole, as after a crash, is passed over."""
        for file in (*self._aside(), self.path):
            try:
                with file.open("rb") as opened:
                    for line in opened:
                        with contextlib.suppress(ValueError):
                            value = json.loads(line)
                            if isinstance(value, dict):
                                yield value
            except FileNotFoundError:
                continue

    def close(self) -> None:
        """Closes the file; the next line opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._identity = -1, None

    def _open(self) -> None:
        """Sees to it that the open file is the one at the path, and neither too large nor too old."""
        try:
            status: os.stat_result | None = self.path.stat()
        except FileNotFoundError:
            status = None
        if status is None or (status.st_dev, status.st_ino) != self._identity:
            self._reopen()
            status = os.fstat(self._descriptor)
        longest = None if self._keep_days is None else _DAY_SECONDS * min(1.0, self._keep_days)
        is_old = longest is not None and self._now() - self._began >= longest
        if status.st_size and (status.st_size >= self._most_bytes or is_old):
            self._set_aside()
            self._reopen()

    def _reopen(self) -> None:
        self._close()
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(self.path, flags, 0o600)
        status = os.fstat(self._descriptor)
        self._identity = (status.st_dev, status.st_ino)
        self._is_torn = status.st_size > 0 and not self._ends_whole(status.st_size)
        self._began = self._first_time() if status.st_size else self._now()
        self._remove_old()

    def _ends_whole(self, size: int) -> bool:
        # Half a line may also be one that another process is writing at this moment. Then an empty line comes of it, which
        # does no harm; a line glued to half of another would be lost.
        return self._read_at(size - 1, 1) == b"\n"

    def _first_time(self) -> float:
        """When the file's first line was written, by its own word; else when the file last changed."""
        with contextlib.suppress(ValueError, TypeError, KeyError):
            first = json.loads(self._read_at(0, _MOST_FIRST).partition(b"\n")[0])
            return dt.datetime.fromisoformat(first["time"]).timestamp()
        return os.fstat(self._descriptor).st_mtime

    def _read_at(self, place: int, count: int) -> bytes:
        """Reads the open file itself: by now another may stand at the path."""
        os.lseek(self._descriptor, place, os.SEEK_SET)
        return os.read(self._descriptor, count)

    def _set_aside(self) -> None:
        moment = dt.datetime.fromtimestamp(self._now(), dt.UTC).strftime(_STAMP)
        aside = self.path.with_name(f"{self.path.name}.{moment}-{os.getpid()}")
        self._close()
        with contextlib.suppress(FileNotFoundError):  # another process was first
            self.path.rename(aside)

    def _aside(self) -> list[Path]:
        if not self.path.parent.is_dir():
            return []
        found = [file for file in self.path.parent.iterdir() if file.name.startswith(f"{self.path.name}.")]
        return sorted(file for file in found if self._aside_time(file) is not None)

    def _aside_time(self, file: Path) -> float | None:
        stamp = file.name.removeprefix(f"{self.path.name}.").rpartition("-")[0]
        try:
            return dt.datetime.strptime(stamp, _STAMP).replace(tzinfo=dt.UTC).timestamp()
        except ValueError:
            return None

    def _remove_old(self) -> None:
        if self._keep_days is None:
            return
        oldest = self._now() - self._keep_days * _DAY_SECONDS
        for file in self._aside():
            if (self._aside_time(file) or 0.0) <= oldest:
                file.unlink(missing_ok=True)
