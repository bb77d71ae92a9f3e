"""Structured lines through the standard library's `logging`: one for each end of a call, each liberty, each retry.

Loggers: "toolhand.runs", "toolhand.calls", "toolhand.reading", "toolhand.circuits". No handler is set up here; without one
nothing is printed. Each line has `trace_id`, `session_id`, `user` and `turn`, in its text (`key=value`) and as fields of the
record, which `JsonFormatter` writes as one JSON object. Arguments, results and exceptions are masked and cut.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolhand.arguments.keys import fold
from toolhand.core.choice_events import ToolsChosen
from toolhand.core.context import RunContext
from toolhand.core.events import (
    AskedAgain,
    CallCancelled,
    CallFailed,
    CallFinished,
    CallRetried,
    CallStarted,
    CircuitChanged,
    Event,
    FallbackTaken,
    LimitReached,
    ModelReplaced,
    ModelReplied,
    ModelRetried,
    ReadingMended,
    RunFailed,
    RunFinished,
    RunStarted,
    SteppedDown,
    SteppedUp,
    TurnStarted,
)
from toolhand.core.history_events import HistoryHealed, HistoryTrimmed
from toolhand.core.messages import Fix, ToolCall
from toolhand.core.plan_events import PlanFinished, PlanStarted, StepFinished
from toolhand.core.tools import Tool
from toolhand.observability.excerpts import PLAIN, Excerpts
from toolhand.observability.log_lines import JsonFormatter
from toolhand.observability.log_lines import write as _write
from toolhand.observability.outcomes import attempts, outcome

__all__ = ["EventLog", "JsonFormatter"]

RUNS: Final = logging.getLogger("toolhand.runs")
CALLS: Final = logging.getLogger("toolhand.calls")
READING: Final = logging.getLogger("toolhand.reading")
CIRCUITS: Final = logging.getLogger("toolhand.circuits")

_MOST_TEXT: Final = 1_000
_MOST_RAW: Final = 4_000
_MOST_TRACEBACK: Final = 8_000
_MOST_NAME: Final = 80
"""A name that no tool has is the model's own words."""


class EventLog:
    """Writes events to `logging`. It costs a look at a level where nobody listens.

    Levels: DEBUG for what happens all the time (turns, replies, calls that begin, results), INFO for a call's end and for
    liberties, WARNING for a call that failed, a retry, a reply that could not be read, a circuit that opened, a limit, an
    argument that a model sent for what only the program may say; ERROR for what a tool raised.
    """

    def __call__(self, event: Event, context: RunContext) -> None:
        """Takes one event."""
        line = _LINES.get(type(event))
        if line is not None:
            line(event, context)


def _name(name: str, tool: Tool | None) -> str:
    return name if tool is not None else PLAIN.text(name, _MOST_NAME)


def _run_started(event: RunStarted, context: RunContext) -> None:
    if RUNS.isEnabledFor(logging.DEBUG):
        text = PLAIN.text(event.text, _MOST_TEXT)
        _write(RUNS, logging.DEBUG, "run started", context, model=event.model, agent=event.agent, text=text)


def _turn_started(event: TurnStarted, context: RunContext) -> None:
    if RUNS.isEnabledFor(logging.DEBUG):
        _write(RUNS, logging.DEBUG, "turn started", context, model=event.model, protocol=event.protocol)


def _model_replied(event: ModelReplied, context: RunContext) -> None:
    if RUNS.isEnabledFor(logging.DEBUG):
        _write(
            RUNS,
            logging.DEBUG,
            "model replied",
            context,
            calls=len(event.reply.calls),
            problems=len(event.reply.problems),
            finish_reason=event.finish_reason,
            input_tokens=event.usage.input_tokens,
            output_tokens=event.usage.output_tokens,
        )


def _history_changed(event: HistoryTrimmed | HistoryHealed, context: RunContext) -> None:
    if isinstance(event, HistoryHealed):
        mended = " ".join(f"{repair.kind}@{repair.place}" for repair in event.repairs[:50])
        _write(RUNS, logging.WARNING, "history healed", context, repairs=mended)
    elif RUNS.isEnabledFor(logging.INFO):
        left_out = event.left_out
        _write(RUNS, logging.INFO, "history trimmed", context, messages=event.messages, left_out=left_out)


def _tools_chosen(event: ToolsChosen, context: RunContext) -> None:
    if event.fault:
        _write(RUNS, logging.WARNING, "tools chosen without vectors", context, fault=event.fault)
    if RUNS.isEnabledFor(logging.INFO):
        new, shown = len(event.names), event.shown
        _write(RUNS, logging.INFO, "tools chosen", context, reason=event.reason, new=new, shown=shown)


