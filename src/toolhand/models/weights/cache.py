"""Where weights lie on this machine, and whether a file there may be used."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from toolhand.models.weights.catalogue import Entry

_BLOCK_BYTES: Final = 4 * 1024 * 1024


def cache_folder() -> Path:
    """`TOOLHAND_CACHE`, or else the folder `toolhand` in the platform's cache folder for the user."""
    if chosen := os.environ.get("TOOLHAND_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "toolhand" / "Cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "toolhand"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolhand"


def path_of(entry: Entry) -> Path:
    """Where an entry's weights lie once they are fetched."""
    return cache_folder() / "models" / entry.file


def is_present(entry: Entry) -> bool:
    """Whether an entry's weights are here and whole.

    A file is hashed once; after that its size and time of change vouch for it.
    """
    return present_sha256(entry) is not None


def present_sha256(entry: Entry) -> str | None:
    """The SHA-256 of the weights that are here and whole, or None."""
    path = path_of(entry)
    try:
        status = path.stat()
    except OSError:
        return None
    if entry.size_bytes is not None and status.st_size != entry.size_bytes:
        return None
    stamp = _stamp(path)
    expected = entry.sha256 or stamp.get("sha256")
    if expected is None:
        return None  # nobody knows what it should be, so nobody knows that it is whole
    if stamp != {"sha256": expected, "size_bytes": status.st_size, "changed_ns": status.st_mtime_ns}:
        if sha256_of(path) != expected:
            return None
        with contextlib.suppress(OSError):  # a cache that may only be read is hashed every time
            write_stamp(path, expected)
    return str(expected)


def _stamp_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256.json")


def _stamp(path: Path) -> dict[str, object]:
    try:
        stamp = json.loads(_stamp_path(path).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(path: Path, sha256: str) -> None:
    """Notes that a file was found to have this SHA-256."""
    status = path.stat()
    stamp = {"sha256": sha256, "size_bytes": status.st_size, "changed_ns": status.st_mtime_ns}
    write_atomically(_stamp_path(path), json.dumps(stamp))


def write_atomically(path: Path, text: str) -> None:
    """Writes a small file such that nobody sees half of it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    draft.write_text(text, "utf-8")
    draft.replace(path)


def sha256_of(path: Path, *, up_to: int | None = None, on_block: Callable[[int], None] | None = None) -> str:
    """The SHA-256 of a file in hexadecimal.

    Args:
        path: the file.
        up_to: how many bytes from its start; all by default.
        on_block: called with how many bytes have been hashed.
    """
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES if up_to is None else min(_BLOCK_BYTES, up_to - done)):
            digest.update(block)
            done += len(block)
            if on_block is not None:
                on_block(done)
    return digest.hexdigest()


def remove(entry: Entry) -> int:
    """Removes an entry's weights and everything begun for them.

    Returns:
        How many bytes were freed.
    """
    path = path_of(entry)
    freed = 0
    leftovers = (
        [path, _stamp_path(path), *path.parent.glob(f"{path.name}.part*")] if path.parent.is_dir() else []
    )
    for leftover in leftovers:
        with contextlib.suppress(FileNotFoundError):
            size = leftover.stat().st_size
            leftover.unlink()
            freed += size
    return freed
