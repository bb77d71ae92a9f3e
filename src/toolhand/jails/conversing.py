"""The host's side of a program in another process: it answers tool calls, keeps what is printed, and ends it in time."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from toolhand.jails.inside.frames import FrameError, Frames, encoded
from toolhand.jails.runs import MOST_ARGUMENT_BYTES, Answer, Answers, Ran, Stop
from toolhand.parsing.programs.outcomes import Limits

_DRAIN_SECONDS: Final = 0.05
_MOST_FILES, _MOST_FILE_BYTES = 100, 8 * 2**20
_SIGNATURES: Final = {".png": b"\x89PNG\r\n", ".jpg": b"\xff\xd8\xff", ".jpeg": b"\xff\xd8\xff"}
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
        """Ends it with all that it has started."""
        ...

    def is_too_big(self) -> bool:
        """Whether it has taken more room on the disk than it may."""
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
    _frames: Frames = field(default_factory=Frames)
    _to_send: bytearray = field(default_factory=bytearray)
    _waiting: dict[int, Future[Answer]] = field(default_factory=dict)
    _file_bytes: int = 0

    def run(self, code: str) -> Ran:
        """Runs the program; the process is gone when this returns.

        Raises:
            Ended: when its calls end it.
        """
        self.ran = Ran(self.limits.output_kb * 1024)
        job = {
            "code": code,
            "tools": self.calls.parameters,
            "most_argument": MOST_ARGUMENT_BYTES,
            "most_value": self.limits.output_kb * 1024,
        }
        self._to_send += encoded({"id": 0, **job})
        bell, rung = os.pipe()
        os.set_blocking(rung, False)
        for descriptor in (self.process.incoming, self.process.outgoing, self.process.printed):
            os.set_blocking(descriptor, False)
        self.stop.begin(lambda: _ring(rung))
        try:
            self._converse(bell, rung)
        finally:
            self.stop.end()
            self.process.kill()
            self.calls.stop()
            self._drain()
            for one in list(self._waiting.values()):  # none of them rings a bell that is gone
                with contextlib.suppress(BaseException):
                    one.exception(timeout=1)
            os.close(bell)
            os.close(rung)
        return self.ran

    def _converse(self, bell: int, rung: int) -> None:
        process, poller = self.process, select.poll()
        for descriptor in (bell, process.incoming, process.printed):
            poller.register(descriptor, select.POLLIN)
        while True:
            left = self.stop.left
            if self.stop.kind or not left or process.is_too_big():
                self.ran.error = (self.stop.kind or ("memory" if left else "time"), "", "", 0)
                return
            self._send(poller)
            for descriptor, events in poller.poll(min(left, 0.05) * 1000 + 1):
                if descriptor == bell:
                    os.read(bell, 4096)
                    self._answer()
                elif descriptor == process.printed:
                    if not self._read_printed():
                        poller.unregister(descriptor)
                elif self._has_ended(descriptor, events, rung):
                    return

    def _send(self, poller: select.poll) -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self._to_send:
                del self._to_send[: os.write(self.process.outgoing, self._to_send[: 1 << 20])]
        wanted = select.POLLOUT if self._to_send else 0
        if self.process.outgoing == self.process.incoming:
            poller.register(self.process.incoming, select.POLLIN | wanted)
        elif wanted:
            poller.register(self.process.outgoing, wanted)
        else:
            with contextlib.suppress(KeyError):
                poller.unregister(self.process.outgoing)

    def _read_printed(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            piece = os.read(self.process.printed, 1 << 16)
            self.ran.print(piece.decode("utf-8", "replace"))
            return bool(piece)
        return True

    def _drain(self) -> None:
        until = time.monotonic() + _DRAIN_SECONDS
        while time.monotonic() < until and select.select([self.process.printed], [], [], 0)[0]:
            if not self._read_printed():
                return

    def _has_ended(self, descriptor: int, events: int, rung: int) -> bool:
        is_something = descriptor == self.process.incoming and events & (select.POLLIN | select.POLLHUP)
        return bool(is_something) and self._read_frames(rung)

    def _read_frames(self, rung: int) -> bool:
        """Takes what came; gives whether the program has ended."""
        try:
            piece = os.read(self.process.incoming, 1 << 20)
            frames = self._frames.feed(piece)
        except BlockingIOError:
            return False
        except (FrameError, ConnectionResetError):
            piece, frames = b"", []
        if not piece:
            self.ran.error = ("crashed", "", "", 0)
            return True
        for frame in frames:
            if isinstance(frame.get("done"), dict):
                self._take_ending(frame["done"])
                return True
            if isinstance(frame.get("file"), str):
                self._take_file(frame["file"], frame.get("content"))
            elif isinstance(frame.get("call"), str) and isinstance(frame.get("arguments"), dict):
                self._start(frame, rung)
            elif "ready" not in frame:
                self.ran.error = ("crashed", "", "", 0)
                return True
        return False

    def _start(self, frame: dict[str, Any], rung: int) -> None:
        number = frame.get("id")
        if not isinstance(number, int):
            return
        done = self.calls.start(frame["call"], frame["arguments"])
        self._waiting[number] = done

        if done.done():
            self._answer()
        else:
            done.add_done_callback(lambda _: _ring(rung))

    def _answer(self) -> None:
        for number, done in list(self._waiting.items()):
            if done.done():
                del self._waiting[number]
                answer = done.result()
                if self.calls.ended is not None:
                    raise self.calls.ended
                frame = encoded({"id": number, **answer})
                self._to_send += frame

    def _take_ending(self, ending: dict[str, Any]) -> None:
        error = ending.get("error")
        if error is None:
            value = ending.get("value")
            if len(json.dumps(value)) <= self.limits.output_kb * 1024:
                self.ran.value = value
                return
            error = ["output", "", "", 0]
        if isinstance(error, list) and len(error) == 4 and error[0] in _KINDS and isinstance(error[3], int):
            self.ran.error = (error[0], str(error[1])[:100], str(error[2])[:2_000], error[3])
        else:
            self.ran.error = ("crashed", "", "", 0)

    def _take_file(self, name: str, content: Any) -> None:
        """Keeps a file if it is what its name says: the other side is not to be trusted."""
        ending = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a name, not a path
        with contextlib.suppress(ValueError, TypeError):
            held = base64.b64decode(content, validate=True)
            self._file_bytes += len(held)
            is_text = ending in {".csv", ".json", ".txt", ".md"} and bool(held.decode("utf-8") or True)
            is_picture = ending in _SIGNATURES and held.startswith(_SIGNATURES[ending])
            is_small = self._file_bytes <= _MOST_FILE_BYTES and len(self.ran.files) < _MOST_FILES
            if (is_text or is_picture) and is_small and name == os.path.basename(name) and name.isprintable():  # noqa: PTH119
                self.ran.files[name] = held


def _ring(rung: int) -> None:
    with contextlib.suppress(OSError):
        os.write(rung, b".")