def _plan(event: PlanStarted | PlanFinished, context: RunContext) -> None:
    ending = event.ending if isinstance(event, PlanFinished) else ""
    level = logging.WARNING if ending == "failed" else logging.INFO
    if RUNS.isEnabledFor(level):
        what = "plan finished" if ending else "plan started"
        _write(RUNS, level, what, context, plan=event.plan_id, ending=ending)


def _step_finished(event: StepFinished, context: RunContext) -> None:
    if RUNS.isEnabledFor(logging.DEBUG):
        found = "ok" if event.result.ok else str(event.result.error.code if event.result.error else "")
        _write(
            RUNS, logging.DEBUG, "step finished", context, plan=event.plan_id, step=event.path, outcome=found
        )


def _limit_reached(event: LimitReached, context: RunContext) -> None:
    if RUNS.isEnabledFor(logging.WARNING):
        _write(RUNS, logging.WARNING, "limit reached", context, limit=event.limit)


def _run_finished(event: RunFinished, context: RunContext) -> None:
    if RUNS.isEnabledFor(logging.INFO):
        usage = event.run.usage
        _write(
            RUNS,
            logging.INFO,
            "run finished",
            context,
            stopped=event.run.stopped,
            calls=len(event.run.calls),
            requests=usage.requests,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
        )


def _run_failed(event: RunFailed, context: RunContext) -> None:
    error = event.exception
    level = (
        logging.ERROR if isinstance(error, Exception) else logging.INFO
    )  # a cancelled run is nobody's fault
    if RUNS.isEnabledFor(level):
        kind, text = type(error).__name__, PLAIN.exception(error, _MOST_TEXT)
        _write(RUNS, level, "run failed", context, exception=kind, text=text)


def _model_failed(event: ModelRetried | ModelReplaced, context: RunContext) -> None:
    if RUNS.isEnabledFor(logging.WARNING):
        fields: dict[str, Any] = {"model": event.model, "text": PLAIN.exception(event.error, _MOST_TEXT)}
        if isinstance(event, ModelRetried):
            fields |= {"attempt": event.attempt, "wait_seconds": round(event.wait_seconds, 3)}
            _write(RUNS, logging.WARNING, "model will be asked again", context, **fields)
        else:
            _write(
                RUNS, logging.WARNING, "another model is asked", context, **fields, fallback=event.fallback
            )


def _mended(event: ReadingMended, context: RunContext) -> None:
    """What could not be read. What was mended in a call that can run is told when it runs."""
    if not event.problems or not READING.isEnabledFor(logging.WARNING):
        return
    excerpts = Excerpts.of_reading(event)
    _write(
        READING,
        logging.WARNING,
        "reply could not be read",
        context,
        problems=",".join(str(problem.code) for problem in event.problems),
        messages=[excerpts.text(problem.message, _MOST_TEXT) for problem in event.problems],
        raw=excerpts.text(event.raw, _MOST_RAW),
        sent=[
            {
                "name": PLAIN.text(call.name, _MOST_NAME),
                "arguments": excerpts.value(call.arguments, _MOST_TEXT),
            }
            for call in event.raw_calls
        ],
    )


def _call_started(event: CallStarted, context: RunContext) -> None:
    if event.call.fixes and READING.isEnabledFor(logging.WARNING):
        for fix in event.call.fixes:
            _fix(fix, event.call, event.tool, context)
    if CALLS.isEnabledFor(logging.DEBUG):
        excerpts = Excerpts.of(event.tool, event.call.arguments)
        arguments = excerpts.value(event.call.arguments, _MOST_TEXT)
        _write(
            CALLS, logging.DEBUG, "call started", context, **_of(event.call, event.tool), arguments=arguments
        )


def _fix(fix: Fix, call: ToolCall, tool: Tool | None, context: RunContext) -> None:
    name = fix.path.removeprefix("$").lstrip(".")
    is_meddling = (
        fix.kind == "extra_dropped"
        and tool is not None
        and fold(name.strip('["]')) in {fold(parameter) for parameter in tool.injected}
    )
    level = logging.WARNING if is_meddling else logging.INFO
    if not READING.isEnabledFor(level):
        return
    excerpts = Excerpts.of(tool, {name: fix.before})
    _write(
        READING,
        level,
        "argument of the program's own ignored" if is_meddling else "call mended",
        context,
        **_of(call, tool),
        fix=fix.kind,
        path=PLAIN.text(fix.path, _MOST_NAME),
        before=excerpts.named(name, fix.before, _MOST_NAME),
        after=excerpts.named(name, fix.after, _MOST_NAME),
    )


def _of(call: ToolCall, tool: Tool | None) -> dict[str, Any]:
    return {"call_id": call.id, "tool": _name(call.name, tool)}


