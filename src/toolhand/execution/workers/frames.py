"""What crosses the border between processes: JSON behind its length. Nothing in it runs when it is read.

Four bytes of length, big-endian, then UTF-8. Files' descriptors travel beside the first byte (SCM_RIGHTS, unix(7)).
"""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any, Final

from toolhand.execution.workers.failures import FrameTooLargeError

HEADER_BYTES: Final = 4
MOST_BYTES: Final = 64 * 2**20
"""Of one frame, and so of a result."""


def encoded(value: Any, most_bytes: int = MOST_BYTES) -> bytes:
    """A value as a frame.

    Raises:
        FrameTooLargeError: when it is too large.
        TypeError: when it is not JSON.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(text) > most_bytes:
        raise FrameTooLargeError(f"{len(text)} bytes, and {most_bytes} are the most")
    return len(text).to_bytes(HEADER_BYTES, "big") + text


def is_plain(value: Any) -> bool:
    """Whether a value arrives as exactly what it was: JSON's own types, and no subclasses of them."""
    kind = type(value)
    if kind is list:
        return all(map(is_plain, value))
    if kind is dict:
        return all(type(key) is str and is_plain(key) and is_plain(item) for key, item in value.items())
    return kind in (str, int, float, bool, type(None))


def receive(channel: socket.socket) -> tuple[Any, list[int]] | None:
    """The next frame and the descriptors beside it, waiting for it; None at the end."""
    header, descriptors, _, _ = socket.recv_fds(channel, HEADER_BYTES, 1)
    rest = _exactly(channel, HEADER_BYTES - len(header)) if header else None
    if rest is None:
        return None
    text = _exactly(channel, int.from_bytes(header + rest, "big"))
    return None if text is None else (json.loads(text), descriptors)


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    found = bytearray(size)
    view, filled = memoryview(found), 0
    while filled < size:
        count = channel.recv_into(view[filled:])
        if count == 0:
            return None
        filled += count
    return bytes(found)


class Channel:
    """The parent's end of a socket pair, read and written without blocking the event loop.

    Args:
        end: a connected stream socket.
        most_bytes: the largest frame that is taken.
    """

    def __init__(self, end: socket.socket, most_bytes: int = MOST_BYTES) -> None:
        end.setblocking(False)
        self.end = end
        self._most_bytes = most_bytes

    async def send(self, frame: bytes, descriptor: int | None = None) -> None:
        """Sends a frame, with a descriptor where one is given.

        Raises:
            OSError: when the other end is gone.
        """
        if descriptor is not None:
            sent = socket.send_fds(self.end, [frame], [descriptor])
            frame = frame[sent:]
        if frame:
            await asyncio.get_running_loop().sock_sendall(self.end, frame)

    async def receive(self) -> Any:
        """The next frame.

        Raises:
            EOFError: when the other end is gone.
            FrameTooLargeError: when a larger frame is announced than is taken.
        """
        header = await self._exactly(HEADER_BYTES)
        size = int.from_bytes(header, "big")
        if size > self._most_bytes:
            raise FrameTooLargeError(f"{size} bytes, and {self._most_bytes} are the most")
        return json.loads(await self._exactly(size))

    async def _exactly(self, size: int) -> bytes:
        loop = asyncio.get_running_loop()
        found = bytearray(size)
        view, filled = memoryview(found), 0
        while filled < size:
            try:
                count = await loop.sock_recv_into(self.end, view[filled:])
            except OSError:
                count = 0
            if count == 0:
                raise EOFError("the other end is gone")
            filled += count
        return bytes(found)

    def shut(self) -> None:
        """Ends what still waits at this end."""
        try:
            self.end.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        """Closes this end."""
        self.end.close()
