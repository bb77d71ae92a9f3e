"""Pools of connections to PostgreSQL, one for each event loop that has any: a driver's connection belongs to its loop.

And what people are told while the server is away.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from toolhand.core.language import say

_LOG: Final = logging.getLogger("toolhand.stores")

_LONG_SECONDS: Final = 0.5
"""An absence shorter than this is nobody's business: two transactions got in each other's way, or a connection broke."""

_CLOSING_SECONDS: Final = 5.0
"""How long statements that are under way may take when a pool is closed."""


class Pools:
    """The pools of a store.

    Args:
        opened: opens one in the running loop.
    """

    def __init__(self, opened: Callable[[], Awaitable[Any]]) -> None:
        self._opened = opened
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._opening: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def here(self) -> Any:
        """The pool of the running loop, opened where there is none yet."""
        loop = asyncio.get_running_loop()
        if (pool := self._pools.get(loop)) is not None:
            return pool
        async with self._opening.setdefault(loop, asyncio.Lock()):
            if (pool := self._pools.get(loop)) is None:
                pool = self._pools[loop] = await self._opened()
            return pool

    async def close(self) -> None:
        """Closes the pool of the running loop."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            with contextlib.suppress(TimeoutError):  # then they are broken off
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await pool.close()


class Absence:
    """Says once that the server is away and until when it is tried again, and once that it is back.

    Args:
        name: the store, as people know it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._since = 0.0
        self._is_told = False

    def begin(self, error: Exception, seconds: float) -> None:
        """An attempt failed; there will be others for so many seconds."""
        now = time.monotonic()
        self._since = self._since or now
        if self._is_told or (now - self._since < _LONG_SECONDS and seconds > _LONG_SECONDS):
            return
        self._is_told = True
        until = time.strftime("%H:%M:%S", time.localtime(time.time() + seconds))
        _LOG.warning(
            say(
                f"the server of the store {self._name} cannot be reached ({type(error).__name__}: {error}): "
                f"it is tried again until {until}",
                f"无法连接存储 {self._name} 的服务器（{type(error).__name__}: {error}）：将重试到 {until}",
            )
        )

    def over(self) -> None:
        """An attempt went well."""
        if self._is_told:
            seconds = time.monotonic() - self._since
            _LOG.warning(
                say(
                    f"the store {self._name} is back after {seconds:.1f} seconds",
                    f"存储 {self._name} 在 {seconds:.1f} 秒后恢复",
                )
            )
        self._since, self._is_told = 0.0, False
