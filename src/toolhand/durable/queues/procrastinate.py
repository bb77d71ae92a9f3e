"""Jobs carried by Procrastinate, in the same PostgreSQL database: they are put in with the run, or not at all.

A job lasts as long as its run, so that a worker fetches no more than it has room for; beside that neither Procrastinate's locks
nor how it thinks a job has ended mean anything. It knows no number by which a worker that slept could be told from the one that
took over: the run's lease does (docs/adr, "Many machines").
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolhand.core.errors import MissingExtraError, StoreError
from toolhand.core.language import say
from toolhand.durable.queues import Job
from toolhand.sessions.migrations import Script
from toolhand.sessions.postgres import SCHEMA, PostgresStore

if TYPE_CHECKING:
    from procrastinate import App

TASK: Final = "toolhand.advance"
_POLL_SECONDS: Final = 0.5
_BEAT_SECONDS: Final = 2.0
_FORGOTTEN_SECONDS: Final = 3600.0
"""After so long a worker that went without a word is struck off; its jobs were given to others long before."""

_PUT: Final = """
SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(?::text, ?::text, ?::int, NULL, ?::text, jsonb_build_object('run_id', ?::text),
    CASE WHEN ?::float8 > 0 THEN now() + ?::float8 * interval '1 second'
        WHEN ?::float8 > 0 THEN to_timestamp(?::float8) END)::procrastinate_job_to_defer_v1])
WHERE NOT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE queueing_lock = ?::text AND status = 'todo')
"""

_UNREAD: Final = (
    "procrastinate_trigger_status_events_insert_v1",
    "procrastinate_trigger_status_events_update_v1",
    "procrastinate_trigger_scheduled_events_v1",
)
"""They write down what happens to each job. What happens to runs stands in the ledger, and nobody reads these."""

_LOCK: Final = 7_411_309_172_049


class ProcrastinateQueue:
    """See `toolhand.durable.queues.Queue`.

    Args:
        store: where the runs are; the jobs are beside them.
    """

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._app: App | None = None

    async def prepare(self) -> None:
        """Makes Procrastinate's tables in our schema. Where they are there, whoever submits needs not its package."""

        async def is_there(connection: Any) -> bool:
            # Not to_regclass: what it did not find before the lock it does not look for again behind it.
            statement = "SELECT 1 FROM pg_class WHERE relname = 'procrastinate_jobs' AND relnamespace = $1::regnamespace"
            return await connection.fetchval(statement, SCHEMA) is not None

        async def make(connection: Any) -> None:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
                if not await is_there(connection):
                    await connection.execute(schema)
                    for trigger in _UNREAD:
                        await connection.execute(f"ALTER TABLE procrastinate_jobs DISABLE TRIGGER {trigger}")

        if not await self._store.connected(is_there):
            schema = self._made().schema_manager.get_schema()
            await self._store.connected(make)

    def put(self, job: Job) -> Script[None]:
        """Puts a job in, unless the run has one that waits."""
        yield (
            _PUT,
            (
                *(job.queue, TASK, job.priority, job.run_id, job.run_id),
                *(job.delay, job.delay, job.due, job.due, job.run_id),
            ),
        )

    async def sent(self, jobs: Sequence[Job]) -> None:
        """Nothing is left to do: they are where the runs are."""

    async def work(
        self, take: Callable[[str], Awaitable[None]], *, queues: Sequence[str], concurrency: int
    ) -> None:
        """Hands jobs over until it is cancelled. A connection that broke ends it: the caller begins anew."""
        app = self._made()

        @app.task(name=TASK)
        async def advance(run_id: str) -> None:
            await take(run_id)

        async with app.open_async():
            self._app = app
            try:
                await app.run_worker_async(
                    queues=list(queues),
                    concurrency=concurrency,
                    fetch_job_polling_interval=_POLL_SECONDS,
                    abort_job_polling_interval=60.0,
                    shutdown_graceful_timeout=0.0,
                    delete_jobs="always",
                    install_signal_handlers=False,
                    update_heartbeat_interval=_BEAT_SECONDS,
                    stalled_worker_timeout=_FORGOTTEN_SECONDS,
                )
            finally:
                self._app = None
        raise StoreError(say("the queue's connections broke", "队列的连接断开了"))

    def _made(self) -> App:
        package = _package()
        from toolhand.durable.connector import Connector  # noqa: PLC0415 - an extra

        app: App = package.App(connector=Connector(self._store.url))
        return app

    async def revive(self, seconds: float) -> int:
        """Gives jobs of silent workers to others, by the calls that Procrastinate documents for it."""
        app = self._app
        if app is None:
            return 0
        exceptions, count = _package().exceptions, 0
        for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=seconds):
            try:
                await app.job_manager.retry_job(job)
            except exceptions.UniqueViolation:  # the run has a job that waits: this one is of no use
                with contextlib.suppress(exceptions.ConnectorException):
                    await app.job_manager.finish_job(job, _package().jobs.Status.FAILED, delete_job=True)
                continue
            except exceptions.ConnectorException:  # another worker was quicker
                continue
            count += 1
        return count

    async def close(self) -> None:
        """Nothing is open but while it works."""


def _package() -> Any:
    """Procrastinate, loaded where it is first needed: it takes half a second."""
    try:
        import procrastinate.jobs  # noqa: PLC0415
    except ImportError as missing:
        raise MissingExtraError("durable", say("running on many machines", "在多台机器上运行")) from missing
    # Our own log tells of each run, and in a line when the server is away.
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    return procrastinate


def connect(store: PostgresStore) -> ProcrastinateQueue:
    """The engine for the runs of a store."""
    return ProcrastinateQueue(store)
