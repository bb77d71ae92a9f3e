"""Namespaces with seccomp: the process has a file system, a network, and a table of processes of its own, all but empty.

Sources: namespaces(7), user_namespaces(7), pivot_root(2), mount_setattr(2).
"""

from __future__ import annotations

import ctypes
import os
import struct

from toolhand.jails import seccomp
from toolhand.jails.kernel import IS_ARM, NOBODY, Room, become_nobody, call, libc_call, limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

_PIVOT_ROOT, _MOUNT_SETATTR = (41 if IS_ARM else 155), 442
_BIND, _REC, _PRIVATE, _NOSUID, _NODEV = 4096, 16384, 1 << 18, 2, 4
_USER, _OTHERS = 0x10000000, 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
"""mount, pid, network, ipc, uts"""
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
WORK: Final = "/program"


def enter(room: Room, place: str, tell: Callable[[], None] = lambda: None) -> None:
    """Goes on inside, as process 1 of a new world; what called it stays outside, waits, and ends with it.

    Args:
        room: what there is inside.
        place: an empty folder outside, on which the new world is put up.
        tell: called right before the last wall.

    Raises:
        OSError: when the kernel refuses.
    """
    uid, gid = os.geteuid(), os.getegid()
    try:
        if uid != 0:
            raise PermissionError
        call(272 if not IS_ARM else 97, _OTHERS)
    except OSError:
        call(272 if not IS_ARM else 97, _USER | _OTHERS)
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{NOBODY} {uid} 1"),
            ("gid_map", f"{NOBODY} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "wb") as file:  # noqa: PTH123
                file.write(text.encode())
    inside = os.fork()
    if inside:
        os.closerange(0, 4096)
        become_nobody(NOBODY if uid == 0 else 0, ends_with_parent=not room.program)
        os.waitpid(inside, 0)
        os._exit(0)
    limit(room)
    _build(room, place)
    become_nobody(NOBODY if uid == 0 else 0)
    os.chdir(WORK)
    tell()
    seccomp.enter(may_start_program=bool(room.program))


def _build(room: Room, root: str) -> None:
    """A file system in memory, with what may be read bound into it."""
    _mount("none", "/", "", _REC | _PRIVATE)
    _mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "size=1m,mode=755")
    for path in (*room.readable, *_DEVICES, room.program):
        if path and os.path.exists(path) and not os.path.lexists(root + path):  # noqa: PTH110
            target = root + path
            if os.path.isdir(path):  # noqa: PTH112
                os.makedirs(target)  # noqa: PTH103
            else:
                os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
                os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
            _mount(path, target, "", _BIND | _REC)
            is_device = path in _DEVICES
            _only(target, 0 if is_device else 1 | _NOSUID | _NODEV, recursive=not is_device)
    os.makedirs(root + WORK, exist_ok=True)  # noqa: PTH103
    _mount("tmpfs", root + WORK, "tmpfs", _NOSUID | _NODEV, f"size={room.files_mb}m,nr_inodes=4096,mode=777")
    _only(root, 1 | _NOSUID | _NODEV, recursive=False)
    os.chdir(root)
    dot = ctypes.c_char_p(b".")
    call(_PIVOT_ROOT, dot, dot)
    libc_call("umount2", b".", 2)
    os.chdir("/")


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    words = [one.encode() if one else None for one in (source, target, kind)]
    libc_call("mount", *words, ctypes.c_ulong(flags), options.encode() or None)


def _only(path: str, attributes: int, *, recursive: bool) -> None:
    settings = struct.pack("QQQQ", attributes, 0, 0, 0)
    call(
        _MOUNT_SETATTR,
        -100,
        ctypes.c_char_p(path.encode()),
        0x8000 if recursive else 0,
        settings,
        len(settings),
    )
