"""Who holds a session: a name for this run that others can tell from a dead one.

On one machine a process that has ended is seen at once, by its number and the moment when it started (numbers are used again).
On another machine nobody can see it; there the lease has to run out.
"""

from __future__ import annotations

import os
import platform
import sys
import uuid
from functools import lru_cache
from pathlib import Path
from typing import Final

from toolhand.core.language import say

_SEPARATOR: Final = "|"


def new_holder() -> str:
    """A name for a run in this process."""
    return _SEPARATOR.join((*_here(os.getpid()), uuid.uuid4().hex[:12]))


@lru_cache(maxsize=4)
def _here(pid: int) -> tuple[str, str, str]:
    return _machine(), str(pid), _started(pid) or ""


@lru_cache(maxsize=1)
def _machine() -> str:
    """This machine since it was switched on, and the room within it in which process numbers mean something."""
    boot = _read("/proc/sys/kernel/random/boot_id")
    try:
        room = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        room = ""
    return f"{platform.node()} {boot} {room}".replace(_SEPARATOR, "/").strip()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """When a process started, as the system counts it; None where that cannot be told."""
    stat = _read(f"/proc/{pid}/stat")  # the name in it may hold spaces and brackets
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else None


def is_dead(holder: str) -> bool:
    """Whether it is sure that a holder's process has ended. Of another machine's nothing is sure."""
    machine, _, rest = holder.partition(_SEPARATOR)
    number, _, rest = rest.partition(_SEPARATOR)
    started = rest.partition(_SEPARATOR)[0]
    if machine != _machine() or not number.isdecimal() or sys.platform == "win32":
        return False
    pid = int(number)
    if pid == os.getpid():
        return bool(started) and started != (_started(pid) or started)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is there, and somebody else's
    stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if stat[:1] in (["Z"], ["X"]):  # ended, and its parent has not looked yet
        return True
    return bool(started) and bool(stat) and _started(pid) not in (started, None)


def described(holder: str) -> str:
    """A holder in words for an error."""
    machine, _, rest = holder.partition(_SEPARATOR)
    number = rest.partition(_SEPARATOR)[0]
    if machine == _machine():
        if number == str(os.getpid()):
            return say("this process", "本进程")
        return say(f"process {number} on this machine", f"本机的进程 {number} ")
    where = machine.partition(" ")[0]
    return say(
        f"process {number} on {where or 'another machine'}", f"{where or '另一台机器'} 上的进程 {number} "
    )
