"""Processes that are closed in and wait for their one program, forked from one that has its libraries loaded."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from toolhand.core.language import say
from toolhand.jails.inside.frames import Frames
from toolhand.jails.kernel import Room, remove_tree
from toolhand.jails.ring import Ring, is_over
from toolhand.jails.runs import SandboxError

START: Final = str(Path(__file__).parent / "inside" / "start.py")
_START_SECONDS: Final = 60.0
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES})
_MOST_FILES, _MOST_THREADS, _LONGEST_PATH = 4_096, 256, 2_000
_SHARED: Final = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/usr/share/fonts",
)


@cache
def readable_paths() -> tuple[str, ...]:
    """What an interpreter and its libraries are loaded from, and nothing of the user's."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} | set(
        _SHARED
    )
    for base in {sys.base_prefix, sys.prefix} - {"/usr", "/"}:
        paths |= {f"{base}/lib", f"{base}/lib64"}
    kept: list[str] = []
    for path in sorted(path for path in paths if Path(path).is_dir()):
        if not any(path.startswith(f"{above}/") for above in kept):
            kept.append(path)
    return tuple(kept)


@dataclass(slots=True, eq=False)
class Child:
    """A process that is closed in and waits for its one program."""

    incoming: int
    outgoing: int
    printed: int
    process: int
    work: str
    files_mb: int
    is_ended: bool = False

    def kill(self) -> None:
        """Ends it: from here on it does nothing more."""
        if not self.is_ended:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.process, signal.SIGKILL)

    def close(self) -> None:
        """Waits until it is gone, and takes its folder and channels away."""
        if self.is_ended:
            return
        self.kill()
        self.is_ended = True
        gone = select.poll()
        gone.register(self.process, select.POLLIN)
        gone.poll(2_000)
        os.close(self.process)
        if self.work:
            remove_tree(self.work)
        for descriptor in (self.incoming, self.printed):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def is_too_big(self) -> bool:
        """Whether it has more threads than it may, or its files hold more; a file system in memory has a bound of its own."""
        with contextlib.suppress(OSError, ValueError, StopIteration):
            facts = Path(f"/proc/self/fdinfo/{self.process}").read_text("ascii").splitlines()
            pid = next(fact.split()[1] for fact in facts if fact.startswith("Pid:"))
            if _threads(pid) > _MOST_THREADS:
                return True
            return bool(self.work) and self._is_full(_unnamed_bytes(pid, self.files_mb * 2**20))
        return bool(self.work) and self._is_full(0)

    def _is_full(self, size: int) -> bool:
        count, waiting = 0, [self.work]
        if size > self.files_mb * 2**20:
            return True
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        count += 1
                        with contextlib.suppress(FileNotFoundError):
                            size += entry.stat(follow_symlinks=False).st_blocks * 512
                        if size > self.files_mb * 2**20 or count > _MOST_FILES:
                            return True
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
            except FileNotFoundError:
                pass
            except PermissionError:  # it closed a folder to this user, and may go on writing there
                return True
            if len(folder) > _LONGEST_PATH:
                return True
        return False


def _threads(pid: str) -> int:
    """How many threads a process has. No limit of the kernel's counts those of one process."""
    return int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rsplit(")", 1)[1].split()[17])


def _unnamed_bytes(pid: str, most: int) -> int:
    """How much of the disk a process holds in files that have no name any more.

    Args:
        pid: the process.
        most: what a file can hold at most; one that is only mapped counts so much, as its size cannot be seen.
    """
    held: dict[int, int] = {}
    for fact in Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines():
        if fact.endswith(" (deleted)") and (inode := int(fact.split()[4])):
            held[inode] = most
    with os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                found = entry.stat()
                if stat.S_ISREG(found.st_mode) and not found.st_nlink:
                    held[found.st_ino] = found.st_blocks * 512
    return sum(held.values())


