"""Containers of Docker or Podman as walls: no network, nothing of the host's but our own program, bounded by cgroups."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolhand.core.language import say
from toolhand.jails.runs import SandboxError
from toolhand.jails.selftest import failure_of

IMAGE: Final = "TOOLHAND_SANDBOX_IMAGE"
"""The environment variable that names the image; it needs Python 3.11 or later, and what libraries programs shall have."""

_DEFAULT_IMAGE: Final = "python:3.11-slim"
_ENGINES: Final = ("docker", "podman")
_START_SECONDS: Final = 60.0
_JAILS: Final = Path(__file__).parent
_OWN_BUSINESS: Final = frozenset({"start a process", "run a program"})
"""What a program may do in a container: they are counted, and end with it."""


_PROGRAM: Final = ("python", "-I", "-B", "-X", "utf8", "/opt/toolhand/jails/inside/start.py", "program")


def _walls(memory_mb: int) -> list[str]:
    memory = f"{memory_mb + 64}m"
    return [
        *("--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *(
            "--tmpfs",
            "/program:size=64m,noexec,nosuid,mode=1777",
            "--workdir",
            "/program",
            "--user",
            "65534:65534",
        ),
        *("--memory", memory, "--memory-swap", memory, "--pids-limit", "64", "--cpus", "1"),
        *(
            "--ulimit",
            "nofile=256",
            "--ulimit",
            "core=0",
            "--env",
            "MPLCONFIGDIR=/program",
            "--env",
            "HOME=/program",
        ),
        *("--volume", f"{_JAILS}:/opt/toolhand/jails:ro"),
    ]


@dataclass(slots=True, eq=False)
class Container:
    """A container that waits for its one program."""

    engine: str
    name: str
    process: subprocess.Popen[bytes]
    incoming: int
    outgoing: int
    printed: int
    killer: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        """Ends it with all that is in it, without waiting for it."""
        if self.killer is None and self.process.poll() is None:
            words = [self.engine, "kill", self.name]
            self.killer = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603

    def close(self) -> None:
        """Ends it and waits until it is gone; its channels too."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            _ = self.killer and self.killer.wait(30)
        self.process.kill()
        self.process.wait(10)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]

    def is_too_big(self) -> bool:
        """Never: its folder is in memory, with a bound."""
        return False


@dataclass(frozen=True, slots=True)
class Containers:
    """What makes containers.

    Args:
        engine: the program that does.
        image: what they are made of.
    """

    engine: str
    image: str

    def child(self, *, memory_mb: int, seconds: float) -> Container:
        """A container for one program.

        Raises:
            SandboxError: when it does not start.
        """
        del seconds
        name = f"toolhand-{uuid.uuid4().hex[:16]}"
        words = [self.engine, "run", "--rm", "-i", "--pull", "never", "--name", name]
        process = subprocess.Popen(  # noqa: S603
            [*words, *_walls(memory_mb), self.image, *_PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        streams: Any = (process.stdout, process.stdin, process.stderr)
        made = Container(self.engine, name, process, *(stream.fileno() for stream in streams))
        ready = select.select([made.incoming], [], [], _START_SECONDS)[0] and os.read(made.incoming, 4096)
        if not ready:
            said = os.read(made.printed, 500).decode("utf-8", "replace")
            made.close()
            why = " ".join(said.split())
            raise SandboxError(
                say(
                    f"the container did not start ({why}): run `toolhand sandbox check`",
                    f"容器没有启动（{why}）：请运行 `toolhand sandbox check`",
                )
            )
        return made


def holding_engine() -> Containers:
    """The first engine whose containers hold.

    Raises:
        SandboxError: when there is none, or no image.
    """
    image, reasons = os.environ.get(IMAGE, _DEFAULT_IMAGE), []
    for engine in filter(shutil.which, _ENGINES):
        done = subprocess.run(  # noqa: S603
            [engine, "image", "inspect", image], capture_output=True, check=False, timeout=30
        )
        if done.returncode:
            reasons.append(f"{engine}: {' '.join(done.stderr.decode('utf-8', 'replace').split())[:200]}")
            continue
        containers = Containers(engine, image)
        reason = failure_of(containers, _OWN_BUSINESS)
        if not reason:
            return containers
        reasons.append(f"{engine}: {reason}")
    said = "; ".join(reasons) or say("neither Docker nor Podman is installed", "Docker 和 Podman 都没有安装")
    raise SandboxError(
        say(
            f"no container for code can be had ({said}): start the engine, `pull {image}`, or set {IMAGE}",
            f"没有可用于运行代码的容器（{said}）：请启动容器引擎、`pull {image}`，或设置 {IMAGE}",
        )
    )
