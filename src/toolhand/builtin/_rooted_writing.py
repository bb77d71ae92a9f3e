"""Writes and removes files under a root folder and nowhere else, also while someone swaps folders for links.

Where the system has `openat`, everything is done relative to a folder that was walked to without following links. A file is
replaced by moving a finished one over it, so that nobody sees half of it and a link that was put in its place is replaced, not
followed. Names that begin with a dot are left alone: they are what programs are configured by.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from toolhand.builtin._file_words import refusal
from toolhand.builtin._rooted import Root, WalkedRoot, existing, root_at
from toolhand.core.errors import ToolFailure

_FLAGS: Final = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_FOLDER_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BY_NUMBER: Final = {
    errno.ELOOP: "behind",
    errno.EMLINK: "behind",
    errno.ENOTDIR: "behind",
    errno.EACCES: "unwritable",
    errno.EPERM: "unwritable",
    errno.EROFS: "unwritable",
    errno.EISDIR: "is_folder",
    errno.ENAMETOOLONG: "long_name",
    errno.ENOENT: "missing",
}


class Writer(Protocol):
    """Writes under a root. Paths are tuples of names, as `names_of` gives them."""

    def create(self, names: tuple[str, ...], content: bytes) -> None:
        """Makes a file, and the folders that lead to it.

        Raises:
            ToolFailure: when there is something of that name, or it cannot be made.
        """
        ...

    def replace(self, names: tuple[str, ...], content: bytes) -> None:
        """Puts a file in the place of one that may be there.

        Raises:
            ToolFailure: when what is there is no regular file, or it cannot be written.
        """
        ...

    def remove(self, names: tuple[str, ...]) -> None:
        """Removes a file.

        Raises:
            ToolFailure: when it is not there, is no regular file, or cannot be removed.
        """
        ...


def writer_at(folder: str | os.PathLike[str]) -> tuple[Root, Writer]:
    """What reads and what writes under a folder.

    Raises:
        SettingsError: when it is not a folder.
    """
    place = root_at(folder)
    path = Path(folder).resolve()
    return place, WalkedWriter(path) if isinstance(place, WalkedRoot) else ResolvedWriter(path, place)


def checked_name(names: tuple[str, ...]) -> str:
    """The path as it is shown, when something may be written there.

    Raises:
        ToolFailure: when it may not.
    """
    shown = "/".join(names)
    if not names:
        raise refusal("no_name")
    if any(name.startswith(".") for name in names):
        raise refusal("dot", shown)
    if any(not character.isprintable() for character in shown):
        raise refusal("control")
    return shown


def _cannot(error: OSError, shown: str) -> ToolFailure:
    """The words for an error of the system; its own text may name paths."""
    if error.errno in _FULL:
        return refusal("full", shown)
    return refusal(_BY_NUMBER.get(error.errno or 0, "not_written"), shown)


def _check_kind(mode: int, shown: str) -> None:
    if stat.S_ISLNK(mode):
        raise refusal("link", shown)
    if stat.S_ISDIR(mode):
        raise refusal("is_folder", shown)
    if not stat.S_ISREG(mode):
        raise refusal("odd", shown)


class WalkedWriter:
    """Writes with `openat`. See `Writer`.

    Args:
        path: the folder, resolved.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self, names: tuple[str, ...], content: bytes) -> None:
        """See `Writer`."""
        shown = checked_name(names)
        with _told(shown), self._folder(names[:-1], makes=True) as folder:
            name = existing(folder, names[-1])
            try:
                descriptor = os.open(name, _FLAGS, 0o666, dir_fd=folder)
            except FileExistsError:
                raise refusal("exists", shown) from None
            try:
                _fill(descriptor, content)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=folder)
                raise

    def replace(self, names: tuple[str, ...], content: bytes) -> None:
        """See `Writer`."""
        shown = checked_name(names)
        with _told(shown), self._folder(names[:-1], makes=True) as folder:
            name, mode = existing(folder, names[-1]), None
            with contextlib.suppress(FileNotFoundError):
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                _check_kind(mode, shown)
            spare = f".toolhand-{secrets.token_hex(8)}"
            descriptor = os.open(spare, _FLAGS, 0o666, dir_fd=folder)
            try:
                if mode is not None:
                    os.fchmod(descriptor, stat.S_IMODE(mode) & 0o777)
                _fill(descriptor, content)
                os.rename(spare, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(spare, dir_fd=folder)
                raise

    def remove(self, names: tuple[str, ...]) -> None:
        """See `Writer`."""
        shown = checked_name(names)
        with _told(shown), self._folder(names[:-1], makes=False) as folder:
            name = existing(folder, names[-1])
            _check_kind(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode, shown)
            os.unlink(name, dir_fd=folder)

    @contextmanager
    def _folder(self, names: tuple[str, ...], *, makes: bool) -> Iterator[int]:
        folder = os.open(self._path, _FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
        try:
            for given in names:
                name = existing(folder, given)
                if makes:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder)
                inner = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)


class ResolvedWriter:
    """Writes on systems without `openat`: each part of the path is looked at, then it is written. See `Writer`.

    Args:
        path: the folder, resolved.
        place: what reads under it.
    """

    def __init__(self, path: Path, place: Root) -> None:
        self._path = path
        self._place = place

    def create(self, names: tuple[str, ...], content: bytes) -> None:
        """See `Writer`."""
        shown = checked_name(names)
        with _told(shown):
            target = self._target(names, makes=True)
            try:
                descriptor = os.open(target, _FLAGS, 0o666)
            except FileExistsError:
                raise refusal("exists", shown) from None
            _fill(descriptor, content)

    def replace(self, names: tuple[str, ...], content: bytes) -> None:
        """See `Writer`."""
        shown = checked_name(names)
        with _told(shown):
            target = self._target(names, makes=True)
            if target.is_symlink() or target.exists():
                _check_kind(target.lstat().st_mode, shown)
            spare = target.with_name(f".toolhand-{secrets.token_hex(8)}")
            try:
                _fill(os.open(spare, _FLAGS, 0o666), content)
                self._target(names, makes=False)
                spare.replace(target)
            finally:
                spare.unlink(missing_ok=True)

    def remove(self, names: tuple[str, ...]) -> None:
        """See `Writer`."""
        shown = checked_name(names)
        with _told(shown):
            target = self._target(names, makes=False)
            _check_kind(target.lstat().st_mode, shown)
            target.unlink()

    def _target(self, names: tuple[str, ...], *, makes: bool) -> Path:
        here = self._path
        for name in names[:-1]:
            here /= name
            if makes and not here.is_symlink():
                here.mkdir(exist_ok=True)
            if here.is_symlink() or getattr(here, "is_junction", bool)():
                raise OSError(errno.ELOOP, "")
        if not here.resolve(strict=True).is_relative_to(self._path):
            raise refusal("outside", "/".join(names))
        return here / names[-1]


@contextmanager
def _told(shown: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _cannot(error, shown) from None


def _fill(descriptor: int, content: bytes) -> None:
    """Writes all of it, down to the disk, and closes the file."""
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
