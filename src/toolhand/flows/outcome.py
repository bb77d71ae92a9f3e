"""What a chain or a router gives, and what a step is handed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolhand.core.errors import ToolError
from toolhand.core.messages import ToolResult, Usage
from toolhand.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What has come so far.

    Args:
        value: what the step before gave; at the first step what the chain was given.
        first: what the chain was given.
        outputs: what each step gave, by name.
    """

    value: Any
    first: Any
    outputs: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.outputs[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One step, or the route that was taken.

    Args:
        name: its name.
        output: what it gave.
        stopped: "answered"; "skipped"; "error" with an `error`; or why an agent stopped, such as "turn_limit" or "approval".
        error: what went wrong.
        run: an agent's `Run`, a tool's `ToolResult`, an inner `FlowRun`; None where nothing ran.
        seconds: how long it took.
        reason: why a router took this route.
    """

    name: str
    output: Any = None
    stopped: str = "answered"
    error: ToolError | None = None
    run: Run[Any] | ToolResult | FlowRun | None = None
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRun:
    """A chain's or a router's run.

    Args:
        output: what the last step gave.
        stopped: "answered" when all went well, else why the last step stopped.
        error: what went wrong.
        steps: what ran, in order.
    """

    output: Any
    stopped: str
    error: ToolError | None
    steps: tuple[StepRun, ...]

    @property
    def ok(self) -> bool:
        """Whether all went well."""
        return self.stopped == "answered"

    @property
    def text(self) -> str:
        """The output as text; the error's sentence where there is none."""
        if self.output is None and self.error is not None:
            return self.error.sentence
        return (
            self.output if isinstance(self.output, str) else "" if self.output is None else str(self.output)
        )

    @property
    def usage(self) -> Usage:
        """The tokens of all steps."""
        total = Usage()
        for step in self.steps:
            if isinstance(step.run, Run | FlowRun):
                total += step.run.usage
        return total
