"""The same state for several processes, in Redis: each step is one Lua script, on Redis' own clock.

While Redis cannot be reached, a process goes on with a state of its own and asks again after a few seconds: limits and
circuits are then counted per process, and no call fails for it.
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
from toolhand.policies.sharing.scripts import ADMIT, CLAIM, ENTER, SETTLE, TAKE

T = TypeVar("T")

_LOG: Final = logging.getLogger("toolhand.policies")

SECONDS_ALONE: Final = 5.0
"""How long a process goes on by itself before it asks Redis again."""


class RedisState:
    """The state that several processes share.

    Args:
        url: such as "redis://host:6379/0".
        prefix: goes before every key, so that programs that share a server do not share limits. The braces keep all keys
            on one node of a cluster, which scripts over several keys need.
        timeout: seconds after which Redis counts as out of reach.
        connect: makes a client from the url; `redis.asyncio.from_url` by default.

    Raises:
        MissingExtraError: when the package `redis` is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "{toolhand}:",
        timeout: float = 0.5,
        connect: Callable[..., Any] | None = None,
    ) -> None:
        if connect is None:
            try:
                from redis.asyncio import from_url  # noqa: PLC0415 - an optional dependency
            except ImportError as error:
                raise MissingExtraError(
                    "redis", say("state that several processes share", "多个进程共享的状态")
                ) from error
            connect = from_url
        self._connect = connect
        self._url = url
        self._prefix = prefix
        self._timeout = timeout
        self._alone = MemoryState()
        self._alone_until = 0.0
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()
        self._mark = uuid.uuid4().hex[:12]
        self._numbers = itertools.count()

    @property
    def is_alone(self) -> bool:
        """Whether Redis was out of reach a moment ago, so that this process counts for itself."""
        return time.monotonic() < self._alone_until

    async def take(self, takings: Sequence[Taking]) -> float:
        """One place in every window, or none at all."""
        keys = [f"rate:{taking.key}:{taking.seconds:g}" for taking in takings]
        measures = [number for taking in takings for number in (taking.count, taking.seconds)]
        member = f"{self._mark}:{next(self._numbers)}"
        return await self._shared(
            lambda: self._run(TAKE, keys, [member, *measures], float), lambda: self._alone.take(takings)
        )

    async def admit(self, name: str, breaker: Breaker, probe_seconds: float) -> Admission:
        """Whether a circuit lets a call through."""

        def read(answer: Any) -> Admission:
            is_admitted, retry_after, probe = answer
            return Admission(bool(int(is_admitted)), float(retry_after), _text(probe))

        found = await self._shared(
            lambda: self._run(ADMIT, [f"circuit:{name}"], [probe_seconds, self._mark], read),
            lambda: self._alone.admit(name, breaker, probe_seconds),
        )
        known = self._alone.circuit(name)
        if not found.is_admitted and known.state == "closed":
            self._alone.learn(
                name, Circuit(state="open", failures=breaker.failures, retry_after=found.retry_after)
            )
        elif found.is_admitted and not found.probe and known.state != "closed" and not self.is_alone:
            self._alone.learn(name, WELL)
        return found

    async def settle(self, name: str, breaker: Breaker, admission: Admission, health: Health) -> Circuit:
        """How an admitted call ended."""

        def read(answer: Any) -> Circuit:
            failures, retry_after = int(answer[0]), float(answer[1])
            found = Circuit(
                state="open" if retry_after > 0 else "closed",
                failures=failures,
                retry_after=max(retry_after, 0.0),
            )
            self._alone.learn(name, found)
            return found

        values = [breaker.failures, breaker.cooldown, admission.probe, health]
        return await self._shared(
            lambda: self._run(SETTLE, [f"circuit:{name}"], values, read),
            lambda: self._alone.settle(name, breaker, admission, health),
        )

    def is_calm(self, name: str) -> bool:  # noqa: ARG002 - the port's
        """Never sure here: other processes may know better."""
        return False

    def circuit(self, name: str) -> Circuit:
        """A circuit's state as this process saw it last."""
        return self._alone.circuit(name)

    async def claim(self, key: str, seconds: float) -> Receipt | None:
        """Begins an errand, unless it was begun before."""

        def read(answer: Any) -> Receipt | None:
            if not answer:
                return None
            age, value = float(answer[0]), _text(answer[1])
            return Receipt(value=value[1:] if value.startswith("=") else None, age_seconds=age)

        return await self._shared(
            lambda: self._run(CLAIM, [f"errand:{key}"], [seconds], read),
            lambda: self._alone.claim(key, seconds),
        )

    async def keep(self, key: str, value: str, seconds: float) -> None:
        """Keeps an errand's result."""
        name = f"{self._prefix}errand:{key}"
        await self._shared(
            lambda: self._client().set(name, f"={value}", px=int(seconds * 1000)),
            lambda: self._alone.keep(key, value, seconds),
        )

    async def release(self, key: str) -> None:
        """Gives a claim back."""
        await self._shared(
            lambda: self._client().delete(f"{self._prefix}errand:{key}"), lambda: self._alone.release(key)
        )

    async def enter(self, key: str, most: int, seconds: float) -> str | None:
        """Takes a place; see `SharedPlaces.enter`."""
        place = f"{self._mark}:{next(self._numbers)}"

        async def alone() -> str | None:
            return ""

        def read(answer: Any) -> str | None:
            return place if int(answer) else None

        return await self._shared(
            lambda: self._run(ENTER, [f"gate:{key}"], [place, most, seconds], read), alone
        )

    async def leave(self, key: str, place: str) -> None:
        """Gives a place back."""

        async def alone() -> Any:
            return None

        if place:
            await self._shared(lambda: self._client().zrem(f"{self._prefix}gate:{key}", place), alone)

    async def close(self) -> None:
        """Gives back this event loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._connect(
                self._url, socket_timeout=self._timeout, socket_connect_timeout=self._timeout
            )
        return client

    async def _run(self, script: str, keys: list[str], values: list[Any], read: Callable[[Any], T]) -> T:
        names = [self._prefix + key for key in keys]
        return read(await self._client().eval(script, len(names), *names, *values))

    async def _shared(self, ask: Callable[[], Awaitable[T]], alone: Callable[[], Awaitable[T]]) -> T:
        if self.is_alone:
            return await alone()
        try:
            async with asyncio.timeout(self._timeout * 2):
                return await ask()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with Redis, the call goes on
            self._alone_until = time.monotonic() + SECONDS_ALONE
            _LOG.warning(
                "Redis cannot be used (%s): this process counts for itself for the next %g seconds",
                type(error).__name__,
                SECONDS_ALONE,
            )
            return await alone()


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
