"""Procrastinate's statements on asyncpg, the driver that the store uses: its own connector takes three times as long for each.

Loaded by the queue alone: it needs the extra `durable`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import asyncpg
from procrastinate import connector, exceptions

from toolhand.sessions.postgres import SCHEMA

_MOST_CONNECTIONS: Final = 4
_PATIENCE_SECONDS: Final = 10.0
"""How long a statement may wait for others to give a connection back, and a connection for the server."""
_STATEMENT_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 5.0
"""How often the connection that listens is tried."""
_SETTINGS: Final = {
    "search_path": SCHEMA,
    "application_name": "toolhand-queue",
    # Nobody waits for the disk: a job that a crash brings back is told by the ledger that its run has been taken, or has ended.
    "synchronous_commit": "off",
}


class Connector(connector.BaseAsyncConnector):
    """The connections of one worker's queue.

    Args:
        url: the database.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: Any = None
        self._parameters: dict[str, Sequence[Any]] = {}
        """What the server reads at each place of a statement: asked once, as asking is a round trip and a plan of its own."""

    async def open_async(self, pool: Any = None) -> None:
        """Opens it in the running loop."""
        with _told():
            self._pool = pool or await asyncpg.create_pool(
                self._url,
                min_size=0,
                max_size=_MOST_CONNECTIONS,
                timeout=_PATIENCE_SECONDS,
                command_timeout=_STATEMENT_SECONDS,
                server_settings=_SETTINGS,
                init=_reads_json,
                reset=_as_it_is,
            )

    async def close_async(self) -> None:
        """Breaks its connections off: nothing is under way that anybody waits for."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()

    async def execute_query_async(self, query: str, **arguments: Any) -> None:
        """Runs a statement.

        That a job has ended need not be heard: it is found later and its run is not made again. A worker that slept says it of
        jobs which others have by now, and one whose server is away says it to nobody.
        """
        try:
            await self.execute_query_all_async(query, **arguments)
        except exceptions.ConnectorException:
            if "finish_job" not in query:
                raise

    async def execute_query_one_async(self, query: str, **arguments: Any) -> dict[str, Any]:
        """The first row of what a statement gives."""
        rows = await self.execute_query_all_async(query, **arguments)
        if not rows:
            raise exceptions.NoResult
        return rows[0]

    async def execute_query_all_async(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        """The rows of what a statement gives."""
        statement, names = _numbered(query)
        with _told():
            async with self._pool.acquire(timeout=_PATIENCE_SECONDS) as connection:
                parameters = self._parameters.get(statement)
                if parameters is None:
                    parameters = (await connection.prepare(statement)).get_parameters()
                    self._parameters[statement] = parameters
                values = [arguments[name] for name in names]
                rows = await connection.fetch(statement, *map(_fitting, values, parameters))
        return [dict(row) for row in rows]

    async def listen_notify(self, on_notification: connector.Notify, channels: Iterable[str]) -> None:
        """Hears of jobs until it is cancelled; it raises when the connection breaks."""
        async with self._listening() as connection:
            heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
            for channel in channels:
                await connection.add_listener(channel, lambda _c, _p, *told: heard.put_nowait(told))
            while True:
                try:
                    async with asyncio.timeout(_LOOK_SECONDS):
                        channel, payload = await heard.get()
                except TimeoutError:
                    with _told():
                        await connection.fetchval("SELECT 1")
                    continue
                await on_notification(channel=channel, payload=payload)

    @contextlib.asynccontextmanager
    async def _listening(self) -> AsyncIterator[Any]:
        with _told():
            connection = await asyncpg.connect(
                self._url, timeout=10, command_timeout=_STATEMENT_SECONDS, server_settings=_SETTINGS
            )
        try:
            yield connection
        finally:
            connection.terminate()


@contextlib.contextmanager
def _told() -> Any:
    """What the driver raises, in Procrastinate's words."""
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise exceptions.UniqueViolation(constraint_name=error.constraint_name, queueing_lock=None) from error
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise exceptions.ConnectorException from error


@lru_cache(maxsize=128)
def _numbered(query: str) -> tuple[str, Sequence[str]]:
    """A statement with $1, $2, … for its %(names)s, and the names in that order."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", query)))
    statement = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", query)
    return statement.replace("%%", "%"), names


def _fitting(value: Any, parameter: Any) -> Any:
    """A value as the driver takes it where the server reads a text: Procrastinate leaves that to its own driver."""
    is_text = parameter.name in ("text", "varchar")
    return str(value) if is_text and isinstance(value, int | float) else value


async def _reads_json(connection: Any) -> None:
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)


async def _as_it_is(connection: Any) -> None:
    """Nothing that a statement leaves behind has to be cleared away."""
    del connection
