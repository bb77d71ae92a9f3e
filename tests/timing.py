"""How long something computes, so that a busy machine does not decide a test."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object], *, times: int = 3) -> float:
    """The least CPU time of this thread over some runs.

    Other processes, other threads and the collector, whose passes go through all that the other tests have left, do not count.
    """
    was_on = gc.isenabled()
    best = float("inf")
    try:
        for _ in range(times):
            gc.collect(1)
            gc.disable()
            begun = time.thread_time()
            work()
            best = min(best, time.thread_time() - begun)
    finally:
        if was_on:
            gc.enable()
    return best
