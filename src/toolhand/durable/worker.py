"""A worker: takes submitted runs, makes them with its agents, keeps their leases up, and gives runs of dead workers to others.

What can go wrong with a run is in `advancing.py`; here is what a worker does all the time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.agent import Agent
from toolhand.core.errors import SettingsError, StoreError
from toolhand.core.language import say
from toolhand.durable import tending
from toolhand.durable.advancing import Advancing, Taken
from toolhand.durable.ledger import CANCELS, RunLedger
from toolhand.durable.notices import notices_of
from toolhand.durable.opening import ledger_of
from toolhand.durable.schedules import Recurring, Schedule
from toolhand.sessions.holder import new_holder
from toolhand.sessions.moments import assured_until, moment
from toolhand.sessions.store import SessionStore

_LOG: Final = logging.getLogger("toolhand.worker")

_AGAIN_SECONDS: Final = 0.25
_BEATS: Final = 4
"""How often leases are kept up in their length."""
_CLEAN_UP_SECONDS: Final = 5.0


@dataclass(slots=True)
class Health:
    """What a worker says of itself.

    Args:
        started: when it began, in seconds since 1970.
        is_stopping: whether it takes no more runs.
        beat: when its leases were last kept up, on the clock of `moments.moment`.
        taken: how many runs it has taken.
        ended: how many of them came to an end here.
        failed: how many of those failed.
        lost: how many another worker took over.
        errors: how often the queue or the store was out of reach.
    """

    started: float = field(default_factory=time.time)
    is_stopping: bool = False
    beat: float = 0.0
    taken: int = 0
    ended: int = 0
    failed: int = 0
    lost: int = 0
    errors: int = 0


class Worker:
    """Makes submitted runs until it is stopped.

    Args:
        agents: one agent, or several by their names.
        store: where the runs are; by default the first agent's. It has to be PostgreSQL.
        queues: the queues it serves; by default those of its agents' names, and "default" for agents without one.
        concurrency: how many runs at once.
        lease_seconds: how long it may be out of touch before its runs are given to others.
        grace_seconds: how long runs may go on when it is stopped; what is left is handed over.
        most_attempts: after so many workers that died of it a run is given up, and after so many failures of a passing kind.
        schedules: runs that come again and again, by name.
        engine: what carries the jobs; see `toolhand.durable.queues`.

    Raises:
        SettingsError: when a number is none that can be, a schedule is for no agent of these, or the store is no PostgreSQL.
        MissingExtraError: when the extra `durable` is not installed.
    """

    def __init__(
        self,
        agents: Agent[Any] | Mapping[str, Agent[Any]],
        *,
        store: str | SessionStore | None = None,
        queues: Sequence[str] = (),
        concurrency: int = 100,
        lease_seconds: float = 4.0,
        grace_seconds: float = 30.0,
        most_attempts: int = 5,
        schedules: Mapping[str, Schedule] | None = None,
        engine: str = "procrastinate",
    ) -> None:
        self.agents = {"": agents} if isinstance(agents, Agent) else dict(agents)
        if not self.agents or concurrency < 1 or most_attempts < 1 or lease_seconds < 0.5:
            raise SettingsError(
                say(
                    "a worker has an agent, a concurrency and attempts of at least 1, and a lease of at least 0.5 seconds",
                    "worker 至少需要一个 agent，并发数和尝试次数至少为 1，租约至少 0.5 秒",
                )
            )
        first = next(iter(self.agents.values()))
        self.ledger: RunLedger = ledger_of(first.store if store is None else store, engine)
        self.queues = tuple(queues) or tuple(dict.fromkeys(name or "default" for name in self.agents))
        self.concurrency, self.grace_seconds, self.most_attempts = concurrency, grace_seconds, most_attempts
        self.lease_seconds = lease_seconds
        self.ledger.store.lease_seconds = (
            lease_seconds  # what a run asks for when its own clock says that it may be over
        )
        self.name = new_holder()
        self.health = Health()
        self.running: dict[str, Taken] = {}
        self._advancing = Advancing(self.ledger, self.agents, most_attempts=most_attempts)
        self._recurring = Recurring(self.ledger, self.agents, schedules or {})
        self._slots = asyncio.Semaphore(concurrency)
        self._taking: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()

    def hand_over(self) -> None:
        """Leaves the runs that are still under way to other workers, at once."""
        for taken in list(self.running.values()):
            taken.hand_over()

    def stop(self) -> None:
        """Has it take no more runs and end once those under way have, or were handed over."""
        self._stop.set()

    async def run(self) -> None:
        """Works until `stop`. A server that is away ends nothing: it goes on when the server is back.

        Raises:
            StoreError: when the store cannot be used at the beginning.
        """
        async with self.ledger.store.at_home():
            await self._run()

    async def _run(self) -> None:
        if not await self._begun():
            return
        fetching = asyncio.ensure_future(self._fetch())
        tending_tasks = [asyncio.ensure_future(work) for work in self._tending()]
        try:
            await self._stop.wait()
        finally:
            self.health.is_stopping = True
            await _ended(fetching)
            await self._finish()
            for task in tending_tasks:
                await _ended(task)
            with contextlib.suppress(StoreError, TimeoutError):  # a server that is away is not waited for
                async with asyncio.timeout(_CLEAN_UP_SECONDS):
                    await self.ledger.gone(self.name)
            await self.ledger.queue.close()

    async def _begun(self) -> bool:
        """Makes ready; False where it is stopped before, as while the server is away."""

        async def begin() -> None:
            await self.ledger.ready()
            await self._beat_once()

        beginning, stopping = asyncio.ensure_future(begin()), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((beginning, stopping), return_when=asyncio.FIRST_COMPLETED)
            if beginning.done():
                await beginning  # it may have raised
            return beginning.done()
        finally:
            await _ended(beginning)
            await _ended(stopping)

    def _tending(self) -> list[Coroutine[Any, Any, None]]:
        return [self._beat(), self._reap(), self._listen(), self._recurring.run()]

    async def _fetch(self) -> None:
        """Has the queue hand jobs over, and begins anew where it breaks."""
        while True:
            try:
                await self.ledger.look("SELECT 1", ())  # waits while the server is away
                await self.ledger.queue.work(self._take, queues=self.queues, concurrency=self.concurrency)
            except Exception as error:  # noqa: BLE001 - whatever breaks, a worker goes on
                self.health.errors += 1
                why = error.__cause__ or error
                _LOG.warning("the queue broke (%s: %s): it is opened again", type(why).__name__, why)
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _take(self, run_id: str) -> None:
        """Takes a run, where that can be, and waits until it has ended; cancelled, it leaves the run to itself."""
        taking = asyncio.ensure_future(self._taken(run_id))
        self._taking.add(taking)
        taking.add_done_callback(self._taking.discard)
        await asyncio.shield(taking)

    async def _taken(self, run_id: str) -> None:
        async with self._slots:
            asked_at = moment()
            try:
                claim = await self.ledger.claim(run_id, holder=new_holder(), lease_seconds=self.lease_seconds)
            except StoreError as error:  # its job is put in again after a while
                self.health.errors += 1
                _LOG.warning("run %s could not be taken: %s", run_id, error)
                return
            if claim is None:
                return
            self.health.taken += 1
            taken = Taken(claim, assured_until(asked_at, self.lease_seconds))
            taken.task = asyncio.current_task()
            before = self.running.get(claim.lease.session_id)
            self.running[claim.lease.session_id] = taken
            try:
                if (
                    before is not None and before.task is not None
                ):  # it slept, and its own run came back to it
                    before.lose()
                    await asyncio.wait([before.task])
                state = await self._advancing.advance(taken)
            finally:
                if self.running.get(claim.lease.session_id) is taken:
                    del self.running[claim.lease.session_id]
            self.health.lost += state is None
            self.health.ended += state is not None
            self.health.failed += state == "failed"

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.lease_seconds / _BEATS)
            try:
                await self._beat_once()
            except StoreError:  # it waits for the server by itself, and each run asks before it does anything
                self.health.errors += 1

    async def _beat_once(self) -> None:
        held = [taken for taken in self.running.values() if not taken.is_lost]
        asked_at = moment()
        kept = await self.ledger.beat(
            [taken.claim for taken in held],
            worker=self.name,
            lease_seconds=self.lease_seconds,
            queues=self.queues,
            concurrency=self.concurrency,
        )
        until = assured_until(asked_at, self.lease_seconds)
        for taken in held:
            if taken.claim.lease.session_id in kept:
                taken.keep(until)
        # What was locked at that moment is asked for by itself, so that one stuck row ends nobody else's lease.
        await asyncio.gather(
            *(self._renew(taken) for taken in held if taken.claim.lease.session_id not in kept)
        )
        for run_id in await self.ledger.cancels([taken.claim.row.id for taken in held]):
            self._cancel(run_id)
        self.health.beat = moment()

    async def _renew(self, taken: Taken) -> None:
        asked_at = moment()
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(self.lease_seconds / _BEATS):
                if await self.ledger.store.renew(taken.claim.lease):
                    taken.keep(assured_until(asked_at, self.lease_seconds))
                elif self.running.get(taken.claim.lease.session_id) is taken and not taken.is_settling:
                    taken.lose()

    def _cancel(self, run_id: str) -> None:
        for taken in self.running.values():
            if taken.claim.row.id == run_id:
                taken.cancel()

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(self.lease_seconds / _BEATS * random.uniform(0.6, 1.2))  # noqa: S311 - not a secret
            try:
                found = await tending.reap(self.ledger, most_attempts=self.most_attempts)
                if found.lost or found.given_up:
                    _LOG.warning("%d runs of lost workers go on, %d are given up", found.lost, found.given_up)
                await self.ledger.queue.revive(self.lease_seconds * 2)
            except Exception as error:  # noqa: BLE001 - the next look may be luckier
                self.health.errors += 1
                _LOG.info("the look for lost runs failed: %s: %s", type(error).__name__, error)

    async def _listen(self) -> None:
        async with notices_of(self.ledger.store, CANCELS).about() as box:
            while True:
                self._cancel(await box.notices.get())

    async def _finish(self) -> None:
        """Lets the runs under way end; what is left after a while is handed over to other workers."""
        if self._taking:
            await asyncio.wait(self._taking, timeout=self.grace_seconds)
        self.hand_over()
        if self._taking:
            await asyncio.wait(self._taking, timeout=_CLEAN_UP_SECONDS)
        for task in list(self._taking):  # the server is away: the lease runs out
            await _ended(task)


async def _ended(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])
