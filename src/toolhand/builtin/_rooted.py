"""Opens files under a root folder and nowhere else, also while someone swaps folders for links.

Where the system has `openat` (Linux, macOS), a path is walked name by name: each folder is opened relative to the one before,
without following links, so what is checked is what is opened. Elsewhere (Windows) the path is resolved, checked and opened,
and the opened file compared with what was checked. What the kernel shows of processes (`/proc`, `/sys`) is never read, also where
the root is above it: a process's environment holds keys.

Links are refused wherever they lead. What this cannot see: a hard link, or a mount, that someone with rights outside of the
root has put inside.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, Protocol

from toolhand.builtin._file_words import refusal
from toolhand.core.errors import SettingsError, ToolFailure
from toolhand.core.language import say

MAX_PATH_LENGTH: Final = 1_000
MAX_PATH_DEPTH: Final = 64
_MAX_ENTRIES: Final = 10_000
_CLOSE_ON_EXEC: Final = getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)  # a FIFO would wait for a writer
_AS_FOLDER: Final = getattr(os, "O_DIRECTORY", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)

Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What lies in a folder.

    Args:
        name: its name; one that is not UTF-8 is read as GB18030, as archives from Chinese Windows leave it.
        kind: a link is never looked behind.
        size_bytes: of a file.
        modified: seconds since 1970.
    """

    name: str
    kind: Kind
    size_bytes: int
    modified: float


class Root(Protocol):
    """A folder that paths are relative to and cannot leave. Paths are tuples of names, as `names_of` gives them."""

    def open_file(self, names: tuple[str, ...]) -> int:
        """A descriptor of a regular file, open for reading.

        Raises:
            ToolFailure: when it is not there, is not a regular file, is a link or lies behind one.
        """
        ...

    def entries(self, names: tuple[str, ...]) -> tuple[list[Entry], bool]:
        """What a folder holds, by name, and whether it was too much to take everything.

        Raises:
            ToolFailure: when it is not there, is not a folder, is a link or lies behind one.
        """
        ...


def root_at(folder: str | os.PathLike[str]) -> Root:
    """The root for a folder, with the strictest means that the system has.

    Raises:
        SettingsError: when it is not a folder.
    """
    path = Path(folder).resolve()
    try:
        is_folder = path.is_dir()
    except OSError:  # a name that is too long to be one
        is_folder, path = False, Path(f"{str(path)[:100]}…")
    if not is_folder:
        raise SettingsError(
            say(
                f"there is no folder at {path}: give the path of an existing folder",
                f"{path} 不是目录：请给出已有目录的路径",
            )
        )
    has_openat = (
        os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and os.scandir in os.supports_fd
    )
    return WalkedRoot(path) if has_openat and _NO_FOLLOW and _AS_FOLDER else ResolvedRoot(path)


def names_of(path: str) -> tuple[str, ...]:
    """The names in a relative path; none for the root itself, which models also write as "/" or "".

    Raises:
        ToolFailure: when the path is absolute, has "..", or cannot be a path.
    """
    if len(path) > MAX_PATH_LENGTH or "\0" in path:
        raise refusal("no_path")
    if path.strip() in ("", "/", ".", "./"):
        return ()
    text = path.replace("\\", "/") if os.name == "nt" else path
    names = tuple(name for name in text.split("/") if name not in ("", "."))
    is_absolute = text.startswith("/") or (os.name == "nt" and ":" in text)
    if is_absolute or ".." in names:
        raise refusal("outside", path)
    if len(names) > MAX_PATH_DEPTH:
        raise refusal("deep")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise refusal("no_path") from None
    return names


def _failed(error: OSError, shown: str) -> ToolFailure:
    """The words for an error of the system; its own text may name paths."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return refusal("unreadable", shown)
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM, errno.EINTR):
        return refusal("not_now", shown)
    return refusal("missing", shown)


class WalkedRoot:
    """A root whose paths are walked with `openat`.

    Args:
        path: the folder, resolved.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def open_file(self, names: tuple[str, ...]) -> int:
        """See `Root`."""
        shown = "/".join(names) or "."
        if not names:
            raise refusal("is_folder", shown)
        with self._folder(names[:-1]) as folder:
            return self._opened(folder, names[-1], shown)

    def entries(self, names: tuple[str, ...]) -> tuple[list[Entry], bool]:
        """See `Root`."""
        with self._folder(names) as folder, os.scandir(folder) as found:
            return _listed(found)

    @contextmanager
    def _folder(self, names: tuple[str, ...]) -> Iterator[int]:
        try:
            folder = os.open(self._path, os.O_RDONLY | _AS_FOLDER | _CLOSE_ON_EXEC)
        except OSError as error:
            raise _failed(error, ".") from None
        try:
            for i, name in enumerate(names):
                inner = self._opened(folder, name, "/".join(names[: i + 1]), wants_folder=True)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    def _opened(self, folder: int, name: str, shown: str, *, wants_folder: bool = False) -> int:
        failure: ToolFailure | None = None
        for spelling in _spellings(name):
            try:
                # Looked at before opening, only so that devices are not touched; what counts is looked at again below.
                status = os.stat(spelling, dir_fd=folder, follow_symlinks=False)
                _refuse_kind(status, shown, wants_folder=wants_folder)
                flags = os.O_RDONLY | _NO_FOLLOW | _CLOSE_ON_EXEC | (_AS_FOLDER if wants_folder else _NO_WAIT)
                descriptor = os.open(spelling, flags, dir_fd=folder)
            except OSError as error:
                is_swapped = error.errno in (errno.ELOOP, errno.EMLINK)
                failure = failure or (refusal("link", shown) if is_swapped else _failed(error, shown))
                continue
            try:
                _refuse_kind(os.fstat(descriptor), shown, wants_folder=wants_folder)
            except ToolFailure:
                os.close(descriptor)
                raise
            return descriptor
        raise failure or _failed(OSError(errno.ENOENT, ""), shown)


