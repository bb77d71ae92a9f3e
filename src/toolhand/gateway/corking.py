"""Writes what one turn of the event loop gives to a client in one go.

A server writes an answer's head and each piece of its body by themselves, and each write is a call of the system, which are dear:
a tenth of a request's time each. Held back until the loop's next turn, the head goes out with what follows it.

And a client that sends the head of a request by drops, to hold a connection, is not waited for: uvicorn would.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS: Final = 30.0
"""How long the head of a request may be under way; a connection that sends none for longer is closed."""

MOST_BYTES: Final = 64 * 1024
"""How much is held back at most."""


class Corked:
    """A connection whose writes are put together.

    Args:
        transport: the connection.
        loop: the loop that serves it.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._pieces: list[bytes] = []
        self._bytes = 0

    def __getattr__(self, name: str) -> Any:
        """Whatever else a connection does."""
        return getattr(self._transport, name)

    def write(self, piece: bytes) -> None:
        """Writes a piece, with those that come before the loop's next turn."""
        if not self._pieces:
            self._loop.call_soon(self.flush)
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._bytes > MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Writes what was held back."""
        pieces, self._pieces, self._bytes = self._pieces, [], 0
        if pieces and not self._transport.is_closing():
            self._transport.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def close(self) -> None:
        """Closes it, once all is written."""
        self.flush()
        self._transport.close()


class CorkedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's own protocol over such a connection, which waits for the head of a request only so long."""

    _waits: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has come."""
        super().connection_made(Corked(transport, self.loop))
        self._waits = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Something of a request has come."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._waits is None:
            self._waits = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None

    def _give_up(self) -> None:
        self._waits = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
