"""Monty's workers, each closed in by a jail, with an open session for one program. Source: pydantic-monty 1.4."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import shlex
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolhand.core.errors import MissingExtraError
from toolhand.core.language import say
from toolhand.jails.runs import SandboxError

MOST_MEMORY_MB: Final = 64
"""More would let one argument of a tool call fill the host."""

_START_SECONDS: Final = 60.0
_READABLE: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")


@dataclass(slots=True, eq=False)
class Worker:
    """A worker with an open session, for one program."""

    pool: Any
    session: Any
    process: int

    def kill(self) -> None:
        """Ends the process."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.process, signal.SIGKILL)

    def close(self) -> None:
        """Ends the process and waits until it is gone."""
        self.kill()
        gone = select.poll()
        gone.register(self.process, select.POLLIN)
        gone.poll(2_000)
        os.close(self.process)
        for one in (self.session, self.pool):
            with contextlib.suppress(Exception):
                one.__exit__(None, None, None)


def library() -> Any:
    """Monty's own library.

    Raises:
        MissingExtraError: when it is not installed.
    """
    try:
        import pydantic_monty  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("sandbox", say("running code in Monty", "在 Monty 中运行代码")) from error
    return pydantic_monty


class Workers:
    """Makes workers. The programs that start them are kept in a folder of its own."""

    def __init__(self) -> None:
        self._place, self._owner = "", 0
        atexit.register(self._remove)  # last, as the ring is made later: first it ends what starts from there

    def _remove(self) -> None:
        if self._owner == os.getpid():
            shutil.rmtree(self._place, ignore_errors=True)

    def made(self, key: tuple[str, float]) -> Worker:
        """A new worker.

        Args:
            key: the jail, and how many seconds its program may take.

        Raises:
            SandboxError: when it does not start.
        """
        monty = library()
        try:
            return self._made(monty, *key)
        except monty.MontyError as error:
            raise SandboxError(
                say(
                    f"monty's worker did not start ({error}): run `toolhand sandbox check`",
                    f"monty 的工作进程没有启动（{error}）：请运行 `toolhand sandbox check`",
                )
            ) from error

    def _made(self, monty: Any, jail: str, seconds: float) -> Worker:
        pool = monty.Monty(
            binary_path=self._launcher(jail, seconds),
            min_processes=1,
            max_processes=1,
            max_checkouts_per_worker=1,
            request_timeout=seconds + _START_SECONDS,  # the run itself is watched
        )
        with contextlib.ExitStack() as begun:
            begun.enter_context(pool)
            session = begun.enter_context(
                pool.checkout(
                    script_name="program.py",
                    limits={
                        "max_feed_duration_secs": seconds,
                        "max_memory": MOST_MEMORY_MB * 2**20,
                        "max_recursion_depth": 500,
                        "max_suspensions": 10_000_000,
                        "max_total_sleep_secs": seconds,
                    },
                    os_policy={"sleep": "system", "sleep_system_max": seconds},
                )
            )
            session.feed_run("ToolError = RuntimeError")  # classes of one's own have no parents there
            process = os.pidfd_open(session.worker_pid)
            begun.pop_all()
        return Worker(pool, session, process)

    def _launcher(self, jail: str, seconds: float) -> str:
        """A program that Monty's pool starts as its worker, and that goes into the jail first."""
        from pydantic_monty._binary import find_monty_binary  # noqa: PLC0415 - an extra

        from toolhand.jails.kernel import Room  # noqa: PLC0415 - only Linux has what it loads
        from toolhand.jails.processes import START  # noqa: PLC0415

        if self._owner != os.getpid():
            self._place, self._owner = tempfile.mkdtemp(prefix="toolhand-monty-"), os.getpid()
            Path(self._place).chmod(0o711)
            Path(self._place, "root").mkdir()
        path = Path(self._place, f"{jail}-{seconds:g}")
        if not path.exists():
            binary = os.path.realpath(find_monty_binary())
            room = Room(_READABLE, program=binary, memory_mb=8 * MOST_MEMORY_MB, cpu_seconds=int(seconds) + 2)
            python = (sys.executable, "-I", "-S", "-X", "utf8", START)
            words = (*python, "launch", jail, f"{self._place}/root", *room.words)
            path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
            path.chmod(0o700)
        return str(path)
