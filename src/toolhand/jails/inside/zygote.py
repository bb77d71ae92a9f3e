"""The process that programs are forked from, with the libraries loaded. It never runs a program itself, and has no threads.

    host ─▶ zygote (imports once) ─▶ children, each closed in and parked, each for one program

A request is the room in words, with the child's two channels as descriptors.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import time

from toolhand.jails import kernel, landlock, namespaces
from toolhand.jails.inside import program

_LIBRARIES = "numpy pandas matplotlib.pyplot statistics csv decimal fractions datetime re random asyncio textwrap string"


def serve(channel: socket.socket, jail: str, place: str, host: int) -> None:
    """Forks at the host's request until the host is gone; then everything below is gone too."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel takes the ended ones away

    def ended(*_: object) -> None:
        if os.getppid() != host:
            _leave(place)

    signal.signal(signal.SIGTERM, ended)
    kernel.control(1, signal.SIGTERM)  # comes too when only the host's thread has ended
    poller = select.poll()
    poller.register(channel, select.POLLIN)
    with contextlib.suppress(OSError):  # the host is gone
        channel.send(b"ready")
        while request := _asked(channel, poller):
            _fork(channel, *request, jail, place)
    _leave(place)


def _asked(channel: socket.socket, poller: select.poll) -> tuple[bytes, list[int]] | None:
    """What the host asks for, with the child's descriptors; None when it is gone."""
    # Only here may the signal come: what it does forks, and a fork in the midst of another one waits for its locks for ever.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    poller.poll()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    request, descriptors, _, _ = socket.recv_fds(channel, 65536, 2)
    return (request, descriptors) if request else None


def _fork(channel: socket.socket, request: bytes, descriptors: list[int], jail: str, place: str) -> None:
    me, pid = os.getpid(), -1
    with contextlib.suppress(OSError):
        pid = os.fork()
    if pid == 0:
        try:
            kernel.control(1, signal.SIGKILL)
            if os.getppid() == me:
                _become(request.decode().split("\0"), jail, place, *descriptors)
        finally:
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)
    channel.send(b"forked" if pid > 0 else b"no process could be forked")


def _leave(place: str) -> None:
    """Ends this process, and with it each child, which has asked for that; what they leave is removed when they are gone."""
    me = os.getpid()
    if os.fork() == 0:
        while os.getppid() == me:
            time.sleep(0.01)
        time.sleep(0.05)
        kernel.remove_tree(os.path.dirname(place))  # noqa: PTH120
    os._exit(0)


def _become(words: list[str], jail: str, place: str, channel: int, output: int) -> None:
    """What a child does: closes everything, goes inside, says so, and runs the one program that it is given."""
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(channel, 200)  # out of the way of the numbers below
    for descriptor, number in ((nothing, 0), (output, 1), (output, 2), (200, 3)):
        os.dup2(descriptor, number)
    os.closerange(4, 4096)
    room = kernel.Room.of(words)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        if jail == "namespaces":
            namespaces.enter(room, place, _tell)
        else:
            landlock.enter(room, _tell)
    except Exception as error:  # noqa: BLE001 - whatever it is, nothing may run then, and the host says why
        os.write(3, f"refused {type(error).__name__}: {error}".encode())
        os._exit(1)
    os.environ.clear()
    program.serve(3, 3)


def _tell() -> None:
    """Hands the host a descriptor of this process, by which it can be killed and no other; the filter forbids it later."""
    process = os.pidfd_open(os.getpid())
    with socket.socket(fileno=os.dup(3)) as pair:
        socket.send_fds(pair, [b"closing in"], [process])
    os.close(process)


def main(descriptor: str, jail: str, place: str, manner: str) -> None:
    """Loads what is there of the libraries, and serves.

    Args:
        descriptor: of the channel to the host.
        jail: which one the children go into.
        place: an empty folder for what the jail puts up.
        manner: "libraries" to load them, or "bare".
    """
    host = os.getppid()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    if manner == "libraries":
        with contextlib.suppress(Exception):
            importlib.import_module("matplotlib").use("agg")
        for name in _LIBRARIES.split():
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()  # the collector would touch, and so copy, every page that is shared
    serve(socket.socket(fileno=int(descriptor)), jail, place, host)
