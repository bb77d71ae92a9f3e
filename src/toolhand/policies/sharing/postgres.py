"""Counters, circuits, receipts and places that several processes share through PostgreSQL. Needs the extra `postgres`.

Each step is one transaction under an advisory lock of its key, and the server gives the time. The tables are unlogged: what they
hold is of use for minutes, and a server that crashed begins with empty ones. Receipts of errands are the exception: a key whose
errand was done must not be forgotten.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import uuid
import weakref
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from toolhand.core.errors import MissingExtraError
from toolhand.core.language import say
from toolhand.core.tools import Breaker
from toolhand.policies.sharing import WELL, Admission, Circuit, Health, Receipt, Taking
from toolhand.policies.sharing.memory import MemoryState

T = TypeVar("T")

SECONDS_ALONE: Final = 5.0
"""How long this process counts for itself after PostgreSQL could not be reached."""

SCHEMA: Final = "toolhand_state"

_LOG: Final = logging.getLogger("toolhand.policies")

_LOCK: Final = 7_411_309_172_050

_IS_MADE: Final = "SELECT to_regclass('receipt_until') IS NOT NULL"
"""Whether the last of the tables' parts is there. To ask, and to use them then, needs no right to make any."""

_TABLES: Final = """
CREATE OR REPLACE FUNCTION moment() RETURNS DOUBLE PRECISION LANGUAGE sql VOLATILE AS
    'SELECT extract(epoch FROM clock_timestamp())::double precision';
CREATE UNLOGGED TABLE IF NOT EXISTS place (
    key TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, until DOUBLE PRECISION NOT NULL
);
CREATE INDEX IF NOT EXISTS place_key ON place (key, at);
CREATE INDEX IF NOT EXISTS place_until ON place (until);
CREATE UNLOGGED TABLE IF NOT EXISTS circuit (
    name TEXT PRIMARY KEY, failures INTEGER NOT NULL DEFAULT 0, open_until DOUBLE PRECISION NOT NULL DEFAULT 0,
    probe_until DOUBLE PRECISION NOT NULL DEFAULT 0, probe TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS receipt (
    key TEXT PRIMARY KEY, value TEXT, begun DOUBLE PRECISION NOT NULL, until DOUBLE PRECISION NOT NULL
);
CREATE INDEX IF NOT EXISTS receipt_until ON receipt (until);
"""


