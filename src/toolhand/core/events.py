"""One frozen event for each thing that happens in a run. `Agent.stream` yields them; sinks listen to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from toolhand.core.call_events import CallProgressed
from toolhand.core.choice_events import ToolsChosen
from toolhand.core.errors import ModelError, ToolError
from toolhand.core.history_events import HistoryHealed, HistoryTrimmed, Repair  # noqa: F401 - for those who listen
from toolhand.core.messages import FinishReason, ModelRequest, RawCall, Reply, ToolCall, ToolResult, Usage
from toolhand.core.plan_events import PlanFinished, PlanStarted, StepFinished
from toolhand.core.tools import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run begins. It ends with `RunFinished` or `RunFailed`.

    Args:
        text: what the user said.
        model: the model's name.
        agent: the agent's name, where it has one.
        tools: the tools that it may call.
    """

    text: str = ""
    model: str = ""
    agent: str = ""
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The model is about to be asked.

    Args:
        turn: which turn of the run, from 1.
        protocol: how calls are written down.
        model: the model's name.
        request: what it is asked.
    """

    turn: int
    protocol: str
    model: str = ""
    request: ModelRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the text that is meant for the user, as it streams in."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRetried:
    """A request to a model failed in passing and will be sent again.

    Args:
        model: the model's name.
        error: why the last attempt failed.
        attempt: which attempt that was, from 1.
        wait_seconds: how long until the next.
    """

    model: str
    error: ModelError
    attempt: int
    wait_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplaced:
    """A model failed for good and another one is asked instead.

    Args:
        model: the name of the one that failed.
        error: why.
        fallback: the name of the one that is asked now.
    """

    model: str
    error: Exception
    fallback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplied:
    """A whole reply was read.

    Args:
        turn: which turn of the run, from 1.
        reply: what was understood.
        raw: the text as the model wrote it.
        usage: tokens of this turn.
        raw_calls: the structured calls as the server sent them.
        finish_reason: why the model stopped.
    """

    turn: int
    reply: Reply
    raw: str
    usage: Usage
    raw_calls: tuple[RawCall, ...] = ()
    finish_reason: FinishReason = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingMended:
    """A reply was read only with liberties, or not at all: what a drift log collects.

    Args:
        raw: the text as the model wrote it.
        problems: what could not be read.
        calls: the reply's calls, whether they had to be mended or not; a broken one has a `problem`.
        raw_calls: the structured calls as the server sent them.
        model: the model's name.
        protocol: how it was asked to write calls down.
        tools: the tools that it could call.
    """

    raw: str
    problems: tuple[ToolError, ...]
    calls: tuple[ToolCall, ...]
    raw_calls: tuple[RawCall, ...] = ()
    model: str = ""
    protocol: str = ""
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A call is about to run.

    Args:
        call: the call.
        tool: its tool: what must not be shown of it, and what it costs.
    """

    call: ToolCall
    tool: Tool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeeded:
    """A call waits for a person; the run will stop with "approval".

    Args:
        pending: the `PendingCall`.
    """

    pending: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A call has ended, one way or the other.

    Args:
        call: the call.
        result: what came of it.
        seconds: how long it took, waits and attempts included.
        tool: its tool, where there is one of that name.
    """

    call: ToolCall
    result: ToolResult
    seconds: float
    tool: Tool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCancelled:
    """The run was stopped while a call was under way: there is no `CallFinished` for it.

    Args:
        call: the call.
        seconds: how long it had taken.
        tool: its tool.
    """

    call: ToolCall
    seconds: float
    tool: Tool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed:
    """A tool raised: what a log keeps and a model never sees.

    Args:
        call: the call.
        exception: the exception, with its traceback.
        tool: its tool.
        is_expected: whether nothing has to be mended in the program: a reading tool says what is wrong with what was asked, or
            what failed may pass by itself.
    """

    call: ToolCall
    exception: BaseException
    tool: Tool | None = None
    is_expected: bool = False


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
class SteppedDown:
    """The model failed at a protocol: from now on this session uses a looser one.

    Args:
        protocol: the one that it failed at.
        next_protocol: the one that is used now.
        reason: "unusable" (replies in a row that could not be used), "refused" (the server cannot do it), "on trial"
            (it was only tried again), or "chain" (the task needs steps that lead to one another: they are planned at once).
    """

    protocol: str
    next_protocol: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedUp:
    """All went well for a while: the stricter protocol is tried again.

    Args:
        protocol: the one that went well.
        next_protocol: the one that is tried now.
        reason: "recovered".
    """

    protocol: str
    next_protocol: str
    reason: str = "recovered"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAgain:
    """A reply was doubtful, and the model was asked further in the same turn.

    Args:
        reason: what was doubtful, such as "fit": whether a tool fits at all.
        sure: how sure it is after the question that a call is meant, 0 to 1.
        is_kept: whether the reply counts after all; else the model was asked for another.
        usage: tokens of the question.
    """

    reason: str
    sure: float
    is_kept: bool
    usage: Usage


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed:
    """The run ended without an answer: its model failed, or it was cancelled.

    Args:
        exception: why.
    """

    exception: BaseException


Event: TypeAlias = (
    RunStarted
    | TurnStarted
    | TextDelta
    | ModelRetried
    | ModelReplaced
    | ModelReplied
    | ReadingMended
    | CallStarted
    | ApprovalNeeded
    | CallFinished
    | CallCancelled
    | CallFailed
    | CallProgressed
    | CallRetried
    | CircuitChanged
    | FallbackTaken
    | SteppedDown
    | SteppedUp
    | AskedAgain
    | HistoryTrimmed
    | HistoryHealed
    | ToolsChosen
    | PlanStarted
    | StepFinished
    | PlanFinished
    | LimitReached
    | RunFinished
    | RunFailed
)