def _call_finished(event: CallFinished, context: RunContext) -> None:
    call, result = event.call, event.result
    level = logging.INFO if result.ok else logging.WARNING
    if not CALLS.isEnabledFor(level):
        return
    fields: dict[str, Any] = {
        **_of(call, event.tool),
        "outcome": outcome(event),
        "seconds": round(event.seconds, 6),
        "attempts": attempts(result),
        "fixes": len(call.fixes),
    }
    excerpts = Excerpts.of(event.tool, call.arguments)
    if result.error is not None:
        fields["error"] = excerpts.text(result.error.message, _MOST_TEXT)
    for note in ("fallback", "repeat_of", "exception"):
        if note in result.notes:
            fields[note] = str(result.notes[note])
    if CALLS.isEnabledFor(logging.DEBUG):
        if event.tool is not None:  # of an unknown tool nobody has said what is sensitive
            fields["arguments"] = excerpts.value(call.arguments, _MOST_TEXT)
        if result.ok:
            fields["result"] = excerpts.value(result.data, _MOST_TEXT)
    _write(CALLS, level, "call finished", context, **fields)


def _call_cancelled(event: CallCancelled, context: RunContext) -> None:
    end = outcome(event)
    if CALLS.isEnabledFor(logging.WARNING):
        fields = _of(event.call, event.tool)
        _write(
            CALLS,
            logging.WARNING,
            "call cancelled",
            context,
            **fields,
            outcome=end,
            seconds=round(event.seconds, 6),
        )


def _call_failed(event: CallFailed, context: RunContext) -> None:
    if CALLS.isEnabledFor(logging.ERROR):
        excerpts, error = Excerpts.of(event.tool, event.call.arguments), event.exception
        _write(
            CALLS,
            logging.ERROR,
            "tool raised",
            context,
            traceback=excerpts.traceback(error, _MOST_TRACEBACK),
            **_of(event.call, event.tool),
            exception=type(error).__name__,
            text=excerpts.exception(error, _MOST_TEXT),
        )


def _call_retried(event: CallRetried, context: RunContext) -> None:
    if CALLS.isEnabledFor(logging.WARNING):
        _write(
            CALLS,
            logging.WARNING,
            "call will be tried again",
            context,
            call_id=event.call.id,
            tool=event.call.name,
            outcome=str(event.error.code),
            attempt=event.attempt,
            wait_seconds=round(event.wait_seconds, 3),
        )


def _fallback_taken(event: FallbackTaken, context: RunContext) -> None:
    if CALLS.isEnabledFor(logging.WARNING):
        _write(
            CALLS,
            logging.WARNING,
            "fallback taken",
            context,
            call_id=event.call.id,
            tool=event.call.name,
            outcome=str(event.error.code),
            fallback=event.fallback,
        )


def _circuit_changed(event: CircuitChanged, context: RunContext) -> None:
    level = logging.INFO if event.state == "closed" else logging.WARNING
    if CIRCUITS.isEnabledFor(level):
        wait = round(event.retry_after, 3)
        _write(
            CIRCUITS,
            level,
            "circuit changed",
            context,
            circuit=event.name,
            state=event.state,
            retry_after=wait,
        )


def _stepped(event: SteppedDown | SteppedUp | AskedAgain, context: RunContext) -> None:
    level = logging.WARNING if isinstance(event, SteppedDown) else logging.INFO
    if RUNS.isEnabledFor(level):
        fields: dict[str, Any] = {name: getattr(event, name) for name in event.__slots__ if name != "usage"}
        _write(RUNS, level, _STEPS[type(event)], context, **fields)


_STEPS: Final[Mapping[type, str]] = {
    SteppedDown: "stepped down to a looser protocol",
    SteppedUp: "trying the stricter protocol again",
    AskedAgain: "asked again",
}


_LINES: Final[Mapping[type, Callable[[Any, RunContext], None]]] = {
    RunStarted: _run_started,
    TurnStarted: _turn_started,
    ModelReplied: _model_replied,
    ModelRetried: _model_failed,
    ModelReplaced: _model_failed,
    HistoryTrimmed: _history_changed,
    HistoryHealed: _history_changed,
    ToolsChosen: _tools_chosen,
    PlanStarted: _plan,
    StepFinished: _step_finished,
    PlanFinished: _plan,
    LimitReached: _limit_reached,
    RunFinished: _run_finished,
    RunFailed: _run_failed,
    ReadingMended: _mended,
    CallStarted: _call_started,
    CallFinished: _call_finished,
    CallCancelled: _call_cancelled,
    CallFailed: _call_failed,
    CallRetried: _call_retried,
    FallbackTaken: _fallback_taken,
    CircuitChanged: _circuit_changed,
    SteppedDown: _stepped,
    SteppedUp: _stepped,
    AskedAgain: _stepped,
}
"""What a line says, by the kind of event; pieces of text as they stream in are left out."""
