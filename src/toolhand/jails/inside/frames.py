"""Frames between the host and a program: four bytes of length, then JSON. Nothing is ever unpickled."""

from __future__ import annotations

import json
import struct
from typing import Any, Final

MOST_BYTES: Final = 16 * 2**20


class FrameError(ValueError):
    """What came is not a frame, or is larger than one may be."""


def encoded(frame: dict[str, Any]) -> bytes:
    """A frame as bytes."""
    text = json.dumps(frame, ensure_ascii=True, separators=(",", ":")).encode()
    return struct.pack("<I", len(text)) + text


class Frames:
    """Puts frames together from what comes in pieces.

    Args:
        most: how many bytes one may have.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._buffer, self._most = bytearray(), most

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """The frames that are whole now.

        Raises:
            FrameError: for anything that is none.
        """
        self._buffer += piece
        found = []
        while len(self._buffer) >= 4:
            (size,) = struct.unpack_from("<I", self._buffer)
            if size > self._most:
                raise FrameError("too large")
            if len(self._buffer) < 4 + size:
                break
            try:
                frame = json.loads(self._buffer[4 : 4 + size])
            except (ValueError, RecursionError) as error:
                raise FrameError("not JSON") from error
            if not isinstance(frame, dict):
                raise FrameError("not an object")
            del self._buffer[: 4 + size]
            found.append(frame)
        return found
