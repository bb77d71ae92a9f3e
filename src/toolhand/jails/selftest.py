"""Whether a jail holds on this machine: seen, not guessed. Harmless attempts of each kind are made in it before its first use."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
import sys
import tempfile
import threading
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol

from toolhand.core.language import say
from toolhand.jails.conversing import Conversation, Process
from toolhand.jails.processes import Zygote
from toolhand.jails.runs import NoTools, Ran, SandboxError, Stop
from toolhand.parsing.programs.outcomes import Limits

_ATTEMPTS: Final = """
import os, socket, json
got = []
def attempt(name, what):
    try:
        what()
    except MemoryError:
        got.append(name) if name == "memory is bounded" else None
    except BaseException:
        pass
    else:
        got.append(name) if name != "memory is bounded" else None
def connect():
    socket.create_connection(("127.0.0.1", PORT), 1)
attempt("read a file", lambda: open(SECRET).read())
attempt("write a file", lambda: open(SECRET + ".new", "w"))
attempt("change a file", lambda: os.utime(SECRET))
attempt("connect", connect)
attempt("start a process", os.fork)
attempt("run a program", lambda: os.posix_spawn("/bin/true", ["true"], {}))
attempt("signal the host", lambda: os.kill(HOST, 0))
attempt("read the host's environment", lambda: open("/proc/%d/environ" % HOST, "rb").read())
attempt("memory is bounded", lambda: bytearray(512 << 20))
attempt("become root", lambda: os.setuid(0) if os.getuid() else 1 / 0)
print(json.dumps(got))
"""
_HELD_MEMORY: Final = "memory is bounded"
_FIXES: Final = (
    "Landlock needs Linux 5.13 or later with landlock among its security modules; namespaces need "
    "kernel.unprivileged_userns_clone=1, or kernel.apparmor_restrict_unprivileged_userns=0, or root with CAP_SYS_ADMIN; a "
    "container needs Docker or Podman with an image that has Python: see `toolhand sandbox check`"
)
_FIXES_ZH: Final = (
    "Landlock 需要 Linux 5.13 或更新的内核，并启用 landlock 安全模块；命名空间需要 kernel.unprivileged_userns_clone=1，或 "
    "kernel.apparmor_restrict_unprivileged_userns=0，或拥有 CAP_SYS_ADMIN 的 root；容器需要 Docker 或 Podman，"
    "以及带 Python 的镜像：请运行 `toolhand sandbox check`"
)
_ATTEMPTS_ZH: Final = {
    "read a file": "读取文件", "write a file": "写文件", "change a file": "修改文件", "connect": "连接网络",
    "start a process": "启动进程", "run a program": "运行程序", "signal the host": "向宿主发信号",
    "read the host's environment": "读取宿主的环境变量", "become root": "变成 root",
}  # fmt: skip
_HELD: dict[str, str] = {}
_LOCK: Final = threading.Lock()


def failure(jail: str) -> str:
    """Why a jail does not hold here, or "" where it does. Found out once in a process.

    Args:
        jail: "namespaces" or "landlock".
    """
    with _LOCK:
        if jail not in _HELD:
            if lacking := _no_folder():
                return lacking  # not for good: there may be room again
            _HELD[jail] = _failure(jail)
        return _HELD[jail]


def _no_folder() -> str:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(4096))
            file.flush()
    except OSError as error:
        return say(
            f"no temporary folder can be written ({error.strerror}): make room in it, or set TMPDIR",
            f"临时文件夹无法写入（{error.strerror}）：请腾出空间，或设置 TMPDIR",
        )
    return ""


def holding(jails: Sequence[str]) -> str:
    """The first of these jails that holds.

    Raises:
        SandboxError: when none does.
    """
    reasons = []
    for jail in jails:
        reason = failure(jail)
        if not reason:
            return jail
        reasons.append(f"{jail}: {reason}")
    said, fixes = "; ".join(reasons), say(_FIXES, _FIXES_ZH)
    raise SandboxError(
        say(
            f"no sandbox for code holds on this machine ({said}). {fixes}",
            f"本机没有可用的代码沙箱（{said}）。{fixes}",
        )
    )


def _failure(jail: str) -> str:
    if sys.platform != "linux" or os.uname().machine not in {"x86_64", "aarch64"}:
        return say(
            f"it needs Linux on x86-64 or aarch64, and this is {sys.platform}",
            f"它需要 x86-64 或 aarch64 上的 Linux，而这里是 {sys.platform}",
        )
    zygote = Zygote(jail, "bare")
    try:
        return failure_of(zygote)
    finally:
        zygote.end()


class Rooms(Protocol):
    """What gives closed processes."""

    def child(self, *, memory_mb: int, seconds: float) -> Closed:
        """One for one program."""
        ...


class Closed(Process, Protocol):
    """A closed process that has to be closed for good."""

    def close(self) -> None:
        """Ends it, and its channels too."""
        ...


def failure_of(rooms: Rooms, allowed: Collection[str] = ()) -> str:
    """What a program can do that it must not, or why it cannot be found out; "" where the walls hold.

    Args:
        rooms: what gives closed processes.
        allowed: attempts that may succeed.
    """
    try:
        return _attempts(rooms, allowed) or _overrun(rooms)
    except (SandboxError, OSError) as error:
        return str(error)


def _attempts(rooms: Rooms, allowed: Collection[str]) -> str:
    with (
        tempfile.TemporaryDirectory(prefix="toolhand-canary-") as folder,
        contextlib.closing(socket.socket()) as listener,
    ):
        Path(folder).chmod(0o755)
        secret = Path(folder, "secret.txt")
        secret.write_text(secrets.token_hex(), encoding="ascii")
        secret.chmod(0o666)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        facts = {"PORT": listener.getsockname()[1], "SECRET": str(secret), "HOST": os.getpid()}
        code = "".join(f"{name} = {value!r}\n" for name, value in facts.items()) + _ATTEMPTS
        ran = _ran(rooms, code, 10.0)
        if ran.error is not None:
            why = f"{ran.error[0]} {ran.error[2]}"
            return say(f"the self-test did not come to its end ({why})", f"自检没有完成（{why}）")
        got = set(json.loads("".join(ran.output) or "[]")) - set(allowed)
        if _HELD_MEMORY not in got:
            return say("from inside one can take any amount of memory", "在里面可以占用任意多的内存")
        done = sorted(got - {_HELD_MEMORY})
        en, zh = ", ".join(done), "、".join(_ATTEMPTS_ZH[one] for one in done)
        return say(f"from inside one can {en}", f"在里面可以{zh}") if done else ""


def _overrun(rooms: Rooms) -> str:
    ran = _ran(rooms, "while True: pass", 0.05)
    is_ended = ran.error is not None and ran.error[0] == "time"
    return "" if is_ended else say("a program does not end in time", "程序不会按时结束")


def _ran(rooms: Rooms, code: str, seconds: float) -> Ran:
    limits = Limits(seconds=seconds, memory_mb=64)
    with contextlib.closing(rooms.child(memory_mb=64, seconds=limits.seconds)) as child:
        going = Conversation(child, NoTools(), limits, Stop(seconds)).run(code)
        with ThreadPoolExecutor(1) as other:  # whoever asks may have a loop that runs
            return other.submit(asyncio.run, going).result()
