"""The port to the engine that carries jobs to workers, one file an engine.

A job only says "advance run R". Whether that run may be taken, by whom, in what order and how it ended stands in the ledger and
nowhere else: a job that comes twice, late or to a worker that was thought dead changes nothing. So an engine need not promise
more than that a job comes at least once, some time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from toolhand.core import plugins
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.sessions.migrations import Script

if TYPE_CHECKING:
    from toolhand.sessions.postgres import PostgresStore

GROUP = "durable.queues"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Says that a run may be taken.

    Args:
        run_id: the run.
        queue: where it waits.
        priority: the higher goes first.
        due: not before this moment, in seconds since 1970; 0 for at once.
        delay: not before so many seconds from now.
    """

    run_id: str
    queue: str = "default"
    priority: int = 0
    due: float = 0.0
    delay: float = 0.0


class Queue(Protocol):
    """An engine that carries jobs. Its file holds `connect(store)`, which gives one."""

    async def prepare(self) -> None:
        """Makes what it needs, where that is not there yet."""
        ...

    def put(self, job: Job) -> Script[None]:
        """Puts a job in, in the transaction that also writes the run down; nothing where the run has one that waits.

        An engine that keeps its jobs elsewhere yields nothing here and takes them from `sent`.
        """
        ...

    async def sent(self, jobs: Sequence[Job]) -> None:
        """Hears of jobs whose transaction is kept. What is lost here is put in again after a while."""
        ...

    async def work(
        self, take: Callable[[str], Awaitable[None]], *, queues: Sequence[str], concurrency: int
    ) -> None:
        """Hands jobs over until it is cancelled; it raises, or returns, where the engine is out of reach.

        Args:
            take: takes a run by its id, and returns when it has ended. Where it is cancelled the run goes on.
            queues: from where.
            concurrency: how many at once.
        """
        ...

    async def revive(self, seconds: float) -> int:
        """Gives jobs that were handed to a worker which has been silent for so long to others; how many."""
        ...

    async def close(self) -> None:
        """Gives back connections."""
        ...


def open_queue(name: str, store: PostgresStore) -> Queue:
    """The engine of that name.

    Args:
        name: "procrastinate", or what an entry point `toolhand.durable.queues` is called.
        store: where the runs are.

    Raises:
        SettingsError: when there is none of that name.
        MissingExtraError: when it is not installed.
    """
    connect = plugins.found(GROUP, name, "connect")
    if connect is None:
        there = ", ".join(plugins.names(GROUP))
        raise SettingsError(
            say(f"there is no queue '{name}'; there is: {there}", f"没有队列引擎“{name}”；可用：{there}")
        )
    opened: Queue = connect(store)
    return opened
