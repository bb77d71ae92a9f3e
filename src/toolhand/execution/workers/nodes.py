"""The parent's side of the processes that fork and of those that run calls. Everything here belongs to the pool's own loop."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.execution.workers.definition import Definition
from toolhand.execution.workers.failures import ProcessLostError
from toolhand.execution.workers.frames import Channel, encoded

_LOG = logging.getLogger("toolhand.workers")

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from toolhand.execution.workers.zygote import main; main(int(sys.argv[2]))"
)
_KILL_SECONDS: Final = 6.0
"""After which a forker that does not confirm a kill is killed itself; it allows itself four."""


class Forker:
    """A zygote or a template, as the parent knows it.

    Args:
        channel: to it.
        pid: its process id.
        on_died: told the process id and the exit status of each child that ends by itself.
        on_lost: told when the forker itself is gone.
    """

    def __init__(
        self,
        channel: Channel,
        pid: int,
        on_died: Callable[[int, int], None],
        on_lost: Callable[[], None],
    ) -> None:
        self.pid = pid
        self.is_lost = False
        self.channel = channel
        self._on_died, self._on_lost = on_died, on_lost
        self._ids = itertools.count()
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def request(self, operation: str, descriptor: int | None = None, **fields: Any) -> Any:
        """Asks for something, and waits for the answer.

        Raises:
            ProcessLostError: when the forker is gone, or answers that it could not.
        """
        if self.is_lost:
            raise ProcessLostError("the process that forks is gone")
        number = next(self._ids)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            await self.channel.send(encoded({"id": number, "op": operation, **fields}), descriptor)
            found = await answer
        except OSError as error:
            raise ProcessLostError("the process that forks is gone") from error
        finally:
            self._asked.pop(number, None)
        if "error" in found:
            raise ProcessLostError(found["error"])
        return found

    async def fork(self, role: str, memory_mb: int) -> tuple[Channel, int]:
        """A child of it: the channel to it and its process id."""
        ours, theirs = socket.socketpair()
        try:
            answer = await self.request("fork", theirs.fileno(), role=role, memory_mb=memory_mb)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return Channel(ours), answer["pid"]

    async def kill(self, pid: int) -> int | None:
        """Ends a child with everything that it has started.

        Returns:
            The child's exit status, where it had not been told before.
        """
        async with asyncio.timeout(_KILL_SECONDS):
            answer = await self.request("kill", pid=pid)
        if not answer["is_clean"]:
            _LOG.error("a tool's process left children that start new ones faster than they can be ended")
        status: int | None = answer["status"]
        return status

    async def _read(self) -> None:
        with contextlib.suppress(EOFError, ValueError):
            while True:
                message = await self.channel.receive()
                if "died" in message:
                    self._on_died(message["died"], message["status"])
                elif (answer := self._asked.get(message["id"])) is not None and not answer.done():
                    answer.set_result(message)
        self.close()
        self.channel.close()  # here, where nobody waits at it any more
        self._on_lost()

    def close(self) -> None:
        """Lets it go: it ends, with everything below it."""
        self.is_lost = True
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(ProcessLostError("the process that forks is gone"))
        self.channel.shut()


@dataclass(eq=False, slots=True)
class Worker:
    """A process that runs calls, one at a time.

    Args:
        channel: to it.
        pid: its process id.
        template: what it was forked from.
        environ: the environment that it was sent last.
        calls: how many it has run.
        idle_since: when it became idle, on the monotonic clock in seconds.
        is_ending: whether it is being ended.
        ended_by: how it ended, such as "SIGSEGV", once it has.
    """

    channel: Channel
    pid: int
    template: Template
    environ: dict[str, str] | None = None
    calls: int = 0
    idle_since: float = field(default_factory=time.monotonic)
    is_ending: bool = False
    ended_by: str = ""


@dataclass(eq=False, slots=True)
class Template:
    """A module's forker and its workers.

    Args:
        family: the module.
        forker: the process that has imported it.
        workers: by process id.
        idle: those that wait for a call.
        waiting: callers who wait for a worker, first come first served.
        forking: how many workers are being forked.
        known: the tools that it has loaded, or is about to.
    """

    family: str
    forker: Forker
    workers: dict[int, Worker] = field(default_factory=dict)
    idle: list[Worker] = field(default_factory=list)
    waiting: list[tuple[float, asyncio.Future[Worker]]] = field(default_factory=list)
    forking: int = 0
    known: set[Definition] = field(default_factory=set)


def start_zygote() -> tuple[Channel, subprocess.Popen[bytes]]:
    """Starts the zygote's program, with this program's interpreter and import path, in a session of its own."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-c", _START, json.dumps(sys.path), str(theirs.fileno())]
        started = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    return Channel(ours), started


def exit_words(status: int) -> str:
    """An exit status in words, negative for a signal as `subprocess` has it."""
    if status >= 0:
        return f"it exited with status {status}"
    with contextlib.suppress(ValueError):
        return f"it was ended by {signal.Signals(-status).name}"
    return f"it was ended by signal {-status}"


def surroundings() -> dict[str, Any]:
    """What a process starts with: environment, import path, working directory."""
    return {"environ": dict(os.environ), "path": list(sys.path), "directory": os.getcwd()}  # noqa: PTH109 - as text
