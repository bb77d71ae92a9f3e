"""Tells of what a tool raised; in a program that has set up no logging on stderr too: else nobody would learn of a mistake in it.

It goes the way of the standard library's last resort (`logging.lastResort`), which the package's `NullHandler` keeps from working
by itself. What a model got wrong stays quiet, and so does what may pass by itself.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolhand.core.context import RunContext
from toolhand.core.events import CallFailed
from toolhand.core.language import say
from toolhand.core.lazily import lazy_pattern
from toolhand.core.messages import BoundCall
from toolhand.core.plain import plain
from toolhand.policies.redaction.echoes import echoes_of, sensitive_names, stray_names
from toolhand.policies.redaction.walk import redacted

_CALLS: Final = logging.getLogger("toolhand.calls")
_MOST_READ: Final = 16_000
_MOST_TEXT: Final = 500
_MOST_TRACEBACK: Final = 4_000
_PACKAGE: Final = str(Path(__file__).parents[2])
_FRAME: Final = lazy_pattern(r'File "([^"\n]{1,500})", line (\d{1,9})')


def tell_failed(
    call: BoundCall, context: RunContext, error: BaseException, *, is_expected: bool = False
) -> None:
    """Emits `CallFailed`, and writes one line to stderr where the program's author has to know and no handler listens.

    Args:
        call: the call.
        context: the run's.
        error: what was raised, with its traceback.
        is_expected: whether nothing has to be mended in the program (see `CallFailed`).
    """
    event = CallFailed(call=call.call, exception=error, tool=call.tool, is_expected=is_expected)
    context.emit(event)
    last = logging.lastResort
    if is_expected or last is None or not _CALLS.isEnabledFor(logging.ERROR) or _is_heard():
        return
    text = plain(sentence(call, error))
    last.handle(_CALLS.makeRecord(_CALLS.name, logging.ERROR, "(toolhand)", 0, "%s", (text,), None))


def _is_heard() -> bool:
    """Whether a handler writes what the calls' log says."""
    logger: logging.Logger | None = _CALLS
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def sentence(call: BoundCall, error: BaseException) -> str:
    """What was raised and where, masked; the traceback where no line of the tool's own file is in it."""
    names = sensitive_names(call.tool) | stray_names(call.call.arguments, call.tool)
    echoes = echoes_of(call.call.arguments, names)

    def masked(text: str) -> str:
        return str(redacted(text[-_MOST_READ:], sensitive=names, echoes=echoes))

    what = type(error).__name__
    try:
        text = " ".join(masked(str(error)[:_MOST_READ])[:_MOST_TEXT].split())
        whole = "".join(traceback.TracebackException.from_exception(error, compact=True).format())
    except Exception:  # noqa: BLE001 - an exception's own text may do anything
        text = whole = ""
    if hasattr(error, "fault"):  # raised in a tool's own process: its text begins with the type
        what, _, text = text.partition(": ")
    place, name = place_of(error), call.tool.name
    said = say(
        f"the tool '{name}' raised {what}{f' ({place})' if place else ''}{': ' if text else ''}{text}",
        f"工具“{name}”抛出 {what}{f'（{place}）' if place else ''}{'：' if text else ''}{text}",
    )
    return said if place else f"{said}\n{masked(whole)[-_MOST_TRACEBACK:]}".rstrip()


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
