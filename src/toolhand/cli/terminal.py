"""The person's terminal: what is read from it, what is written to it, and what may be wrong with either."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import sys
import threading
from pathlib import Path
from typing import Final

import typer

from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.core.plain import plain

_LONGEST_SHOWN: Final = 200


def prepare_streams() -> None:
    """Makes the standard streams safe to use whatever they are.

    A closed one leads nowhere, and a terminal that cannot show a character shows a question mark.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller: Python leaves it out
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def is_person_here() -> bool:
    """Whether somebody can be asked: both what is typed and what is shown are a terminal's."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def read_question(words: str) -> str:
    """The question as it was typed; "-" stands for what comes on standard input.

    Raises:
        typer.BadParameter: when it is empty, or is no text.
    """
    if words == "-":
        try:
            words = sys.stdin.read().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            raise typer.BadParameter(
                say(
                    f"what came on standard input is no {error.encoding} text: set PYTHONIOENCODING to what it is",
                    f"标准输入的内容不是 {error.encoding} 文本：请把 PYTHONIOENCODING 设为它的编码",
                )
            ) from None
    try:
        words.encode("utf-8")
    except UnicodeEncodeError:
        raise typer.BadParameter(
            say(
                "the question is not in the terminal's encoding: set the locale to UTF-8, such as LANG=C.UTF-8",
                "问题的编码与终端不一致：请把 locale 设为 UTF-8，例如 LANG=C.UTF-8",
            )
        ) from None
    if not words.strip():
        raise typer.BadParameter(say("the question is empty", "问题是空的"))
    return words.strip()


def path_given(option: str, value: str | None) -> Path | None:
    """An option's path, or None where the option was not given.

    Raises:
        SettingsError: when it is empty: it would quietly mean the current folder.
    """
    if value is None:
        return None
    if not value.strip():
        raise SettingsError(say(f"{option} is empty: give a path", f"{option} 是空的：请给出路径"))
    return Path(value)


def place_given(option: str, value: str | None) -> Path | str | None:
    """An option's path, or the URL of a database as it is: a path would take one of its slashes away.

    Raises:
        SettingsError: when it is empty.
    """
    return value if value is not None and "://" in value else path_given(option, value)


def shortened(text: str) -> str:
    """A text in one line, not too long for a terminal."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}…"


def cannot_write(error: OSError) -> str:
    """One sentence about what the system refused."""
    reason = shortened(error.strerror or str(error))
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and error.filename is None:
        return say(f"the output could not be written: {reason}", f"无法写出结果：{reason}")
    where = f"{shortened(str(error.filename))}: " if error.filename is not None else ""
    return say(f"the system refuses: {where}{reason}", f"系统拒绝：{where}{reason}")


def give_up_output() -> None:
    """Lets what is still to be written lead nowhere, so that the interpreter does not complain when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except (OSError, ValueError):
            continue


class Asker:
    """Asks the person yes-or-no questions, one after another however many calls ask at once."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._typed = b""

    async def confirm(self, question: str) -> bool:
        """The person's answer; no by default, and at the end of the input."""
        async with self._turn:
            while True:
                sys.stderr.write(f"{plain(question)} [y/N]: ")
                sys.stderr.flush()
                line = await self._line()
                if line is None:
                    sys.stderr.write("\n")
                    return False
                answer = line.strip().lower()
                if answer in ("y", "yes", "是", "好"):
                    return True
                if answer in ("", "n", "no", "否", "不"):
                    return False
                sys.stderr.write(say("Please answer y or n.\n", "请回答 y 或 n。\n"))

    async def _line(self) -> str | None:
        """The next line that is typed, None at the end. Waiting for it holds up neither the loop nor the program's end."""
        while b"\n" not in self._typed:
            more = await _typed()
            if not more:
                rest, self._typed = self._typed, b""
                return _decoded(rest) if rest else None
            self._typed += more
        line, _, self._typed = self._typed.partition(b"\n")
        return _decoded(line)


def _decoded(line: bytes) -> str:
    return line.decode(sys.stdin.encoding or "utf-8", "replace")


async def _typed() -> bytes:
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
    there: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        if not there.done():
            try:
                there.set_result(os.read(descriptor, 4096))
            except OSError:
                there.set_result(b"")

    try:
        loop.add_reader(descriptor, read)
    except (RuntimeError, OSError):  # Windows: only a thread can wait for the keyboard

        def wait() -> None:
            line = os.read(descriptor, 4096)
            loop.call_soon_threadsafe(lambda: None if there.done() else there.set_result(line))

        threading.Thread(target=wait, name="toolhand-keyboard", daemon=True).start()
        return await there
    try:
        return await there
    finally:
        loop.remove_reader(descriptor)
