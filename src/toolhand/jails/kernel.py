"""What both jails ask of the Linux kernel, through ctypes: raw system calls, capabilities, limits.

Sources: prctl(2), capabilities(7), setrlimit(2), capget(2).
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes as long to load as all else here together, and every program waits for it
    from collections.abc import Callable
    from typing import Final

IS_ARM: Final = os.uname().machine == "aarch64"
NOBODY: Final = 65534
_PDEATHSIG, _DUMPABLE, _CAPBSET_DROP, _NO_NEW_PRIVS, _CAP_AMBIENT = 1, 4, 24, 38, 47
_CAPSET: Final = 91 if IS_ARM else 126
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class Room:
    """What a jailed process has.

    Args:
        readable: the only paths that can be read.
        work: the only folder that can be written to, empty at first; "" for none.
        program: an executable that takes the process over; "" for none.
        memory_mb: what the process may map beyond what it maps now.
        cpu_seconds: of all its threads together.
        files_mb: what may lie in the work folder, in one file too.
    """

    def __init__(
        self,
        readable: tuple[str, ...],
        *,
        work: str = "",
        program: str = "",
        memory_mb: int = 256,
        cpu_seconds: int = 60,
        files_mb: int = 64,
    ) -> None:
        self.readable, self.work, self.program = readable, work, program
        self.memory_mb, self.cpu_seconds, self.files_mb = memory_mb, cpu_seconds, files_mb

    @property
    def words(self) -> tuple[str, ...]:
        """It as texts, for a command line."""
        numbers = (self.memory_mb, self.cpu_seconds, self.files_mb)
        return (":".join(self.readable), self.work, self.program, *map(str, numbers))

    @classmethod
    def of(cls, words: list[str] | tuple[str, ...]) -> Room:
        """The room of these words."""
        readable, work, program, *numbers = words
        memory_mb, cpu_seconds, files_mb = map(int, numbers)
        return cls(
            tuple(readable.split(":")),
            work=work,
            program=program,
            memory_mb=memory_mb,
            cpu_seconds=cpu_seconds,
            files_mb=files_mb,
        )


def call(number: int, *arguments: object) -> int:
    """A raw system call.

    Raises:
        OSError: when the kernel refuses.
    """
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    found = int(_LIBC.syscall(ctypes.c_long(number), *words))
    if found < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}: {os.strerror(ctypes.get_errno())}")
    return found


def control(option: int, *arguments: int) -> int:
    """prctl(2)."""
    words = [ctypes.c_ulong(one) for one in (*arguments, 0, 0, 0, 0)[:4]]
    return int(_LIBC.prctl(option, *words))


def libc_call(name: str, *arguments: object) -> None:
    """A function of the C library that gives 0 when all is well.

    Raises:
        OSError: when it does not.
    """
    if getattr(_LIBC, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def become_nobody(uid: int, *, ends_with_parent: bool = True, is_seen: bool = False) -> None:
    """Gives up everything that a user or root may do: groups, ids, capabilities, and ways to get them back.

    Args:
        uid: the user to become where this process may choose.
        ends_with_parent: whether it is killed when what forked it ends.
        is_seen: whether its user may look at what it holds open, as whoever watches its files has to.
    """
    if os.geteuid() == 0:
        for capability in range(64):
            control(_CAPBSET_DROP, capability)
        if uid:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
    control(_CAP_AMBIENT, 4)
    call(_CAPSET, struct.pack("II", 0x20080522, 0), bytes(24))
    # After the last change of ids, which clears it: whoever forked this process takes it along when it ends.
    if ends_with_parent:
        control(_PDEATHSIG, signal.SIGKILL)
    if control(_NO_NEW_PRIVS, 1) or control(_DUMPABLE, int(is_seen)):
        raise OSError(ctypes.get_errno(), "prctl was refused")


def limit(room: Room) -> None:
    """Bounds memory, time, files and descriptors of this process. Not the count of processes: that one is the user's."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - nothing can be imported any more, not a codec either
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    bounds = {
        resource.RLIMIT_AS: mapped + room.memory_mb * 2**20,
        resource.RLIMIT_CPU: room.cpu_seconds,
        resource.RLIMIT_FSIZE: room.files_mb * 2**20,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 1,  # none, also where the system hands them to a program: to that 0 is no bound
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_STACK: 8 * 2**20,
    }
    for kind, most in bounds.items():
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901 - the same bound
        resource.setrlimit(kind, (most, most))


def remove_tree(path: str) -> None:
    """Removes a folder with all that is in it, however deep it is and whatever its modes are. It never raises.

    What lies deeper is moved up first, so that no path gets long and nothing calls itself. Nothing else may work in it meanwhile.

    Args:
        path: the folder.
    """
    mark, count, before = os.urandom(8).hex(), 0, -1
    while count > before:
        before = count
        for folder in _folders(path):
            for inner in _folders(folder):
                count += _done(os.rename, inner, f"{path}/{mark}{count}")
            _done(os.rmdir, folder)
    _done(os.rmdir, path)


def _folders(path: str) -> list[str]:
    """The folders in one that is emptied of everything else."""
    found = []
    try:
        entries = list(os.scandir(path))
    except OSError:
        entries = []
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            _done(os.unlink, entry.path)
        elif _done(os.chmod, entry.path, 0o700):
            found.append(entry.path)
    return found


def _done(what: Callable[..., object], *arguments: object) -> bool:
    try:
        what(*arguments)
    except OSError:
        return False
    return True
