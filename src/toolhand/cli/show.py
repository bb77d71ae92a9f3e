"""Shows a run as it happens: calls, results, the answer. Words go to stderr, the answer to stdout."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.status import Status

from toolhand.cli.shown import shown
from toolhand.cli.words import say
from toolhand.core.canonical import canonical
from toolhand.core.errors import ErrorCode
from toolhand.core.events import (
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    LimitReached,
    ModelReplied,
    ReadingMended,
    TextDelta,
    TurnStarted,
)
from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import language_of_person
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.core.plain import plain

MOST_CHARACTERS = 600
MOST_VERBOSE = 2_000
QUIET_SECONDS = 3.0
"""After so long without a word a person who sees no moving mark is told that something happens."""


class Show:
    """Prints events for a person.

    Args:
        out: where the answer goes.
        err: where everything else goes.
        is_verbose: whether raw replies, fixes and times are shown, and more of each result.
    """

    def __init__(self, out: Console, err: Console, *, is_verbose: bool = False) -> None:
        self.out = out
        self.err = err
        self.is_verbose = is_verbose
        self._status: Status | None = None
        self._timer: threading.Timer | None = None
        self._has_text = False
        self._holders = 0
        self._kept: list[Event] = []
        self._calls: set[str] = set()
        self._again: set[str] = set()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Prints nothing meanwhile: somebody is being asked. What happens is shown afterwards."""
        self._done_waiting()
        self._end_line()
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                kept, self._kept = self._kept, []
                for event in kept:
                    self(event)

    def __call__(self, event: Event) -> None:
        """Prints one event."""
        if self._holders:
            self._kept.append(event)
            return
        match event:
            case TurnStarted():
                self._calls, self._again = set(), set()
                self._end_line()
                self._wait()
            case TextDelta(text=text):
                self._done_waiting()
                self._has_text = True
                self.say(text, end="")
            case ModelReplied(raw=raw, usage=usage, turn=turn):
                self._done_waiting()
                if self.is_verbose:
                    self._end_line()
                    tokens = f"{usage.input_tokens}+{usage.output_tokens}"
                    self.err.print(f"[dim]{say('turn', '第')} {turn} ({tokens} tokens): {shown(raw)}[/dim]")
            case ReadingMended(calls=calls) if self.is_verbose:
                for fix in (fix for call in calls for fix in call.fixes):
                    self.err.print(f"[dim]  {say('mended', '已修正')}: {fix.kind} {shown(fix.path)}[/dim]")
            case CallStarted(call=call) if self._comes_again(call):
                pass
            case CallFinished(call=call, result=result) if call.id in self._again and _is_repeat(result):
                pass
            case CallStarted(call=call):
                self._done_waiting()
                self._end_line()
                self.err.print(f"[bold cyan]→ {shown(call.name)}[/]({shown(_arguments(call.arguments))})")
            case CallFinished(result=result, seconds=seconds):
                self._done_waiting()
                text = result_text(result, language_of_person())
                text = _cut(text, MOST_VERBOSE if self.is_verbose else MOST_CHARACTERS)
                mark = "[green]←[/]" if result.ok else "[red]←[/]"
                took = f" [dim]({seconds:.2f} s)[/dim]" if self.is_verbose else ""
                self.err.print(f"{mark} {shown(text)}{took}")
            case CallFailed(exception=error, is_expected=is_expected):
                if (
                    self.is_verbose and is_expected
                ):  # the others are told without a word of ours: redaction/unheard.py
                    self.err.print(f"[red]{type(error).__name__}: {shown(str(error))}[/]")
            case LimitReached(limit=limit):
                self.err.print(f"[yellow]{say('limit reached', '已达到上限')}: {limit}[/]")
            case _:
                self._end_line()

    def say(self, text: str, *, end: str = "\n") -> None:
        """Prints what the model says: to a program as it is, to a terminal without what would steer it."""
        said = plain(text) if self.out.is_terminal else text
        self.out.print(said, end=end, markup=False, highlight=False, soft_wrap=True)

    def _comes_again(self, call: ToolCall) -> bool:
        """Whether a reply holds a call that it has held before: it runs once, and one line says so."""
        told = f"{call.name} {canonical(call.arguments)}"
        if told not in self._calls or self.is_verbose:
            self._calls.add(told)
            return False
        if not self._again:
            words = say("the model wrote a call several times", "模型把同一个调用写了多次")
            self.err.print(f"[dim]  {words}[/dim]")
        self._again.add(call.id)
        return True

    def _wait(self) -> None:
        if self.err.is_terminal and self._status is None:
            self._status = self.err.status(say("the model is thinking …", "模型思考中…"))
            self._status.start()
        elif (
            not self.err.is_terminal and self._timer is None
        ):  # once: a file or pipe gets a line, and no moving mark
            said = say("the model is being loaded, or is thinking …", "正在加载模型，或模型正在思考…")
            self._timer = threading.Timer(QUIET_SECONDS, self.err.print, [said])
            self._timer.daemon = True
            self._timer.start()

    def _done_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _end_line(self) -> None:
        if self._has_text:
            self.out.print()
            self._has_text = False

    def close(self) -> None:
        """Stops whatever moves on the screen."""
        self._done_waiting()
        self._end_line()


def _is_repeat(result: ToolResult) -> bool:
    """Whether it tells nothing new: what is known already, or that it is."""
    return "repeat_of" in result.notes or (
        result.error is not None and result.error.code is ErrorCode.REPEATED_CALL
    )


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    left = f"{len(text) - most:,}"
    return f"{text[:most]}… " + say(f"({left} more characters)", f"（还有 {left} 个字符）")


def _arguments(arguments: Any) -> str:
    return ", ".join(
        f"{key}={json.dumps(jsonable(value), ensure_ascii=False)}" for key, value in arguments.items()
    )
