"""What a tool raised, on stderr, in a program that has set up no logging: else a mistake in a tool would be told to nobody.

It goes the way of the standard library's last resort (`logging.lastResort`), which our own `NullHandler` keeps from working by
itself. What a model got wrong stays quiet, and so does what may pass by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolhand.core.context import RunContext
from toolhand.core.errors import FatalError
from toolhand.core.events import CallFailed, Event
from toolhand.core.language import say
from toolhand.core.lazily import lazy_pattern
from toolhand.core.plain import plain
from toolhand.observability.excerpts import Excerpts
from toolhand.observability.log import CALLS

_MOST_TEXT: Final = 500
_MOST_TRACEBACK: Final = 4_000
_PACKAGE: Final = str(Path(__file__).parents[1])
_FRAME: Final = lazy_pattern(r'File "([^"\n]{1,500})", line (\d{1,9})')


def unheard(event: Event, context: RunContext) -> None:
    """A sink: one line for an exception that the program's author has to know of, with the file and line of the tool's own.

    Args:
        event: only `CallFailed` is told of.
        context: the run's.
    """
    del context
    if not isinstance(event, CallFailed) or event.is_expected or isinstance(event.exception, FatalError):
        return  # a FatalError comes out of the run itself
    last = logging.lastResort
    if last is None or not CALLS.isEnabledFor(logging.ERROR):
        return
    record = CALLS.makeRecord(
        CALLS.name, logging.ERROR, "(toolhand)", 0, "%s", (plain(sentence(event)),), None
    )
    last.handle(record)


def sentence(event: CallFailed) -> str:
    """What was raised and where, masked; the traceback where no line of the tool's own file is in it."""
    error, excerpts = event.exception, Excerpts.of(event.tool, event.call.arguments)
    text, what = " ".join(excerpts.exception(error, _MOST_TEXT).split()), type(error).__name__
    if hasattr(error, "fault"):  # raised in a tool's own process: its text begins with the type
        what, _, text = text.partition(": ")
    place, name = place_of(error), event.call.name
    said = say(
        f"the tool '{name}' raised {what}{f' ({place})' if place else ''}{': ' if text else ''}{text}",
        f"工具“{name}”抛出 {what}{f'（{place}）' if place else ''}{'：' if text else ''}{text}",
    )
    return said if place else f"{said}\n{excerpts.traceback(error, _MOST_TRACEBACK)}"


def place_of(error: BaseException) -> str:
    """The last line of the tool's own file that the exception went through, as "file:line"; empty where there is none."""
    own, line = "", 0
    for file, number in (*_frames(error), *_noted(error)):
        if not own and not file.startswith(_PACKAGE):
            own = file
        if file == own:
            line = number
    if not own:
        return ""
    path, here = Path(own), Path.cwd()
    return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{line}"


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next


def _noted(error: BaseException) -> Iterator[tuple[str, int]]:
    """The frames of another process, whose traceback is a note."""
    for note in getattr(error, "__notes__", ()):
        for file, number in _FRAME.findall(str(note)[-_MOST_TRACEBACK:]):
            yield file, int(number)
