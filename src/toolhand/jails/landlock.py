"""Landlock with seccomp: for machines where a user may make no namespaces, such as Ubuntu since 24.04 (kernel 5.13 and later).

What it does not hide: whether a path whose name is guessed exists, its size and its times (stat), and where a link leads. Nothing
can be opened, listed, changed or signalled. Source: landlock(7) and the kernel's `userspace-api/landlock`.
"""

from __future__ import annotations

import os
import struct

from toolhand.jails import seccomp
from toolhand.jails.kernel import NOBODY, Room, become_nobody, call, limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on all machines
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many kinds of access to files each version knows; a right that is known and not given is refused."""
_IN_WORK: Final = (1 << 12) - 1 & ~_EXECUTE & ~(1 << 6) & ~(1 << 9) & ~(1 << 10) & ~(1 << 11)
_TRUNCATE: Final = 1 << 14


def enter(room: Room, tell: Callable[[], None] = lambda: None) -> None:
    """Closes this process in.

    Args:
        room: what there is inside.
        tell: called right before the last wall.

    Raises:
        OSError: when the kernel has no Landlock, or refuses.
    """
    version = call(_CREATE, 0, 0, 1)
    known = (1 << _RIGHTS.get(version, 16)) - 1
    networks, scopes = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    head = struct.pack("QQQ", known, networks, scopes)
    rules = call(_CREATE, head, 8 if version < 4 else 16 if version < 6 else 24, 0)
    for path in room.readable:
        _allow(rules, path, _READ | _LIST)
    if room.work:
        _allow(rules, room.work, (_IN_WORK | _TRUNCATE) & known)
    if room.program:
        _allow(rules, room.program, _READ | _EXECUTE)
        _allow(rules, _loader(), _READ | _EXECUTE)
    # What started a program of its own may have done so from a thread that ends sooner.
    uid = NOBODY if _is_open_to_all(room) else 0
    become_nobody(uid, ends_with_parent=not room.program, is_seen=bool(room.work))
    limit(room)
    call(_RESTRICT, rules, 0)
    os.close(rules)
    if room.work:
        os.chdir(room.work)
    tell()
    seccomp.enter(may_start_program=bool(room.program))


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there need not be read
    rights &= rights if os.path.isdir(path) else _EXECUTE | _WRITE | _READ | _TRUNCATE  # noqa: PTH112
    call(_ADD, rules, 1, struct.pack("=Qi", rights, place), 0)
    os.close(place)


def _loader() -> str:
    return "/lib/ld-linux-aarch64.so.1" if os.uname().machine == "aarch64" else "/lib64/ld-linux-x86-64.so.2"


def _is_open_to_all(room: Room) -> bool:
    """Whether anybody may reach what is to be read; else root stays root here, without any of its powers."""
    for path in (*room.readable, room.work, room.program):
        parts = path.split("/")[1:]
        above = ["/" + "/".join(parts[: place + 1]) for place in range(len(parts))]
        if path and os.path.exists(path) and not all(os.stat(one).st_mode & 0o001 for one in above[:-1]):  # noqa: PTH110, PTH116
            return False
    return True
