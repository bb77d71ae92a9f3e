"""The process that all others are forked from, run as a program of its own: no thread, lock or event loop of the parent is in it.

    parent ─▶ zygote ─▶ one template per module (imports it once) ─▶ workers (run the calls)

Zygote and template are the same thing, a `Forker`: it forks, kills, reaps, and adopts the orphans of what it has killed, so that
they can be killed too. It runs no tool. When the parent is gone, its channel ends, and it takes everything below with it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any, Final

from toolhand.execution.workers import linux
from toolhand.execution.workers.calls import found_tool, serve_calls
from toolhand.execution.workers.frames import encoded, receive

_REAP_SECONDS: Final = 1.0
"""How often ended children are looked for without being told, should a module have taken the signal for itself."""

_DEATH_SECONDS: Final = 2.0
_MOST_ERROR_CHARACTERS: Final = 20_000


class Forker:
    """Forks at its parent's request.

    Args:
        channel: to the parent. Requests come as frames `{"id", "op", …}`, each is answered with the same id; a child that ended
            by itself is told as `{"died", "status"}`.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._parent = os.getppid()
        self._children: set[int] = set()
        self._kept: set[int] = set()
        self._bell, self._rung = os.pipe()

    def serve(self) -> None:
        """Answers until the parent is gone; then ends everything below, and the process."""
        os.set_blocking(self._bell, False)
        os.set_blocking(self._rung, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._parent_may_be_gone)
        signal.set_wakeup_fd(self._rung, warn_on_full_buffer=False)
        linux.adopt_orphans()
        try:
            while True:
                ready = select.select([self._channel.fileno(), self._bell], [], [], _REAP_SECONDS)[0]
                with contextlib.suppress(BlockingIOError):
                    os.read(self._bell, 4096)
                self._reap()
                if self._channel.fileno() in ready:
                    received = receive(self._channel)
                    if received is None:
                        break
                    self._answer(*received)
        except OSError:  # the parent has gone in the middle of an answer
            pass
        self._end()

    def _answer(self, request: Mapping[str, Any], descriptors: list[int]) -> None:
        operation = {"fork": self._fork, "kill": self._kill, "load": self._load}[request["op"]]
        self._send({"id": request["id"], **operation(request, descriptors)})

    def _send(self, answer: Mapping[str, Any]) -> None:
        self._channel.sendall(encoded(answer))

    def _fork(self, request: Mapping[str, Any], descriptors: list[int]) -> dict[str, Any]:
        me = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(descriptors[0])
            return {"error": f"no process could be forked: {error}"}
        if pid == 0:
            self._become(request, socket.socket(fileno=descriptors[0]), me)
        os.close(descriptors[0])
        self._children.add(pid)
        return {"pid": pid}

    def _become(self, request: Mapping[str, Any], channel: socket.socket, parent: int) -> None:
        """What the child does after the fork. It does not return."""
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            for descriptor in (self._bell, self._rung):
                os.close(descriptor)
            self._channel.close()
            os.setsid()
            linux.die_with_parent(parent, signal.SIGKILL)
            if request["role"] == "worker":
                linux.adopt_orphans()
                linux.limit_memory(request["memory_mb"])
                serve_calls(channel)
            else:
                Forker(channel).serve()
        finally:
            os._exit(1)

    def _load(self, request: Mapping[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Imports what a tool needs, so that the workers forked from here have it."""
        del descriptors
        try:
            os.environ.clear()
            os.environ.update(request["environ"])
            sys.path[:] = request["path"]
            os.chdir(request["directory"])
            found_tool(request["definition"])
        except BaseException:  # noqa: BLE001 - a module may raise anything while it is imported, an exit too
            return {"error": traceback.format_exc()[-_MOST_ERROR_CHARACTERS:]}
        if not self._children:
            # What the module itself has started belongs to it; later on it could as well be an orphan.
            self._kept = set(linux.children_of(os.getpid()))
        gc.collect()
        gc.freeze()  # the collector would touch, and so copy, every page that is shared with the workers
        return {}

    def _kill(self, request: Mapping[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Ends a child with everything that it has started, in whatever session that is."""
        del descriptors
        pid, status = request["pid"], None
        if pid in self._children:  # else it has ended and was told; its number may be another's by now
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(pid, signal.SIGKILL)
            until = time.monotonic() + _DEATH_SECONDS
            while time.monotonic() < until and status is None:
                found, code = os.waitpid(pid, os.WNOHANG)
                if found:
                    status = os.waitstatus_to_exitcode(code)
                else:
                    time.sleep(0.0002)  # a killed process takes the kernel a moment
            self._children.discard(pid)
        return {"status": status, "is_clean": linux.end_strangers(self._children | self._kept)}

    def _reap(self) -> None:
        ended = []
        for pid in tuple(self._children):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                self._children.discard(pid)
                ended.append((pid, status))
        if ended:
            linux.end_strangers(self._children | self._kept)
        for pid, status in ended:
            self._send({"died": pid, "status": os.waitstatus_to_exitcode(status)})

    def _parent_may_be_gone(self, *_: object) -> None:
        # The kernel also sends this when only the parent's thread has ended.
        if os.getppid() != self._parent:
            self._end()

    def _end(self) -> None:
        linux.end_strangers(())
        os._exit(0)


def main(descriptor: int) -> None:
    """The zygote's program.

    Args:
        descriptor: of the channel to the parent.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)
    channel = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)
    parent = os.getppid()
    linux.die_with_parent(parent, signal.SIGTERM)
    gc.freeze()
    Forker(channel).serve()
