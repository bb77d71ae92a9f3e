"""Tools with rules and the events of their calls, for the tests of sinks."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from toolhand import RunContext, Tool, tool
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import CallCancelled, CallFailed, CallFinished, CallStarted
from toolhand.core.messages import ToolCall, ToolResult, Value

_NUMBERS = itertools.count(1)

CONTEXT = RunContext(user="ann", session_id="s1", trace_id="t" * 32, turn=2)


def made(name: str = "get_price", **rules: Any) -> Tool:
    def function(item: str = "", phone: str = "") -> str:
        """Does something."""
        return "fine"

    plain = replace(tool(function), name=name)
    return replace(plain, rules=replace(plain.rules, **rules))


def call_of(of: Tool, **arguments: Any) -> ToolCall:
    return ToolCall(id=f"c{next(_NUMBERS)}", name=of.name, arguments=arguments)


def started(of: Tool, call: ToolCall | None = None) -> CallStarted:
    return CallStarted(call=call or call_of(of), tool=of)


def finished(
    of: Tool | None,
    call: ToolCall | None = None,
    outcome: Any = "fine",
    *,
    seconds: float = 0.01,
    **notes: Any,
) -> CallFinished:
    call = call or (call_of(of) if of else ToolCall(id="c0", name="no_such_tool"))
    error = failure(outcome) if isinstance(outcome, ErrorCode) else None
    result = ToolResult(call_id=call.id, name=call.name, outcome=error or Value(outcome), notes=notes)
    if of is None:
        call = replace(call, problem=error)
    return CallFinished(call=call, result=result, seconds=seconds, tool=of)


def failure(code: ErrorCode, message: str = "It did not work.") -> ToolError:
    return ToolError(code=code, message=message)


def cancelled(of: Tool, call: ToolCall | None = None) -> CallCancelled:
    return CallCancelled(call=call or call_of(of), seconds=0.5, tool=of)


def raised(of: Tool, error: BaseException, call: ToolCall | None = None) -> CallFailed:
    return CallFailed(call=call or call_of(of), exception=caught(error), tool=of)


def caught(error: BaseException) -> BaseException:
    """The exception as one has it that was raised: with a traceback."""

    def fails() -> None:
        raise error

    try:
        fails()
    except BaseException:
        return error
    raise AssertionError(error)


class Lines(logging.Handler):
    """Keeps what was logged, as records and as text."""

    def __init__(self, formatter: logging.Formatter | None = None) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.lines: list[str] = []
        self.setFormatter(formatter or logging.Formatter("%(levelname)s %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.lines.append(self.format(record))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@contextmanager
def logged(level: int = logging.INFO, formatter: logging.Formatter | None = None) -> Iterator[Lines]:
    """What the package logs inside."""
    logger, lines = logging.getLogger("toolhand"), Lines(formatter)
    before = logger.level
    logger.addHandler(lines)
    logger.setLevel(level)
    try:
        yield lines
    finally:
        logger.removeHandler(lines)
        logger.setLevel(before)
