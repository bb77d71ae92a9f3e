"""How many threads an embedded model should compute with on this machine, now."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

_SAMPLE_SECONDS: Final = 0.15

_CPU_STATISTICS: Final = Path("/proc/stat")
_CONTROL_GROUP_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")


def chosen_threads() -> int | None:
    """What `TOOLHAND_THREADS` says, or None.

    Raises:
        SettingsError: when it is not a positive number.
    """
    named = os.environ.get("TOOLHAND_THREADS", "").strip()
    if not named:
        return None
    if not named.isdecimal() or int(named) < 1:
        raise SettingsError(
            say(
                f"TOOLHAND_THREADS must be a number of threads, not '{named}'",
                f"TOOLHAND_THREADS 应是线程数，不能是“{named}”",
            )
        )
    return int(named)


def usable_cores() -> int:
    """The cores that this process may use: fewer than the machine's in a container or under `taskset`."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = _CONTROL_GROUP_QUOTA.read_text("ascii").split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no control group, or "max"
        return cores


def idle_cores(*, sample_seconds: float = _SAMPLE_SECONDS) -> int:
    """The usable cores that nobody else is using; at least one, all on a quiet machine. Blocks for the sample.

    llama.cpp's threads wait for one another at every step of every token. One that shares its core holds up all others for
    a time slice each time: two threads on one and a half free cores are many times slower than one.
    """
    cores = usable_cores()
    before = _busy_seconds()
    if cores == 1 or before is None:
        return cores
    started, own_before = time.monotonic(), time.process_time()
    time.sleep(sample_seconds)
    after, elapsed = _busy_seconds(), time.monotonic() - started
    if after is None or elapsed <= 0:
        return cores
    others = (after - before - (time.process_time() - own_before)) / elapsed
    return max(1, min(cores, cores - round(others)))


def _busy_seconds() -> float | None:
    """Seconds that the usable cores have worked, or were taken by other virtual machines; None where nothing says so.

    Source: https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat.
    """
    try:
        lines = _CPU_STATISTICS.read_text("ascii").splitlines()
        usable = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        ticks = 0
        for line in lines:
            name, *counts = line.split()
            if name in usable:
                user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen = map(
                    int, counts[:8]
                )
                ticks += user + nice + system + interrupts + soft_interrupts + stolen
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None
