"""Full Python with its libraries, in a process that is closed in by whichever jail holds on this machine."""

from __future__ import annotations

from typing import Any, Final

from toolhand.execution.threads import THREADS
from toolhand.jails.conversing import Conversation
from toolhand.jails.processes import Zygote
from toolhand.jails.runs import Ran, Stop
from toolhand.jails.selftest import holding
from toolhand.parsing.programs.outcomes import Limits
from toolhand.sandbox.calls import Calls

JAILS: Final = ("namespaces", "landlock")
"""The one that hides more comes first."""


class ProcessBackend:
    """Runs programs in full Python.

    Args:
        jails: which may be used, the best first.
    """

    name = "process"
    most_memory_mb = 1 << 20

    def __init__(self, jails: tuple[str, ...] = JAILS) -> None:
        self._jails = jails
        self._zygotes = {jail: Zygote(jail) for jail in jails}

    def walls(self) -> tuple[str, ...]:
        """The walls of the jail that holds.

        Raises:
            SandboxError: when none does.
        """
        return (holding(self._jails), "seccomp")

    async def run(self, code: str, calls: Calls, limits: Limits, stop: Stop) -> Ran:
        """Runs one program to its end."""
        zygote = self._zygotes[self.walls()[0]]
        room: dict[str, Any] = {"memory_mb": limits.memory_mb, "seconds": limits.seconds}
        child = zygote.ready(**room) or await THREADS.run(
            lambda: zygote.child(**room), tool="toolhand.sandbox"
        )
        try:
            return await Conversation(child, calls, limits, stop).run(code)
        finally:
            zygote.retire(child)

    def end(self) -> None:
        """Ends what is kept ready."""
        for zygote in self._zygotes.values():
            zygote.end()


BACKEND = ProcessBackend()
