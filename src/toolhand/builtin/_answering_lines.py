"""What the processes of `_processes` have in common: each bounds itself, and answers a line of JSON with a line of JSON.

Their scripts load this file from the folder they are in; it is no part of a package there, and imports nothing of ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any


def bound_this_process(memory_bytes: int, *, file_bytes: int | None = 0) -> None:
    """Has the operating system bound what this process takes; on systems that can.

    Args:
        memory_bytes: of its address space.
        file_bytes: of any file that it writes; None leaves that open.
    """
    try:
        import resource  # noqa: PLC0415 - POSIX only
    except ImportError:
        return
    bounds = {resource.RLIMIT_AS: memory_bytes, resource.RLIMIT_CORE: 0}
    if file_bytes is not None:
        bounds[resource.RLIMIT_FSIZE] = file_bytes
    for limit, most in bounds.items():
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901 - the same limit, lowered
        try:
            resource.setrlimit(limit, (most, most))
        except (ValueError, OSError):  # macOS refuses RLIMIT_AS
            continue


def say(answer: Any) -> None:
    """Writes a line: an answer, or, before the first request, that this process is ready."""
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def serve(answered: Callable[[Any], Any], failed: Callable[[Exception], Any] | None = None) -> None:
    """Answers requests until stdin ends.

    Args:
        answered: the answer to a request.
        failed: the answer where that raised; without it this process ends, and whoever asked is told so.
    """
    for line in sys.stdin.buffer:
        try:
            answer = answered(json.loads(line))
        except Exception as error:
            if failed is None:
                raise
            answer = failed(error)
        say(answer)
