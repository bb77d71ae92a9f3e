"""One frozen event for each thing that happens in a run. `Agent.stream` yields them; sinks listen to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from toolhand.core.errors import ToolError
from toolhand.core.messages import Reply, ToolCall, ToolResult, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The model is about to be asked."""

    turn: int
    protocol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the text that is meant for the user, as it streams in."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplied:
    """A whole reply was read.

    Args:
        turn: which turn of the run, from 1.
        reply: what was understood.
        raw: the text as the model wrote it.
        usage: tokens of this turn.
    """

    turn: int
    reply: Reply
    raw: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingMended:
    """A reply was read only with liberties, or not at all: what a drift log collects.

    Args:
        raw: the text as the model wrote it.
        problems: what could not be read.
        calls: the calls whose `fixes` are not empty.
    """

    raw: str
    problems: tuple[ToolError, ...]
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A call is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A call has ended, one way or the other."""

    call: ToolCall
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed:
    """A tool raised: what a log keeps and a model never sees.

    Args:
        call: the call.
        exception: the exception, with its traceback.
    """

    call: ToolCall
    exception: BaseException


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """A limit was hit; the model is asked for its best answer from what it has.

    Args:
        limit: which one, as in `Run.stopped`.
    """

    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The run has ended.

    Args:
        run: the `Run`.
    """

    run: Any


Event: TypeAlias = (
    TurnStarted
    | TextDelta
    | ModelReplied
    | ReadingMended
    | CallStarted
    | CallFinished
    | CallFailed
    | LimitReached
    | RunFinished
)
