"""What runs programs: one file a backend, each with `BACKEND`, with its `run` in the event loop."""

from __future__ import annotations

from typing import Protocol

from toolhand.jails.runs import Ran, Stop
from toolhand.parsing.programs.outcomes import Limits
from toolhand.sandbox.calls import Calls


class NotHere(Exception):  # noqa: N818 - a program goes on elsewhere
    """The program needs what this backend does not have; nothing of it counts but the calls it made."""


class SandboxBackend(Protocol):
    """A way to run programs behind walls."""

    @property
    def name(self) -> str:
        """Its file's name."""
        ...

    @property
    def most_memory_mb(self) -> int:
        """The most that a program can have here."""
        ...

    def walls(self) -> tuple[str, ...]:
        """What stands around a program, after it was seen to hold.

        Raises:
            SandboxError: when it does not hold here, or is not installed.
        """
        ...

    async def run(self, code: str, calls: Calls, limits: Limits, stop: Stop) -> Ran:
        """Runs one program to its end.

        Raises:
            NotHere: when it needs more than this backend has.
            Ended: when its calls end it.
        """
        ...
