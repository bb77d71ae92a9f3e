"""What other processes are told of runs at once: that one moved, that one is to end, the words of an answer as they come.

A notice may be lost, as when a connection breaks: whoever listens also looks by itself now and then. Nothing is true because a
notice says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from toolhand.durable.functions import CHANNEL
from toolhand.sessions.background import begin_elsewhere

if TYPE_CHECKING:
    from toolhand.sessions.postgres import PostgresStore

WORDS: Final = "words "
"""Stands before a run's id, a turn's place and a piece of its answer."""

MOST_BYTES: Final = 6_000
"""How long a piece may be; PostgreSQL takes notices of up to 8,000 bytes."""

_AGAIN_SECONDS: Final = 0.3


@dataclass(slots=True, eq=False)
class Mailbox:
    """The notices about one run, or with "" as its name about all.

    Args:
        run_id: the run.
        loop: whose loop they are read in.
        notices: those that came.
    """

    run_id: str
    loop: asyncio.AbstractEventLoop
    notices: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    async def next(self, seconds: float) -> str:
        """The next one; "" after so many seconds without any."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self.notices.get()
        return ""


class Notices:
    """Listens on one connection for everybody in this process, as long as anybody wants to hear something.

    Args:
        store: whose notices.
        channel: of which kind.
    """

    def __init__(self, store: PostgresStore, channel: str) -> None:
        self._store, self._channel = store, channel
        self._mutex = threading.Lock()
        self._boxes: list[Mailbox] = []
        self._is_listening = False

    @asynccontextmanager
    async def about(self, run_id: str = "") -> AsyncIterator[Mailbox]:
        """The notices about a run, from now on; "" for those about all."""
        box = Mailbox(run_id, asyncio.get_running_loop())
        with self._mutex:
            self._boxes.append(box)
            is_first, self._is_listening = not self._is_listening, True
        if is_first:
            begin_elsewhere(self._listen())
        try:
            yield box
        finally:
            with self._mutex:
                self._boxes.remove(box)

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(Exception):  # the server is away: whoever waits looks by itself
                await self._listen_once()
            with self._mutex:
                if not self._boxes:
                    self._is_listening = False
                    return
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _listen_once(self) -> None:
        connection = await self._store.connect()
        try:
            await connection.add_listener(self._channel, lambda *told: self._hear(told[3]))
            while self._boxes and not connection.is_closed():  # noqa: ASYNC110 - it may also break
                await asyncio.sleep(_AGAIN_SECONDS)
        finally:
            await connection.close(timeout=2)

    def _hear(self, notice: str) -> None:
        words = notice.split(" ", 2)
        run_id = words[0] if len(words) == 1 else words[1]
        with self._mutex:
            boxes = [box for box in self._boxes if box.run_id in ("", run_id)]
        for box in boxes:
            with contextlib.suppress(RuntimeError):  # its loop was closed
                box.loop.call_soon_threadsafe(box.notices.put_nowait, notice)


_OF: Final[weakref.WeakKeyDictionary[PostgresStore, dict[str, Notices]]] = weakref.WeakKeyDictionary()


def notices_of(store: PostgresStore, channel: str = CHANNEL) -> Notices:
    """The one that listens for a store in this process, to one kind of notices."""
    return _OF.setdefault(store, {}).setdefault(channel, Notices(store, channel))


def words_notice(run_id: str, turn: int, offset: int, piece: str) -> str:
    """A notice that says what comes next in an answer.

    Args:
        run_id: the run.
        turn: in which reply of the run, from 1.
        offset: after how many characters of it.
        piece: the words.
    """
    return f"{WORDS}{run_id} {json.dumps([turn, offset, piece], ensure_ascii=False)}"


def words_of(notice: str) -> tuple[int, int, str] | None:
    """The turn, the offset and the words of such a notice; None where it is another."""
    if not notice.startswith(WORDS):
        return None
    told: Any = json.loads(notice.split(" ", 2)[2])
    return int(told[0]), int(told[1]), str(told[2])
