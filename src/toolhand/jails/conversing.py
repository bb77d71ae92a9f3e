"""The host's side of a program in another process: answers its calls, keeps what it prints, and trusts nothing that comes."""

from __future__ import annotations

import asyncio
import base64
import codecs
import contextlib
import json
import os
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from toolhand.jails.inside.frames import FrameError, Frames, encoded
from toolhand.jails.runs import MOST_ARGUMENT_BYTES, Answer, Answers, Ended, Ran, Stop
from toolhand.parsing.programs.outcomes import Limits

_DRAIN_SECONDS: Final = 0.05
_DEEPEST: Final = 105
_MOST_FILE_PARTS, _MOST_FILE_BYTES, _LONGEST_NAME = 200, 8 * 2**20, 255
_SIGNATURES: Final = {".png": b"\x89PNG\r\n", ".jpg": b"\xff\xd8\xff", ".jpeg": b"\xff\xd8\xff"}
_TEXTS: Final = frozenset({".csv", ".json", ".txt", ".md"})
_KINDS: Final = ("exception", "memory", "output")


class Process(Protocol):
    """A process with a program in it."""

    incoming: int
    """A descriptor from which its frames come."""
    outgoing: int
    """One on which frames go to it."""
    printed: int
    """One from which its text comes."""

    def kill(self) -> None:
        """Ends it with all that it has started, without waiting for it."""
        ...

    def is_too_big(self) -> bool:
        """Whether it has taken more than it may of what the kernel does not bound."""
        ...


