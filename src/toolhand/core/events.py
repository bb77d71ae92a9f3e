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
class CallRetried:
    """A call failed in passing and will be tried again.

    Args:
        call: the call.
        error: why the last attempt failed.
        attempt: which attempt that was, from 1.
        wait_seconds: how long until the next.
    """

    call: ToolCall
    error: ToolError
    attempt: int
    wait_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitChanged:
    """A tool was taken out because it kept failing, or is back.

    Args:
        name: the tool, or what it shares with others (`rules.upstream`).
        state: "open" or "closed".
        retry_after: seconds until it is tried again; 0 when closed.
    """

    name: str
    state: str
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackTaken:
    """A tool failed and another was asked instead.

    Args:
        call: the call that failed.
        error: why.
        fallback: the name of the tool that is asked now.
    """

    call: ToolCall
    error: ToolError
    fallback: str


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
    | CallRetried
    | CircuitChanged
    | FallbackTaken
    | LimitReached
    | RunFinished
)
