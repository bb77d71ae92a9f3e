"""Writes what one turn of the event loop gives to a client in one go.

A server writes an answer's head and each piece of its body by themselves, and each write is a call of the system, which are dear:
a tenth of a request's time each. Held back until the loop's next turn, the head goes out with what follows it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.auto import AutoHTTPProtocol

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
    """uvicorn's own protocol over such a connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has come."""
        super().connection_made(Corked(transport, self.loop))