@dataclass(slots=True)
class Conversation:
    """One program in one process.

    Args:
        process: where it runs.
        calls: what answers its tool calls.
        limits: how far it may go.
        stop: how it is ended from outside.
    """

    process: Process
    calls: Answers
    limits: Limits
    stop: Stop
    ran: Ran = field(init=False)
    _over: asyncio.Future[None] = field(init=False)
    _frames: Frames = field(init=False)
    _to_send: bytearray = field(default_factory=bytearray)
    _waiting: set[int] = field(default_factory=set)
    _files: dict[str, bytearray] = field(default_factory=dict)
    _file_bytes: int = 0
    _file_parts: int = 0
    _text: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    async def run(self, code: str) -> Ran:
        """Runs the program; the process is ended when this returns.

        Raises:
            Ended: when its calls end it.
        """
        loop, process, most = asyncio.get_running_loop(), self.process, self.limits.output_kb * 1024
        self.ran, self._over = Ran(most), loop.create_future()
        self._frames = Frames(MOST_ARGUMENT_BYTES + most + 2**16)
        for descriptor in (process.incoming, process.outgoing, process.printed):
            os.set_blocking(descriptor, False)
        loop.add_reader(process.incoming, self._read)
        loop.add_reader(process.printed, self._read_printed)
        try:
            self.stop.begin(process.kill, process.is_too_big)
            job = {"code": code, "tools": self.calls.parameters, "most_value": most}
            self._send({"id": 0, "most_argument": MOST_ARGUMENT_BYTES, **job})
            await self._over
        finally:
            self.stop.end()
            process.kill()
            loop.remove_writer(process.outgoing)
            loop.remove_reader(process.incoming)
            loop.remove_reader(process.printed)
            self._drain()
        self.ran.files = {name: bytes(held) for name, held in self._files.items() if _is_kept(name, held)}
        return self.ran

    def _end(self, error: Any = None) -> None:
        """The program has ended; also once more, where that is seen in several ways."""
        if not self._over.done():
            self.ran.error = (self.stop.kind, "", "", 0) if self.stop.kind else error
            self._over.set_result(None)

    def _fail(self, error: BaseException) -> None:
        if not self._over.done():
            self._over.set_exception(error)

    def _send(self, frame: dict[str, Any]) -> None:
        self._to_send += encoded(frame)
        self._write()

    def _write(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._to_send:
                del self._to_send[: os.write(self.process.outgoing, self._to_send[: 1 << 20])]
        except BlockingIOError:
            loop.add_writer(self.process.outgoing, self._write)
            return
        except OSError:  # it reads no more; that it has ended is seen where it is read
            self._to_send.clear()
        loop.remove_writer(self.process.outgoing)

    def _read_printed(self) -> bool:
        """Takes what was printed; gives whether there was any."""
        piece = b""
        with contextlib.suppress(BlockingIOError):
            piece = os.read(self.process.printed, 1 << 16)
            if not piece:
                asyncio.get_running_loop().remove_reader(self.process.printed)
            self.ran.print(self._text.decode(piece, final=not piece))
        return bool(piece)

    def _drain(self) -> None:
        until = time.monotonic() + _DRAIN_SECONDS
        while self._read_printed() and time.monotonic() < until:
            pass

    def _read(self) -> None:
        """Takes what came; after one fault nothing more is taken."""
        try:
            piece = os.read(self.process.incoming, 1 << 20)
            frames = self._frames.feed(piece)
        except BlockingIOError:
            return
        except (FrameError, ConnectionResetError):
            piece, frames = b"", []
        for frame in frames:
            if not self._over.done() and not self._takes(frame):
                piece = b""
                break
        if not piece:
            self._end(("crashed", "", "", 0))

    def _takes(self, frame: dict[str, Any]) -> bool:
        """Does what a frame says; gives whether it says anything that one may say."""
        match frame:
            case _ if _is_deep(frame):
                return False
            case {"done": dict(ending)}:
                self._take_ending(ending)
            case {"file": str(name), "content": str(content)}:
                return self._take_file(name, content)
            case {"call": str(name), "arguments": dict(arguments), "id": number} if self._is_new(number):
                self._start(number, name, arguments)
            case _:
                return False
        return True

    def _is_new(self, number: Any) -> bool:
        return type(number) is int and number not in self._waiting

    def _start(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        try:
            done = self.calls.start(name, arguments)
        except Ended as ended:
            self._fail(ended)
            return
        self._waiting.add(number)
        done.add_done_callback(partial(self._answer, number))

    def _answer(self, number: int, done: asyncio.Future[Answer]) -> None:
        if done.cancelled():
            return
        error = done.exception() or self.calls.ended
        if error is not None:
            self._fail(error)
        elif not self._over.done():
            self._waiting.discard(number)
            self._send({"id": number, **done.result()})

    def _take_ending(self, ending: dict[str, Any]) -> None:
        error, value = ending.get("error"), ending.get("value")
        if error is None and len(json.dumps(value)) > self.limits.output_kb * 1024:
            error = ["output", "", "", 0]
        match error:
            case None:
                self.ran.value = value
                self._end()
            case [str(kind), name, text, int(line)] if kind in _KINDS:
                self._end((kind, str(name)[:100], str(text)[:2_000], line))
            case _:
                self._end(("crashed", "", "", 0))

    def _take_file(self, name: str, content: str) -> bool:
        """Adds to a file what is sent of it; gives whether there was still room."""
        self._file_parts += 1
        with contextlib.suppress(ValueError):
            part = base64.b64decode(content, validate=True)
            self._file_bytes += len(part)
            if name == os.path.basename(name) and name.isprintable() and len(name) <= _LONGEST_NAME:  # noqa: PTH119
                self._files.setdefault(name, bytearray()).extend(part)
        return self._file_bytes <= _MOST_FILE_BYTES and self._file_parts <= _MOST_FILE_PARTS


def _is_kept(name: str, held: bytes | bytearray) -> bool:
    """Whether a file is what its name says."""
    ending = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a name, not a path
    if ending not in _TEXTS:
        return ending in _SIGNATURES and held.startswith(_SIGNATURES[ending])
    try:
        held.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_deep(value: Any) -> bool:
    """Whether a value is nested deeper than a program may send it."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True
