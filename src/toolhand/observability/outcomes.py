"""How a call ended, in the words that logs, metrics, traces and the audit share."""

from __future__ import annotations

from typing import Final

from toolhand.core.errors import ErrorCode
from toolhand.core.events import CallCancelled, CallFinished
from toolhand.core.messages import ToolResult

OK: Final = "ok"

LET_GO: Final = "let_go"
"""The note on the result of a call that was let go before it ran, as its user has said something new meanwhile."""

NOT_BOUND: Final = frozenset({
    ErrorCode.UNKNOWN_TOOL, ErrorCode.MISSING_ARGUMENT, ErrorCode.INVALID_ARGUMENT, ErrorCode.INVALID_JSON,
    ErrorCode.UNPARSEABLE, ErrorCode.TRUNCATED, ErrorCode.DOUBTFUL,
})  # fmt: skip
"""What a model got wrong: the call never came as far as the policies."""

_HELD_BACK: Final = frozenset({
    ErrorCode.NOT_ALLOWED, ErrorCode.NOT_PERMITTED, ErrorCode.APPROVAL_REQUIRED, ErrorCode.APPROVAL_DENIED,
    ErrorCode.PRECONDITION_FAILED, ErrorCode.REPEATED_CALL, ErrorCode.CIRCUIT_OPEN,
})  # fmt: skip


def outcome(event: CallFinished | CallCancelled) -> str:
    """The word for it: "ok", or the code of the error."""
    if isinstance(event, CallFinished):
        error = event.result.error
        return OK if error is None else str(error.code)
    is_harmless = event.tool is not None and event.tool.repeatable
    return str(ErrorCode.CANCELLED if is_harmless else ErrorCode.OUTCOME_UNKNOWN)


def attempts(result: ToolResult) -> int:
    """How often the tool was tried."""
    count = result.notes.get("attempts", 1)
    return count if isinstance(count, int) else 1


def has_run(result: ToolResult) -> bool:
    """Whether the call came as far as the tool, as far as its result tells.

    A refusal for too many calls looks like a service's own: the latter comes from an exception, whose type is noted.
    """
    if "repeat_of" in result.notes or "repeated" in result.notes or LET_GO in result.notes:
        return False  # answered from memory, or not at all
    error = result.error
    if error is None:
        return True
    if error.code is ErrorCode.RATE_LIMITED:
        return "exception" in result.notes
    return error.code not in NOT_BOUND and error.code not in _HELD_BACK
