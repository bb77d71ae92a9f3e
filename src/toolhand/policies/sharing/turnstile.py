"""A turnstile: one at a time, in the order of arrival, over threads and event loops; nobody inside waits for himself."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections import deque
from contextvars import ContextVar
from types import TracebackType
from typing import Final

from toolhand.core.errors import SettingsError

_PASSAGES: Final[ContextVar[frozenset[object]]] = ContextVar("toolhand_passages", default=frozenset())
"""The passages that the code which asks came through, also in a tool's thread or a task of its own."""


class Turnstile:
    """Lets one through at a time, in the order in which they came, also when they come from different event loops.

    Args:
        inside: what is said to code that would wait for itself.
    """

    def __init__(self, inside: str = "the code that holds the turnstile asked for it again") -> None:
        self._said = inside
        self._mutex = threading.Lock()
        self._passage: object | None = None
        self._waiting: deque[concurrent.futures.Future[None]] = deque()

    @property
    def is_inside(self) -> bool:
        """Whether whoever asks came through this turnstile and has not left: it would wait for itself.

        A task that was started inside and outlives the passage is outside again.
        """
        return self._passage is not None and self._passage in _PASSAGES.get()

    @property
    def is_idle(self) -> bool:
        """Whether nobody is inside or waits."""
        return self._passage is None and not self._waiting

    async def __aenter__(self) -> None:
        place: concurrent.futures.Future[None] | None = None
        with self._mutex:
            if self._passage is None:
                self._passage = object()
            elif self.is_inside:
                raise SettingsError(self._said)
            else:
                place = concurrent.futures.Future()
                self._waiting.append(place)
        if place is not None:
            await self._come_to(place)
        _PASSAGES.set(_PASSAGES.get() | {self._passage})

    async def _come_to(self, place: concurrent.futures.Future[None]) -> None:
        """Waits in the row."""
        try:
            await asyncio.wrap_future(place)
        except asyncio.CancelledError:
            with self._mutex:
                if place in self._waiting:
                    self._waiting.remove(place)
                    raise
            # The place is gone from the row: either it was passed over, being cancelled, or the turn has just come to it.
            if not place.cancelled():
                self._pass_on()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _PASSAGES.set(_PASSAGES.get() - {self._passage})
        with self._mutex:
            if not self._waiting:
                self._passage = None
                return
        self._pass_on()

    def _pass_on(self) -> None:
        with self._mutex:
            while self._waiting:
                place = self._waiting.popleft()
                if place.set_running_or_notify_cancel():
                    self._passage = object()
                    place.set_result(None)
                    return
            self._passage = None
