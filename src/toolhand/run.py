"""What a run is bounded by, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from toolhand.core.messages import Message, ToolCall, ToolResult, Usage

Stopped = Literal[
    "answered", "turn_limit", "call_limit", "token_limit", "time_limit", "repair_limit", "no_answer"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a run may go. At a limit the model is asked for its best answer from what it has.

    Args:
        turns: model replies.
        calls: tool calls.
        tokens: tokens of prompts and replies together, as the server counts them.
        seconds: wall-clock seconds.
        repairs: replies in a row that could not be used at all.
    """

    turns: int = 20
    calls: int | None = 100
    tokens: int | None = None
    seconds: float | None = None
    repairs: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One user message and all that came of it.

    Args:
        output: the answer.
        stopped: why it ended: "answered", or the limit that was hit.
        messages: the session's whole history, this run's messages last.
        new_messages: only this run's messages.
        calls: every call that was asked for, in order; a broken one has a `problem`.
        results: their results, in the same order.
        usage: tokens and requests.
        session_id: the session.
        trace_id: the mark on the run's events.
    """

    output: Any
    stopped: Stopped
    messages: tuple[Message, ...]
    new_messages: tuple[Message, ...]
    usage: Usage
    session_id: str
    trace_id: str
    calls: tuple[ToolCall, ...] = field(default=())
    results: tuple[ToolResult, ...] = field(default=())

    @property
    def text(self) -> str:
        """The answer as text."""
        return self.output if isinstance(self.output, str) else str(self.output)
