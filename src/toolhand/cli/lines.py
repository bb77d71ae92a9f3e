"""The lines that a person types in `toolhand chat`: editing and history where the terminal has them, several lines as one message."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

from toolhand.cli.words import say
from toolhand.sessions.store import default_path

BLOCK: Final = '"""'
_MOST_KEPT: Final = 2_000


class Lines:
    r"""Reads messages: a line each; a line that ends with a backslash goes on, and three quotes begin and end a block.

    Args:
        history: where lines are kept for the next start; None keeps none.
    """

    def __init__(self, history: Path | None = None) -> None:
        self.is_terminal = sys.stdin.isatty()
        self._history = history
        self._editor = _editor() if self.is_terminal else None
        if self._editor is not None and history is not None:
            with contextlib.suppress(OSError):
                self._editor.read_history_file(str(history))
            self._editor.set_history_length(_MOST_KEPT)

    def read(self, prompt: str) -> str | None:
        """The next message, None at the end of the input.

        Raises:
            KeyboardInterrupt: at Ctrl-C.
        """
        first = self._line(prompt)
        if first is None:
            return None
        if first.strip().startswith(BLOCK):
            return self._block(first.strip().removeprefix(BLOCK))
        lines = [first]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            more = self._line("… ")
            if more is None:
                break
            lines.append(more)
        return "\n".join(lines)

    def _block(self, first: str) -> str:
        lines: list[str] = []
        line: str | None = first
        while line is not None and not line.rstrip().endswith(BLOCK):
            lines.append(line)
            line = self._line("… ")
        if line is not None:
            lines.append(line.rstrip().removesuffix(BLOCK))
        return "\n".join(lines).strip("\n")

    def _line(self, prompt: str) -> str | None:
        try:
            if self.is_terminal:
                return input(prompt)
            line = sys.stdin.readline()
            return line.rstrip("\r\n").removeprefix("\ufeff") if line else None
        except EOFError:
            return None
        except UnicodeDecodeError as error:
            sys.stderr.write(
                say(
                    f"a line that is no {error.encoding} text was left out\n",
                    f"有一行不是 {error.encoding} 文本，已忽略\n",
                )
            )
            return ""

    def rest(self) -> int:
        """How many lines with something in them are there already and were not read. Nobody waits for those still to come."""
        if self.is_terminal:
            return 0
        with contextlib.suppress(OSError, ValueError, TypeError):
            descriptor = sys.stdin.fileno()
            was_blocking = os.get_blocking(descriptor)
            os.set_blocking(descriptor, False)
            try:
                return sum(1 for line in iter(sys.stdin.readline, "") if line.strip())
            finally:
                os.set_blocking(descriptor, was_blocking)
        return 0

    def keep(self) -> None:
        """Writes the history down; only its owner may read it."""
        if self._editor is None or self._history is None:
            return
        with contextlib.suppress(OSError):
            self._history.parent.mkdir(parents=True, exist_ok=True)
            self._history.touch(mode=0o600)
            self._editor.write_history_file(str(self._history))


def history_path() -> Path:
    """Where typed lines are kept, beside the sessions."""
    return default_path().with_name("chat-history")


def _editor() -> ModuleType | None:
    """The terminal's line editor: importing it is what makes `input` use it. None where Python has none."""
    try:
        import readline  # noqa: PLC0415 - it changes how the terminal reads, so only a chat loads it
    except ImportError:
        return None
    return readline
