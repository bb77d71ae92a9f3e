"""How a plan runs, and how it ended: the values of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolhand.core.errors import ToolError
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.parsing.plans.nodes import Step

Ending = Literal["answered", "done", "failed", "stopped", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a plan runs.

    Args:
        rounds: the most items that a loop may go over.
        calls: the most calls in all.
        undo: whether a plan that fails undoes its finished writing steps by itself, the last first.
        is_dry: whether only tools that read are run; a writing step is told, and its result stays open.
    """

    rounds: int = 50
    calls: int = 200
    undo: bool = False
    is_dry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One step that has ended.

    Args:
        path: its place: "3", "4[2].1" for the first step in the second round of a loop, "5b.1" in an `if`'s second branch.
        step: the step.
        call: its call, with the values that it was given; None for a step without a tool.
        result: how it ended; None where nothing ran.
        skipped: why nothing ran, or "".
    """

    path: str
    step: Step
    call: ToolCall | None = None
    result: ToolResult | None = None
    skipped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What became of a step that was to be undone: the undoing call and its result, or why there was none."""

    path: str
    call: ToolCall | None = None
    result: ToolResult | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a plan ended.

    Args:
        ending: "answered" (by `return`), "done", "failed", "stopped" or "waiting" (for a person).
        answer: what `return` gave.
        done: the steps that ended, in order.
        error: why it failed or waits.
        undone: what was undone, in that order.
        variables: what every variable held at the end.
    """

    ending: Ending
    answer: Any = None
    done: tuple[Done, ...] = ()
    error: ToolError | None = None
    undone: tuple[Undone, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
