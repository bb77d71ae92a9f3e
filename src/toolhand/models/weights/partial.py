"""A file of weights that is not whole yet: what has been written of it survives an interruption."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from toolhand.core.errors import WeightsError
from toolhand.core.language import say
from toolhand.models.weights.cache import sha256_of, write_atomically, write_stamp

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are there and the bytes that there will be, or None."""

SPARE_BYTES: Final = 250 * 1024 * 1024
"""Room beside the file itself: for one wheel and its part, and so that the disk is not filled to the brim."""


class DamagedError(Exception):
    """The bytes that a source gave are not the file's."""


class PartialFile:
    """The `.part` file beside the place where the whole file will lie, and a note of what it holds.

    Args:
        path: where the whole file will lie.
        progress: told about every block.
    """

    def __init__(self, path: Path, progress: Progress) -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._note = path.with_name(path.name + ".part.json")
        self._progress = progress
        self._total: int | None = None
        self._file: BinaryIO | None = None
        self._identity = ""
        self._told = 0
        self.boundaries: list[int] = []
        """Offsets behind each part that was joined, where it comes in parts."""

    def open(self, *, identity: str, total: int | None) -> int:
        """Opens it for appending, keeping what earlier attempts wrote of the same file.

        Args:
            identity: what the whole file is known by; another one starts anew.
            total: its size in bytes, where that is known.

        Returns:
            How many bytes are there.
        """
        self._part.parent.mkdir(parents=True, exist_ok=True)
        note = self._read_note()
        is_same = note.get("identity") == identity
        self._total = total
        self._file = self._part.open("r+b" if is_same and self._part.exists() else "w+b")
        size = self._file.seek(0, os.SEEK_END)
        if total is not None and size > total:
            size = self.cut_back_to(0)
        self.boundaries = [b for b in note.get("boundaries", []) if b <= size] if is_same else []
        self._identity = identity
        self._write_note()
        self._require_space((total or size) - size)
        self._told = 0
        self.tell()
        return size

    def _require_space(self, needed: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < needed + SPARE_BYTES:
            raise WeightsError(
                say(
                    f"{self._path.name} needs {(needed + SPARE_BYTES) / 1e9:.1f} GB more in {self.folder}, "
                    f"which has {free / 1e9:.1f} GB free: make room, or set TOOLHAND_CACHE to a folder elsewhere",
                    f"{self._path.name} 还需要 {(needed + SPARE_BYTES) / 1e9:.1f} GB，{self.folder} 只剩 {free / 1e9:.1f} GB："
                    "请腾出空间，或把 TOOLHAND_CACHE 设到别处",
                )
            )

    @property
    def folder(self) -> Path:
        """Where it lies: room for what belongs to it for a while."""
        return self._part.parent

    @property
    def size(self) -> int:
        """How many bytes are there."""
        return self._open_file.tell()

    def write(self, block: bytes) -> None:
        """Appends bytes."""
        self._open_file.write(block)
        self.tell()

    def tell(self, beyond: int = 0) -> None:
        """Reports progress, with bytes that have come but are not joined yet."""
        done = self.size + beyond
        if self._total is not None:
            done = min(done, self._total)
        self._told = max(self._told, done)  # a bar that runs backwards tells nobody anything
        self._progress(self._told, self._total)

    def cut_back_to(self, size: int) -> int:
        """Forgets what lies behind an offset."""
        self._open_file.seek(size)
        self._open_file.truncate()
        self._told = size
        self.boundaries = [b for b in self.boundaries if b <= size]
        return size

    def end_part(self) -> None:
        """Notes that a part ends here and is safely on the disk."""
        self._sync()
        self.boundaries.append(self.size)
        self._write_note()

    def finish(self, sha256: str, *, size_bytes: int | None) -> None:
        """Checks the whole file and puts it in its place, in one step.

        Raises:
            DamagedError: when it is not what it should be; it is thrown away then.
        """
        self._sync()
        size = self.size
        self.close()
        found = sha256_of(self._part) if size_bytes in (None, size) else f"{size} bytes"
        if found != sha256:
            self.discard()
            raise DamagedError(f"SHA-256 is {found} where {sha256} was expected")
        self._part.replace(self._path)
        self._note.unlink(missing_ok=True)
        write_stamp(self._path, sha256)

    def discard(self) -> None:
        """Throws away what there is."""
        self.close()
        self._part.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes it; what was written stays."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _open_file(self) -> BinaryIO:
        if self._file is None:
            raise ValueError("the partial file is closed")
        return self._file

    def _sync(self) -> None:
        self._open_file.flush()
        os.fsync(self._open_file.fileno())

    def _read_note(self) -> dict[str, Any]:
        try:
            note = json.loads(self._note.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) else {}

    def _write_note(self) -> None:
        write_atomically(self._note, json.dumps({"identity": self._identity, "boundaries": self.boundaries}))
