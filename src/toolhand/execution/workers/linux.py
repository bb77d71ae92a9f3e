"""What the workers need of the Linux kernel: to die with their parent, to adopt orphans, and to find every descendant.

Sources: prctl(2) (PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER), proc(5) (/proc/<pid>/task/<tid>/children, /proc/<pid>/stat).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from toolhand.core.language import say

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_SWEEP_SECONDS: Final = 2.0
_PROC: Final = Path("/proc")
_HAS_CHILDREN_FILES: Final = Path("/proc/thread-self/children").exists()


def unsupported() -> str:
    """Why processes cannot be ended with all their children here, or "" where they can."""
    if sys.platform != "linux":
        return say(f"it needs Linux, and this is {sys.platform}", f"它需要 Linux，而这里是 {sys.platform}")
    if not (_PROC / "self" / "stat").exists():
        return say("it needs /proc, which is not mounted here", "它需要 /proc，而这里没有挂载")
    if not sys.executable or getattr(sys, "frozen", False):
        return say(
            "it needs a Python interpreter to start, and this program has none beside it (sys.executable)",
            "它需要启动 Python 解释器，而这个程序旁边没有（sys.executable）",
        )
    return ""


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")


def die_with_parent(parent: int, number: int) -> None:
    """Has the kernel send a signal to this process when the thread that forked it ends.

    Args:
        parent: the parent's process id; where it is gone already, this process ends at once.
        number: the signal.
    """
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Makes this process the parent of every descendant whose own parent ends, in whatever session it is."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def limit_memory(megabytes: int) -> None:
    """Bounds what this process may map beyond what it maps now; past it, Python raises MemoryError. No core is dumped."""
    import resource  # noqa: PLC0415 - Windows has none, and imports this module to be told that it cannot do this

    pages = int((_PROC / "self" / "statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + megabytes * 2**20
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(
        resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
    )
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def children_of(pid: int) -> list[int]:
    """The children of a process, those of all its threads. It may miss some while others end (proc(5)): ask twice."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - often, and as text
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123 - likewise
                found += map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        if not _HAS_CHILDREN_FILES:
            return _children_by_parent().get(pid, [])
    return found


def _children_by_parent() -> dict[int, list[int]]:
    """The processes of this machine that can be seen, parent → children; for kernels that do not list children."""
    found: dict[int, list[int]] = {}
    for name in os.listdir(_PROC):  # noqa: PTH208 - hundreds of names
        if not name.isdigit():
            continue
        try:
            text = (_PROC / name / "stat").read_bytes()
        except OSError:  # it has just ended
            continue
        # The name, in parentheses, may itself hold blanks and parentheses.
        parent = int(text[text.rindex(b")") + 2 :].split()[1])
        found.setdefault(parent, []).append(int(name))
    return found


def descendants(of: Iterable[int]) -> list[int]:
    """These processes and everything below them, parents first."""
    found = list(of)
    for pid in found:
        found += (child for child in children_of(pid) if child not in found)
    return found


def end_strangers(known: Iterable[int]) -> bool:
    """Kills every child of this process that it did not fork itself, with all below them, until none is left.

    Such children are orphans: a process that this one has killed left them behind.

    Args:
        known: the children that stay.

    Returns:
        Whether none is left. False after two seconds, when processes start new ones faster than they can be killed.
    """
    kept, me = frozenset(known), os.getpid()
    until = time.monotonic() + _SWEEP_SECONDS
    times_empty = 0
    while times_empty < 2:
        strangers = [pid for pid in children_of(me) if pid not in kept]
        times_empty = 0 if strangers else times_empty + 1
        if strangers and time.monotonic() > until:
            return False
        for pid in descendants(strangers):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in strangers:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    time.sleep(0.0005)  # it takes the kernel a moment
    return True