class PostgresState:
    """The state of all processes that name the same database.

    When it cannot be reached the process counts for itself for a while, and asks again: a limit that is a little too wide is
    better than no call at all.

    Args:
        url: "postgresql://user:password@host/database".
        timeout: seconds that a step may take.
        connections: how many are open at most.

    Raises:
        MissingExtraError: when asyncpg is not installed.
    """

    def __init__(self, url: str, *, timeout: float = 1.0, connections: int = 4) -> None:
        try:
            import asyncpg  # noqa: PLC0415 - an optional dependency
        except ImportError as error:
            raise MissingExtraError(
                "postgres", say("state that several processes share", "多个进程共享的状态")
            ) from error
        self._driver: Any = asyncpg
        self._url, self._timeout, self._connections = url, timeout, connections
        self._alone = MemoryState()
        self._alone_until = 0.0
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()
        self._opening: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            weakref.WeakKeyDictionary()
        )
        self._mark = uuid.uuid4().hex[:12]
        self._numbers = itertools.count()

    @property
    def is_alone(self) -> bool:
        """Whether PostgreSQL was out of reach a moment ago, so that this process counts for itself."""
        return time.monotonic() < self._alone_until

    async def take(self, takings: Sequence[Taking]) -> float:
        """One place in every window, or none at all."""
        names = {f"rate:{taking.key}:{taking.seconds:g}": taking for taking in takings}

        async def step(connection: Any) -> float:
            await _lock(connection, names)
            now, wait = await connection.fetchval("SELECT moment()"), 0.0
            for name, taking in names.items():
                await connection.execute("DELETE FROM place WHERE key = $1 AND until <= $2", name, now)
                at = await connection.fetchval(
                    "SELECT at FROM place WHERE key = $1 ORDER BY at DESC OFFSET $2 LIMIT 1",
                    name,
                    taking.count - 1,
                )
                if at is not None:
                    wait = max(wait, at + taking.seconds - now, 0.001)
            if not wait:
                rows = [(name, now, now + taking.seconds) for name, taking in names.items()]
                await connection.executemany("INSERT INTO place VALUES ($1, $2, $3)", rows)
                await self._sweep(connection, now)
            return float(wait)

        return await self._shared(step, lambda: self._alone.take(takings))

    async def _sweep(self, connection: Any, now: float) -> None:
        """Now and then clears away what no key asks for any more."""
        if next(self._numbers) % 1000 == 999:
            await connection.execute("DELETE FROM place WHERE until <= $1", now)
            await connection.execute("DELETE FROM receipt WHERE until <= $1", now)

    async def admit(self, name: str, breaker: Breaker, probe_seconds: float) -> Admission:
        """Whether a circuit lets a call through."""

        async def step(connection: Any) -> Admission:
            line = await connection.fetchrow(
                "SELECT open_until, probe_until, moment() FROM circuit WHERE name = $1 FOR UPDATE", name
            )
            if line is None or not line[0]:
                return Admission(True)
            waits_until, now = max(line[0], line[1]), line[2]
            if now < waits_until:
                return Admission(False, retry_after=waits_until - now)
            probe = f"{self._mark}:{next(self._numbers)}"
            await connection.execute(
                "UPDATE circuit SET probe_until = $2, probe = $3 WHERE name = $1",
                name,
                now + probe_seconds,
                probe,
            )
            return Admission(True, probe=probe)

        found = await self._shared(step, lambda: self._alone.admit(name, breaker, probe_seconds))
        known = self._alone.circuit(name)
        if not found.is_admitted and known.state == "closed":
            opened = Circuit(state="open", failures=breaker.failures, retry_after=found.retry_after)
            self._alone.learn(name, opened)
        elif found.is_admitted and not found.probe and known.state != "closed" and not self.is_alone:
            self._alone.learn(name, WELL)
        return found

    async def settle(self, name: str, breaker: Breaker, admission: Admission, health: Health) -> Circuit:
        """How an admitted call ended."""

        async def step(connection: Any) -> Circuit:
            if health == "ill":
                await connection.execute(
                    "INSERT INTO circuit (name) VALUES ($1) ON CONFLICT DO NOTHING", name
                )
            line = await connection.fetchrow(
                "SELECT failures, open_until, probe_until, probe, moment() FROM circuit WHERE name = $1 FOR UPDATE",
                name,
            )
            if line is None:
                return WELL
            failures, open_until, now = _settled(line, breaker, admission, health)
            probe_until = 0.0 if admission.probe and admission.probe == line[3] else line[2]
            if not failures and not open_until:
                await connection.execute("DELETE FROM circuit WHERE name = $1", name)
            else:
                await connection.execute(
                    "UPDATE circuit SET failures = $2, open_until = $3, probe_until = $4 WHERE name = $1",
                    *(name, failures, open_until, probe_until),
                )
            left = max(open_until - now, 0.001) if open_until else 0.0
            found = Circuit(state="open" if left else "closed", failures=failures, retry_after=left)
            self._alone.learn(name, found)
            return found

        return await self._shared(step, lambda: self._alone.settle(name, breaker, admission, health))

    def is_calm(self, name: str) -> bool:  # noqa: ARG002 - the port's
        """Never sure here: other processes may know better."""
        return False

    def circuit(self, name: str) -> Circuit:
        """A circuit's state as this process saw it last."""
        return self._alone.circuit(name)

    async def claim(self, key: str, seconds: float) -> Receipt | None:
        """Begins an errand, unless it was begun before."""

        async def step(connection: Any) -> Receipt | None:
            begun = await connection.fetchval(
                "INSERT INTO receipt AS r VALUES ($1, NULL, moment(), moment() + $2) ON CONFLICT (key) DO UPDATE "
                "SET value = NULL, begun = moment(), until = moment() + $2 WHERE r.until <= moment() RETURNING 1",
                *(key, seconds),
            )
            if begun:
                return None
            found = await connection.fetchrow(
                "SELECT value, moment() - begun FROM receipt WHERE key = $1", key
            )
            return None if found is None else Receipt(value=found[0], age_seconds=max(0.0, found[1]))

        return await self._shared(step, lambda: self._alone.claim(key, seconds))

    async def keep(self, key: str, value: str, seconds: float) -> None:
        """Keeps an errand's result."""

        async def step(connection: Any) -> None:
            await connection.execute(
                "INSERT INTO receipt VALUES ($1, $2, moment(), moment() + $3) ON CONFLICT (key) DO UPDATE "
                "SET value = $2, begun = moment(), until = moment() + $3",
                *(key, value.replace("\0", ""), seconds),
            )

        await self._shared(step, lambda: self._alone.keep(key, value, seconds))

    async def release(self, key: str) -> None:
        """Gives a claim back."""

        async def step(connection: Any) -> None:
            await connection.execute("DELETE FROM receipt WHERE key = $1", key)

        await self._shared(step, lambda: self._alone.release(key))

    async def enter(self, key: str, most: int, seconds: float) -> str | None:
        """See `SharedPlaces.enter`."""

        async def step(connection: Any) -> str | None:
            name = f"gate:{key}"
            await _lock(connection, [name])
            now = await connection.fetchval("SELECT moment()")
            await connection.execute("DELETE FROM place WHERE key = $1 AND until <= $2", name, now)
            inside = await connection.fetchval("SELECT count(*) FROM place WHERE key = $1", name)
            if inside >= most:
                return None
            at = now + next(self._numbers) * 1e-7  # tells places of the same moment apart
            await connection.execute("INSERT INTO place VALUES ($1, $2, $3)", name, at, now + seconds)
            return repr(at)

        async def alone() -> str | None:
            return ""

        return await self._shared(step, alone)

    async def leave(self, key: str, place: str) -> None:
        """See `SharedPlaces.leave`."""

        async def step(connection: Any) -> None:
            await connection.execute(
                "DELETE FROM place WHERE key = $1 AND at = $2", f"gate:{key}", float(place)
            )

        async def alone() -> None:
            return None

        if place:
            await self._shared(step, alone)

    async def close(self) -> None:
        """Gives back this event loop's connections."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()

    async def _pool(self) -> Any:
        loop = asyncio.get_running_loop()
        async with self._opening.setdefault(loop, asyncio.Lock()):
            pool = self._pools.get(loop)
            if pool is None:
                pool = await self._driver.create_pool(
                    self._url,
                    min_size=0,
                    max_size=self._connections,
                    timeout=5,
                    server_settings={
                        "application_name": "toolhand-state",
                        "search_path": SCHEMA,
                        "idle_in_transaction_session_timeout": "5000",
                    },
                )
                try:
                    async with pool.acquire() as connection:
                        await _made(connection)
                except BaseException:
                    pool.terminate()
                    raise
                self._pools[loop] = pool
            return pool

    async def _shared(self, step: Callable[[Any], Awaitable[T]], alone: Callable[[], Awaitable[T]]) -> T:
        if self.is_alone:
            return await alone()
        try:
            async with asyncio.timeout(
                self._timeout * (1 if asyncio.get_running_loop() in self._pools else 10)
            ):
                pool = await self._pool()
                async with pool.acquire() as connection, connection.transaction():
                    return await step(connection)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the server, the call goes on
            self._alone_until = time.monotonic() + SECONDS_ALONE
            _LOG.warning(
                "PostgreSQL cannot be used (%s): this process counts for itself for the next %g seconds",
                # What the driver says of a URL that it cannot read may quote a piece of the password.
                type(error).__name__ + ("" if isinstance(error, ValueError) else f": {error}".rstrip(": ")),
                SECONDS_ALONE,
            )
            return await alone()


async def _made(connection: Any) -> None:
    """Makes the tables where they are not there yet."""
    if await connection.fetchval(_IS_MADE):
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if not await connection.fetchval("SELECT 1 FROM pg_namespace WHERE nspname = $1", SCHEMA):
            await connection.execute(f"CREATE SCHEMA {SCHEMA}")
        await connection.execute(_TABLES)


async def _lock(connection: Any, names: Any) -> None:
    """One at a time for these keys, in one order everywhere, so that nobody waits in a circle."""
    for name in sorted(names):
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 7411))", name)


def _settled(line: Any, breaker: Breaker, admission: Admission, health: Health) -> tuple[int, float, float]:
    """Failures and the moment until which a circuit is open, after a call; and now. Source: see `circuits.py`."""
    failures, open_until, probe_until, probe, now = line
    if admission.probe:
        if admission.probe == probe and probe_until:
            if health == "well":
                failures, open_until = 0, 0.0
            elif health == "ill":
                failures, open_until = failures + 1, now + breaker.cooldown
    elif not open_until:
        if health == "well":
            failures = 0
        elif health == "ill":
            failures += 1
            if failures >= breaker.failures:
                open_until = now + breaker.cooldown
    return failures, open_until, now
