"""Full Python in a container of Docker or Podman."""

from __future__ import annotations

import threading

from toolhand.execution.threads import THREADS
from toolhand.jails.containers import Container, Containers, holding_engine
from toolhand.jails.conversing import Conversation
from toolhand.jails.runs import Ran, Stop
from toolhand.parsing.programs.outcomes import Limits
from toolhand.sandbox.calls import Calls


class ContainerBackend:
    """Runs programs in containers."""

    name = "container"
    most_memory_mb = 1 << 20

    def __init__(self) -> None:
        self._held: Containers | None = None
        self._lock = threading.Lock()

    def walls(self) -> tuple[str, ...]:
        """The engine, and what it puts up.

        Raises:
            SandboxError: when there is no engine, no image, or it does not hold.
        """
        with self._lock:
            self._held = self._held or holding_engine()
            return (self._held.engine, "no network", "cgroups")

    async def run(self, code: str, calls: Calls, limits: Limits, stop: Stop) -> Ran:
        """Runs one program to its end."""
        child = await THREADS.run(lambda: self._child(limits), tool="toolhand.sandbox")
        try:
            return await Conversation(child, calls, limits, stop).run(code)
        finally:
            await THREADS.run(child.close, tool="toolhand.sandbox")

    def _child(self, limits: Limits) -> Container:
        self.walls()
        assert self._held is not None  # noqa: S101 - for the type
        return self._held.child(memory_mb=limits.memory_mb, seconds=limits.seconds)


BACKEND = ContainerBackend()
