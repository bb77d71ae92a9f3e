"""The events of a plan; `toolhand.core.events` counts them among all others."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.core.errors import ToolError
from toolhand.core.messages import ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStarted:
    """A plan is about to run. Its calls have ids that begin with `plan_id`.

    Args:
        plan_id: the id of the call that carries the plan.
        source: the plan, in its one spelling.
    """

    plan_id: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished:
    """A step of a plan has ended, one way or the other.

    Args:
        plan_id: which plan.
        path: its place, such as "4[2].1"; with ".undo" behind it when it was undone.
        line: its line, from 1.
        call: its call, with the values that it was given.
        result: what came of it.
        save_as: the variable that keeps the result, or "".
    """

    plan_id: str
    path: str
    line: int
    call: ToolCall
    result: ToolResult
    save_as: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFinished:
    """A plan has ended.

    Args:
        plan_id: which plan.
        ending: "answered", "done", "failed", "stopped" or "waiting" (for a person).
        error: why it failed or waits.
    """

    plan_id: str
    ending: str
    error: ToolError | None = None
