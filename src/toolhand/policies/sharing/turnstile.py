"""A turnstile: one at a time, in the order of arrival, over threads and event loops; nobody inside waits for himself."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections import deque
from contextvars import ContextVar
from types import TracebackType
from typing import Final, TypeAlias

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

_PASSAGES: Final[ContextVar[frozenset[object]]] = ContextVar("toolhand_passages", default=frozenset())
"""The passages that the code which asks came through, also in a tool's thread or a task of its own."""

_LOOK_SECONDS: Final = 0.5
"""How often one who waits looks whether the loop of the one inside was closed."""

_INSIDE: Final = ("the code that holds the turnstile asked for it again", "持有闸门的代码又请求了它")
_Place: TypeAlias = "tuple[concurrent.futures.Future[None], asyncio.AbstractEventLoop]"


class Turnstile:
    """Lets one through at a time, in the order in which they came, also when they come from different event loops.

    Whose loop was closed in the midst of it never comes back, so his passage ends with the loop. `async with` is for a turnstile
    of one loop; where several share it, each leaves by the passage that it entered by.

    Args:
        inside: what is said to code that would wait for itself, in English and Chinese.
    """

    def __init__(self, inside: tuple[str, str] = _INSIDE) -> None:
        self._said = inside
        self._mutex = threading.Lock()
        self._passage: object | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # of the one inside
        self._waiting: deque[_Place] = deque()

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
        await self.enter()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave(self._passage)

    async def enter(self) -> object:
        """Waits for its turn; gives the passage, which is to be left.

        Raises:
            SettingsError: when it would wait for itself.
        """
        place: _Place | None = None
        with self._mutex:
            if self._passage is None or self._is_lost():
                self._passage, self._loop = object(), asyncio.get_running_loop()
            elif self.is_inside:
                raise SettingsError(say(*self._said))
            else:
                place = (concurrent.futures.Future[None](), asyncio.get_running_loop())
                self._waiting.append(place)
        if place is not None:
            await self._turn_of(place)
        passage = self._passage
        _PASSAGES.set(_PASSAGES.get() | {passage})
        return passage

    async def _turn_of(self, place: _Place) -> None:
        turn, loop = place

        def look() -> None:
            with self._mutex:
                if self._is_lost():
                    self._pass_on()
            watch[0] = loop.call_later(_LOOK_SECONDS, look)

        watch = [loop.call_later(_LOOK_SECONDS, look)]
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            with self._mutex:
                if place in self._waiting:
                    self._waiting.remove(place)
                elif not turn.cancelled():
                    # It was not passed over, being cancelled: the turn has just come to it.
                    self._pass_on()
            raise
        finally:
            watch[0].cancel()

    def leave(self, passage: object | None) -> None:
        """Lets the next one in; nothing where the passage has ended already.

        Args:
            passage: what `enter` gave.
        """
        _PASSAGES.set(_PASSAGES.get() - {passage})
        with self._mutex:
            if self._passage is not passage:
                return
            if self._waiting:
                self._pass_on()
            else:
                self._passage = self._loop = None

    def _is_lost(self) -> bool:
        return self._loop is not None and self._loop.is_closed()

    def _pass_on(self) -> None:
        while self._waiting:
            place, loop = self._waiting.popleft()
            if not loop.is_closed() and place.set_running_or_notify_cancel():
                self._passage, self._loop = object(), loop
                place.set_result(None)
                return
        self._passage = self._loop = None
