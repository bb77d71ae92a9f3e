"""Tells whoever follows a run what comes, while it comes: pieces of the answer, and that the ledger has more."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from toolhand.core.errors import StoreError
from toolhand.core.events import CallFinished, CallStarted, Event, ModelReplied, TextDelta, TurnStarted
from toolhand.durable.functions import CHANNEL
from toolhand.durable.ledger import RunLedger
from toolhand.durable.notices import MOST_BYTES, words_notice

_GATHERING_SECONDS: Final = 0.05
"""How long words are gathered into one notice."""


class Telling:
    """The notices of one run. What cannot be told is not: whoever follows reads the ledger too.

    Args:
        ledger: of the run.
        run_id: the run.
    """

    def __init__(self, ledger: RunLedger, run_id: str) -> None:
        self._ledger, self._run_id = ledger, run_id
        self._turn, self._told, self._words = 0, 0, ""
        self._has_moved = False
        self._sending: asyncio.Task[None] | None = None

    def hear(self, event: Event) -> None:
        """Takes an event of the run."""
        match event:
            case TurnStarted():
                self._turn, self._told, self._words = self._turn + 1, 0, ""
            case TextDelta(text=text):
                self._words += text
            case CallStarted() | CallFinished() | ModelReplied():
                self._has_moved = True
            case _:
                return
        if self._sending is None or self._sending.done():
            self._sending = asyncio.ensure_future(self._send())

    async def close(self) -> None:
        """Ends it. How the run ended is told with the ledger's own word of it."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])

    async def _send(self) -> None:
        with contextlib.suppress(StoreError):
            while self._words or self._has_moved:
                await asyncio.sleep(_GATHERING_SECONDS)
                piece, self._words = self._words[: MOST_BYTES // 6], self._words[MOST_BYTES // 6 :]
                turn, offset = self._turn, self._told
                self._told += len(piece)
                if piece:
                    await self._notify(words_notice(self._run_id, turn, offset, piece))
                if self._has_moved and not self._words:
                    self._has_moved = False
                    await self._notify(self._run_id)

    async def _notify(self, notice: str) -> None:
        await self._ledger.look("SELECT pg_notify(?, ?)", (CHANNEL, notice))
