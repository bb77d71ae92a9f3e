"""What a tool tells while it works."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.core.messages import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgressed:
    """A tool says how far it has got.

    Args:
        call: the call that is running.
        done: how much is done, in the tool's own unit; it only grows.
        total: how much there is to do, or None where that is not known.
        message: one line for a person.
    """

    call: ToolCall
    done: float
    total: float | None = None
    message: str = ""