class ResolvedRoot:
    """A root for systems without `openat`: resolved, checked, opened, and compared with what was checked.

    Args:
        path: the folder, resolved.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def open_file(self, names: tuple[str, ...]) -> int:
        """See `Root`."""
        shown = "/".join(names) or "."
        if not names:
            raise refusal("is_folder", shown)
        path = self._checked(names)
        try:
            before = path.lstat()
            _refuse_kind(before, shown, wants_folder=False)
            descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW | _CLOSE_ON_EXEC | _NO_WAIT | _BINARY)
        except OSError as error:
            raise _failed(error, shown) from None
        try:
            opened = os.fstat(descriptor)
            _refuse_kind(opened, shown, wants_folder=False)
            if not os.path.samestat(before, opened) or self._checked(names) != path:
                raise refusal("link", shown)
        except ToolFailure:
            os.close(descriptor)
            raise
        return descriptor

    def entries(self, names: tuple[str, ...]) -> tuple[list[Entry], bool]:
        """See `Root`."""
        path = self._checked(names)
        try:
            _refuse_kind(path.lstat(), "/".join(names) or ".", wants_folder=True)
            with os.scandir(path) as found:
                listed = _listed(found)
        except OSError as error:
            raise _failed(error, "/".join(names) or ".") from None
        self._checked(names)
        return listed

    def _checked(self, names: tuple[str, ...]) -> Path:
        shown = "/".join(names) or "."
        here = self._path
        try:
            for name in names:
                here = here / name
                if here.is_symlink() or getattr(here, "is_junction", bool)():
                    raise refusal("link", shown)
            real = here.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise _failed(error if isinstance(error, OSError) else OSError(errno.ELOOP, ""), shown) from None
        if not real.is_relative_to(self._path):
            raise refusal("outside", shown)
        return real


def _refuse_kind(status: os.stat_result, shown: str, *, wants_folder: bool) -> None:
    mode = status.st_mode
    if status.st_dev in _system_devices():
        raise refusal("system", shown)
    if stat.S_ISLNK(mode):
        raise refusal("link", shown)
    if stat.S_ISDIR(mode):
        if not wants_folder:
            raise refusal("is_folder", shown)
    elif not stat.S_ISREG(mode):
        raise refusal("odd", shown)
    elif wants_folder:
        raise refusal("no_folder", shown)


@lru_cache(maxsize=1)
def _system_devices() -> frozenset[int]:
    """The devices of what is no disk but the kernel's own word on processes and hardware."""
    return frozenset(Path(path).stat().st_dev for path in ("/proc", "/sys") if os.path.ismount(path))


def existing(folder: int, name: str) -> str:
    """The spelling under which a name is in an open folder; the name itself where it is not there."""
    for spelling in _spellings(name):
        with suppress(OSError):
            os.stat(spelling, dir_fd=folder, follow_symlinks=False)
            return spelling
    return name


def _spellings(name: str) -> list[str]:
    """The name, and other forms of it that a disk may hold: composed, decomposed (macOS), GB18030 (Chinese Windows)."""
    if name.isascii():
        return [name]
    forms = [name, unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)]
    if os.name != "nt":
        try:
            forms.append(os.fsdecode(name.encode("gb18030")))
        except UnicodeEncodeError:
            return forms
    return list(dict.fromkeys(forms))


def _listed(found: Iterator[os.DirEntry[str]]) -> tuple[list[Entry], bool]:
    entries: list[Entry] = []
    for item in found:
        if len(entries) == _MAX_ENTRIES:
            return sorted(entries, key=lambda entry: entry.name), True
        try:
            status = item.stat(follow_symlinks=False)
        except OSError:  # gone since
            continue
        mode = status.st_mode
        kind: Kind = (
            "link"
            if stat.S_ISLNK(mode)
            else "folder"
            if stat.S_ISDIR(mode)
            else "file"
            if stat.S_ISREG(mode)
            else "other"
        )
        entries.append(
            Entry(name=_shown_name(item.name), kind=kind, size_bytes=status.st_size, modified=status.st_mtime)
        )
    return sorted(entries, key=lambda entry: entry.name), False


def _shown_name(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name).decode("gb18030", errors="replace")
    return name