class Zygote:
    """The process from which children are forked, for one jail; started when it is first needed.

    Args:
        jail: "namespaces" or "landlock".
        manner: "libraries" to have them loaded, or "bare".
    """

    def __init__(self, jail: str, manner: str = "libraries") -> None:
        self.jail, self._manner = jail, manner
        self._ring: Ring[tuple[str, ...], Child] = Ring(
            self._child,
            Child.close,
            2 if manner == "libraries" else 0,
            is_gone=lambda child: is_over(child.process),
        )
        self._lock = threading.Lock()
        self._host = 0
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._place = ""

    def child(self, *, memory_mb: int, seconds: float) -> Child:
        """A closed process for one program.

        Raises:
            SandboxError: when it cannot be closed in.
        """
        return self._ring.take(_words(memory_mb, seconds))

    def ready(self, *, memory_mb: int, seconds: float) -> Child | None:
        """The same, where one is ready and need not be waited for."""
        return self._ring.ready(_words(memory_mb, seconds))

    def retire(self, child: Child) -> None:
        """Takes a used one away, behind the caller's back."""
        child.kill()
        self._ring.retire(child)

    def end(self) -> None:
        """Ends the process and all that was forked from it."""
        self._ring.clear()
        self._end_started()

    def _end_started(self) -> None:
        if self._host == os.getpid() and self._channel is not None:
            self._channel.close()
            if self._process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(2)
            remove_tree(self._place)
        self._channel = None

    def _child(self, key: tuple[str, ...]) -> Child:
        room = Room.of(key)
        if self._host != os.getpid():
            self._lock, self._channel = threading.Lock(), None
        with self._lock:
            try:
                return self._forked(self._started(), room)
            except OSError as error:
                if error.errno in _NO_ROOM:  # another process would find none either
                    raise _without_room(error) from error
            self._end_started()  # it was killed, by the system or by a person, or its folder was tidied away
            try:
                return self._forked(self._started(), room)
            except OSError as error:
                raise _without_room(error) from error

    def _started(self) -> socket.socket:
        if self._channel is not None and self._host == os.getpid():
            return self._channel
        self._place = tempfile.mkdtemp(prefix="toolhand-sandbox-")
        Path(self._place).chmod(0o711)  # the program is nobody, and has to get through
        Path(self._place, "root").mkdir()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "MPLCONFIGDIR": self._place,
            "LANG": "C.UTF-8",
        }
        words = [str(theirs.fileno()), self.jail, f"{self._place}/root", self._manner]
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-X", "utf8", START, "zygote", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        ours.settimeout(_START_SECONDS)
        if ours.recv(64) != b"ready":
            raise SandboxError(
                say(
                    "the sandbox's Python did not start: run `toolhand sandbox check`",
                    "沙箱的 Python 没有启动：请运行 `toolhand sandbox check`",
                )
            )
        self._channel, self._host = ours, os.getpid()
        atexit.register(self.end)
        return ours

    def _forked(self, channel: socket.socket, room: Room) -> Child:
        if self.jail == "landlock":
            room.work = tempfile.mkdtemp(prefix="w", dir=self._place)
            Path(room.work).chmod(0o777)
        ours, theirs = socket.socketpair()
        printed, printing = os.pipe()
        try:
            try:
                words = "\0".join(room.words).encode()
                socket.send_fds(channel, [words], [theirs.fileno(), printing])
            finally:
                theirs.close()
                os.close(printing)
            process = _closed_in(channel, ours)
        except BaseException:
            ours.close()
            os.close(printed)
            if room.work:
                remove_tree(room.work)
            raise
        return Child(ours.fileno(), ours.detach(), printed, process, room.work, room.files_mb)


def _without_room(error: OSError) -> SandboxError:
    return SandboxError(
        say(
            f"the sandbox's process could not be started ({error}): make room in the temporary folder, or set TMPDIR",
            f"沙箱进程无法启动（{error}）：请在临时文件夹中腾出空间，或设置 TMPDIR",
        )
    )


def _words(memory_mb: int, seconds: float) -> tuple[str, ...]:
    # Where many run at once, or a thread each, a second on the wall may be several of the processor's.
    return Room(readable_paths(), memory_mb=memory_mb, cpu_seconds=int(seconds * 4) + 1).words


def _closed_in(channel: socket.socket, child: socket.socket) -> int:
    """A descriptor of the new process, once it is closed in and ready.

    Raises:
        SandboxError: when it is not.
        ConnectionResetError: when what should have forked it is gone.
    """
    answer = channel.recv(64)
    if not answer:
        raise ConnectionResetError("the zygote is gone")
    if answer != b"forked":
        raise SandboxError(answer.decode())
    child.settimeout(_START_SECONDS)
    said, descriptors, _, _ = socket.recv_fds(child, 10, 1)
    frames, ready = Frames(), list[Any]()
    while descriptors and not ready:
        said = child.recv(4096)
        if not said or said.startswith(b"refused"):
            os.close(descriptors.pop())
        else:
            ready = frames.feed(said)
    if not descriptors:
        rest = child.recv(1000) if said else b""
        ended = say("it ended while it was closed in", "它在被隔离时终止了")
        raise SandboxError((said + rest).decode("utf-8", "replace") or ended)
    return descriptors[0]
