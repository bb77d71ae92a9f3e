"""What one turn of the loop gives to a client goes out in one write, in order, and nothing of it is lost."""

from __future__ import annotations

import asyncio

from toolhand.gateway.corking import MOST_BYTES, Corked


class Line:
    """The far side of a connection."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, piece: bytes) -> None:
        assert not self.is_closed
        self.written.append(piece)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def get_extra_info(self, name: str) -> str:
        return name


def corked() -> tuple[Line, Corked]:
    line = Line()
    return line, Corked(line, asyncio.get_running_loop())  # type: ignore[arg-type]


async def test_the_head_goes_out_with_the_body():
    line, connection = corked()
    connection.write(b"head ")
    connection.write(b"body")
    assert line.written == []
    await asyncio.sleep(0)
    assert line.written == [b"head body"]
    connection.write(b"more")
    await asyncio.sleep(0)
    assert line.written == [b"head body", b"more"]
    assert connection.get_extra_info("peername") == "peername"


async def test_what_was_written_before_the_end_is_not_lost():
    line, connection = corked()
    connection.write(b"all of it")
    connection.close()
    assert (line.written, line.is_closed) == ([b"all of it"], True)
    await asyncio.sleep(0)
    connection.write(b"too late")
    await asyncio.sleep(0)
    assert line.written == [b"all of it"]


async def test_much_is_not_held_back():
    line, connection = corked()
    connection.write(b"x" * MOST_BYTES)
    connection.write(b"y")
    assert line.written == [b"x" * MOST_BYTES + b"y"]
    await asyncio.sleep(0)
    assert len(line.written) == 1
