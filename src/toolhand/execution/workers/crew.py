"""Who works: templates, their workers, and the callers who wait for one. Everything here runs on the pool's own loop.

Rules: a template keeps one idle worker ahead of need; a worker that leaves anything running behind a call is replaced; when all
places are taken, the caller who has waited longest is next, and an idle worker of another module makes room.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from toolhand.execution.workers.definition import Definition
from toolhand.execution.workers.failures import ProcessLostError
from toolhand.execution.workers.frames import Channel
from toolhand.execution.workers.nodes import (
    Forker,
    Template,
    Worker,
    exit_words,
    start_zygote,
    surroundings,
)

_LOG = logging.getLogger("toolhand.workers")

START_SECONDS: Final = 60.0
"""How long a module may take to be imported."""

MOST_CALLS: Final = 1_000
"""After which a worker is replaced, so that what tools leak does not add up."""

MOST_TEMPLATES: Final = 8
_MOST_KNOWN: Final = 256
_IDLE_SECONDS: Final = 60.0
_TIDY_SECONDS: Final = 20.0


@dataclass(slots=True)
class WorkerLimits:
    """What workers may take.

    Args:
        most: how many there may be at once.
        memory_mb: what each may use beyond what it starts with, in megabytes.
        result_mb: the largest result, in megabytes of JSON.
    """

    most: int
    memory_mb: int
    result_mb: float


class Crew:
    """The processes behind a pool.

    Args:
        limits: read anew each time.
    """

    def __init__(self, limits: WorkerLimits) -> None:
        self._limits = limits
        self._zygote: Forker | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._zygote_lock = asyncio.Lock()
        self._templates: dict[str, Template] = {}
        self._starting: dict[str, asyncio.Task[Template]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._places_taken = 0
        self._leaving = 0
        self._tidying: asyncio.TimerHandle | None = None

    @property
    def alive(self) -> int:
        """How many workers there are, those being started and ended included."""
        return self._places_taken

    def is_ready(self, family: str) -> bool:
        """Whether a module's template has been started."""
        template = self._templates.get(family)
        return template is not None and not template.forker.is_lost

    async def template(self, definition: Definition) -> Template:
        """The template of the tool's module, started where there is none.

        Raises:
            ProcessLostError: when the module cannot be imported; the text holds the traceback.
        """
        if self.is_ready(definition.family):
            return self._templates[definition.family]
        starting = self._starting.get(definition.family)
        if starting is None:
            starting = self._starting[definition.family] = self._go(self._start(definition))
            starting.add_done_callback(lambda _: self._starting.pop(definition.family, None))
        return await asyncio.shield(starting)

    def prepare(self, definition: Definition) -> None:
        """Begins to start the template of the tool's module; whoever needs it waits for the same start and hears if it fails."""

        async def started() -> None:
            with contextlib.suppress(ProcessLostError):
                await self.template(definition)

        self._go(started())

    async def worker(self, definition: Definition) -> Worker:
        """A worker for one call, which must be given back or ended."""
        template = await self.template(definition)
        while template.idle and not template.waiting:
            worker = template.idle.pop()
            self._keep_ahead(template)
            return worker
        future: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        place = (time.monotonic(), future)
        template.waiting.append(place)
        self._balance()
        try:
            return await future
        except asyncio.CancelledError:
            if place in template.waiting:
                template.waiting.remove(place)
            elif future.done() and not future.cancelled() and future.exception() is None:
                self._offer(future.result())  # it came in the same moment
            raise

    def teach(self, template: Template, definition: Definition) -> None:
        """Has a template load a tool that one of its workers has just run, so that workers to come need not."""
        if definition not in template.known and len(template.known) < _MOST_KNOWN:
            template.known.add(definition)
            self._go(template.forker.request("load", definition=definition.sent, **surroundings()))

    def give_back(self, worker: Worker, *, is_clean: bool) -> None:
        """Takes a worker back after a call.

        Args:
            worker: the worker.
            is_clean: whether nothing of the call is left in it.
        """
        worker.calls += 1
        template = worker.template
        others = [t.waiting[0][0] for t in self._templates.values() if t.waiting and t is not template]
        mine = template.waiting[0][0] if template.waiting else float("inf")
        makes_room = self._places_taken >= self._limits.most and min(others, default=float("inf")) < mine
        if not is_clean or makes_room or worker.calls >= MOST_CALLS or self._places_taken > self._limits.most:
            self._balance()  # a replacement is on its way before this one is ended: forking waits for no killing
            self._keep_ahead(template)
            self._go(self.end(worker))
        else:
            self._offer(worker)

    async def end(self, worker: Worker) -> None:
        """Ends a worker with everything that it has started, and sees to its replacement. Safe to be cancelled."""
        await asyncio.shield(self._go(self._end(worker)))

    async def _end(self, worker: Worker) -> None:
        template = worker.template
        if worker.is_ending:
            return
        worker.is_ending = True
        if worker in template.idle:
            template.idle.remove(worker)
        self._leaving += 1
        try:
            status = await template.forker.kill(worker.pid)
            if status is not None and not worker.ended_by:
                worker.ended_by = exit_words(status)
        except (TimeoutError, ProcessLostError):
            # Its forker does not answer or is gone: then the whole branch goes.
            await self._end_template(template)
        finally:
            template.workers.pop(worker.pid, None)
            worker.channel.close()
            self._leaving -= 1
            self._places_taken -= 1
            self._balance()  # those who wait come before what is kept ahead
            self._keep_ahead(template)

    async def _end_template(self, template: Template) -> None:
        template.forker.close()
        if self._zygote is not None and not self._zygote.is_lost:
            with contextlib.suppress(TimeoutError, ProcessLostError):
                await self._zygote.kill(template.forker.pid)

    async def _start(self, definition: Definition) -> Template:
        await self._make_room()
        zygote = await self._started_zygote()
        channel, pid = await zygote.fork("template", 0)
        family = definition.family
        forker = Forker(channel, pid, partial(self._died, family), partial(self._lost, family))
        try:
            async with asyncio.timeout(START_SECONDS):
                await forker.request("load", definition=definition.sent, **surroundings())
        except (TimeoutError, ProcessLostError) as error:
            forker.close()
            with contextlib.suppress(TimeoutError, ProcessLostError):
                await zygote.kill(pid)
            reason = str(error) or f"it took more than {START_SECONDS:g} seconds"
            raise ProcessLostError(
                f"the module '{family}' could not be imported for a worker: {reason}"
            ) from None
        template = self._templates[family] = Template(family, forker, known={definition})
        self._keep_ahead(template)
        if self._tidying is None:
            self._tidying = asyncio.get_running_loop().call_later(_TIDY_SECONDS, self._tidy)
        return template

    async def _started_zygote(self) -> Forker:
        async with self._zygote_lock:
            if self._zygote is None or self._zygote.is_lost:
                if self._program is not None:
                    self._program.poll()
                channel, self._program = start_zygote()
                self._zygote = Forker(channel, self._program.pid, lambda *_: None, lambda: None)
            return self._zygote

    async def _make_room(self) -> None:
        unused = [
            t for t in self._templates.values() if not t.waiting and len(t.idle) == len(t.workers) + t.forking
        ]
        while len(self._templates) >= MOST_TEMPLATES and unused:
            await self._end_template(unused.pop(0))

    def _died(self, family: str, pid: int, status: int) -> None:
        """A worker has ended by itself."""
        template = self._templates.get(family)
        worker = template.workers.get(pid) if template is not None else None
        if worker is None:
            return
        worker.ended_by = exit_words(status)
        worker.channel.shut()  # whoever waits for its answer sees the end, even if a child of it holds the other side
        if worker in worker.template.idle:
            self._go(self._end(worker))

    def _lost(self, family: str) -> None:
        """A template is gone, and its workers with it."""
        template = self._templates.get(family)
        if template is None:
            return
        del self._templates[family]
        for worker in list(template.idle):
            self._go(self._end(worker))
        for _, future in template.waiting:
            if not future.done():
                future.set_exception(ProcessLostError(f"the process that forks for '{family}' is gone"))
        template.waiting.clear()

    def _offer(self, worker: Worker) -> None:
        template = worker.template
        while template.waiting:
            _, future = template.waiting.pop(0)
            if not future.done():
                future.set_result(worker)
                return
        worker.idle_since = time.monotonic()
        template.idle.append(worker)
        if template.forker.is_lost:
            self._go(self._end(worker))

    def _balance(self) -> None:
        """Starts workers for those who wait, oldest first, while there is room."""
        hungry = [t for t in self._templates.values() if len(t.waiting) > t.forking]
        for template in sorted(hungry, key=lambda t: t.waiting[0][0]):
            while len(template.waiting) > template.forking:
                if self._places_taken >= self._limits.most:
                    self._free_a_place(template)
                    return
                self._hire(template)

    def _free_a_place(self, template: Template) -> None:
        idle = [w for t in self._templates.values() if t is not template for w in t.idle]
        if idle and self._leaving == 0:
            self._go(self._end(min(idle, key=lambda worker: worker.idle_since)))

    def _keep_ahead(self, template: Template) -> None:
        has_room = self._places_taken < self._limits.most
        if has_room and not template.idle and not template.forking and not template.forker.is_lost:
            self._hire(template)

    def _hire(self, template: Template) -> None:
        self._places_taken += 1
        template.forking += 1
        self._go(self._fork(template))

    async def _fork(self, template: Template) -> None:
        try:
            channel, pid = await template.forker.fork("worker", self._limits.memory_mb)
        except (ProcessLostError, OSError) as error:
            self._places_taken -= 1
            template.forking -= 1
            if template.waiting:
                _, future = template.waiting.pop(0)
                if not future.done():
                    future.set_exception(ProcessLostError(str(error)))
            self._balance()
            return
        template.forking -= 1
        worker = template.workers[pid] = Worker(channel, pid, template)
        self._offer(worker)
        self._balance()

    def _tidy(self) -> None:
        """Lets idle workers go that nobody has needed for a while, but for one a module."""
        until = time.monotonic() - _IDLE_SECONDS
        for template in self._templates.values():
            for worker in [worker for worker in template.idle[1:] if worker.idle_since < until]:
                self._go(self._end(worker))
        self._tidying = asyncio.get_running_loop().call_later(_TIDY_SECONDS, self._tidy)

    def _go(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._gone)
        return task

    def _gone(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            level = logging.WARNING if isinstance(error, ProcessLostError) else logging.ERROR
            _LOG.log(level, "worker processes: %s", error)

    async def close(self) -> None:
        """Ends every process, and waits for it."""
        if self._tidying is not None:
            self._tidying.cancel()
        if self._zygote is not None:
            self._zygote.close()
        program = self._program
        until = time.monotonic() + 5.0
        while program is not None and program.poll() is None:
            if time.monotonic() > until:
                program.kill()
            await asyncio.sleep(0.002)
        for template in list(self._templates.values()):
            template.forker.close()
        await asyncio.sleep(0)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def channels(self) -> list[Channel]:
        """This side of every channel, to be closed in a process that was forked from this one."""
        forkers = [self._zygote] if self._zygote is not None else []
        forkers += [template.forker for template in self._templates.values()]
        found = [forker.channel for forker in forkers]
        return found + [w.channel for t in self._templates.values() for w in t.workers.values()]
