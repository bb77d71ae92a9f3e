"""Errors, of two kinds that never mix.

What a *model* got wrong, or what went wrong while running an errand for it, is a value: `ToolError`. It travels inside a
`ToolResult` and is worded so that a model can act on it. What a *programmer* or an operator got wrong is an exception:

    ToolhandError
    ├── ToolDefinitionError     a function cannot be described as a tool
    ├── UnknownToolError        a toolset was asked for a tool that it does not hold
    ├── SettingsError           a setting, a model name or a file that cannot be used
    │   └── SessionError        a session is somebody else's, is in use, is unknown, or was taken over
    ├── StoreError              the place where sessions are kept failed: gone, full, read-only, too new
    ├── ToolFailure             raised by a tool on purpose: its text is for the model
    ├── FatalError              raised by a tool to end the whole run
    ├── MissingExtraError       an optional dependency is not installed
    ├── WeightsError            a model's weights are missing, damaged or cannot be fetched
    └── ModelError              the model's server failed (fault, status, retryable, retry_after)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from toolhand.core.language import Language, say

if TYPE_CHECKING:
    from collections.abc import Mapping


class ErrorCode(StrEnum):
    """Every code that a `ToolError` can carry. The values are stable; new ones may be added."""

    UNKNOWN_TOOL = "unknown_tool"
    """No tool has that name."""
    MISSING_ARGUMENT = "missing_argument"
    """A required argument was not sent."""
    INVALID_ARGUMENT = "invalid_argument"
    """An argument has the wrong type or a value that is not allowed."""
    INVALID_JSON = "invalid_json"
    """The arguments of a structured call are not JSON and could not be mended."""
    UNPARSEABLE = "unparseable"
    """A call was meant, but its text could not be read."""
    TRUNCATED = "truncated"
    """The output was cut off inside a call."""
    DOUBTFUL = "doubtful"
    """It is not clear that a call was meant, and the tool changes something."""
    NOT_ALLOWED = "not_allowed"
    """The request's tool_choice does not allow this tool, or any tool."""
    NOT_PERMITTED = "not_permitted"
    """The user may not call this tool."""
    APPROVAL_REQUIRED = "approval_required"
    """A person has to agree first; the call did not run."""
    APPROVAL_DENIED = "approval_denied"
    """A person did not agree."""
    PRECONDITION_FAILED = "precondition_failed"
    """Something has to be done before this call."""
    POSTCONDITION_FAILED = "postcondition_failed"
    """The tool ran, but its result is not what it has to be."""
    REPEATED_CALL = "repeated_call"
    """The same call was made before, and making it again would help nobody."""
    RATE_LIMITED = "rate_limited"
    """Too many calls in a time."""
    CIRCUIT_OPEN = "circuit_open"
    """The tool has failed too often and is left alone for a while."""
    TIMEOUT = "timeout"
    """The tool did not finish in time."""
    NETWORK = "network"
    """A connection failed."""
    UPSTREAM = "upstream"
    """A service behind the tool answered with an error."""
    EXECUTION = "execution"
    """The tool raised an exception."""
    RESULT_TOO_LARGE = "result_too_large"
    """The result could not be made small enough."""
    OUTCOME_UNKNOWN = "outcome_unknown"
    """The tool may or may not have had its effect."""
    CANCELLED = "cancelled"
    """The run was stopped before the call ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """What went wrong with a call, as a value that a model can act on.

    Args:
        code: one of `ErrorCode`.
        message: one sentence for the model. Never the text of a tool's own exception.
        retryable: whether the same call may succeed later, or a mended one now.
        path: where in the arguments, as a JSON path from `$`.
        hint: what to do instead, where that is known.
        details: facts for a program, such as `retry_after` in seconds or `allowed` values.
    """

    code: ErrorCode
    message: str
    retryable: bool = False
    path: str = "$"
    hint: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The message with its hint behind it."""
        return f"{self.message} {self.hint}" if self.hint else self.message


class ToolhandError(Exception):
    """The root of the exceptions that Toolhand raises for a programmer's or an operator's mistake."""


class ToolDefinitionError(ToolhandError, TypeError):
    """A function cannot be described as a tool; the message names the parameter and the cure."""


class UnknownToolError(ToolhandError, KeyError):
    """A toolset was asked, by a program, for a tool that it does not hold."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class SettingsError(ToolhandError, ValueError):
    """A setting, a model's name or a file cannot be used; the message says which and what to do."""


class SessionError(SettingsError):
    """A session cannot be used as it was asked: it belongs to another user, another run has it, or there is none of that name."""


class StoreError(ToolhandError):
    """The place where sessions are kept cannot be read or written; the message says why and what to do.

    What was stored before is not lost: the run can be resumed when the store is well again.
    """


class MissingExtraError(ToolhandError, ImportError):
    """An optional dependency is not installed; the message holds the command that installs it."""

    def __init__(self, extra: str, purpose: str) -> None:
        from toolhand.core.extras import install_command  # noqa: PLC0415 - it reads packages' metadata

        self.extra, command = extra, install_command(extra)
        super().__init__(
            say(f"{purpose} needs the extra '{extra}': {command}", f"{purpose}需要附加项“{extra}”：{command}")
        )


class ToolFailure(ToolhandError):  # noqa: N818 - what a tool says on purpose, not an accident
    """What a tool raises to tell the model, in its own words, why it could not do the errand.

    Of other exceptions a model is told one neutral sentence, and the log keeps the rest (but see docs/adr/0008-policies.md).

    Args:
        message: one sentence that a model can act on, without secrets.
        code: one of `ErrorCode`.
        retryable: whether the same call may succeed later.
        hint: what to do instead.
        details: facts for a program.
        chinese: the message and the hint for a run in Chinese; those above where there are none.
    """

    def __init__(
        self,
        message: str,
        *,
        code: ErrorCode = ErrorCode.EXECUTION,
        retryable: bool = False,
        hint: str = "",
        details: Mapping[str, Any] | None = None,
        chinese: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.error = ToolError(
            code=code, message=message, retryable=retryable, hint=hint, details=dict(details or {})
        )
        self.chinese = chinese

    def told(self, language: Language) -> ToolError:
        """The error in the language of a run."""
        if language == "en" or self.chinese is None:
            return self.error
        message, hint = self.chinese
        return replace(self.error, message=message, hint=hint)


class FatalError(ToolhandError):
    """Raised by a tool, or by a policy, to end the whole run and not only its call.

    The run's other calls are cancelled and awaited, its history is made whole, and the exception comes out of `Agent.run`.
    """


class WeightsError(ToolhandError):
    """A model's weights are missing, damaged, or can be had from none of their sources."""


class ModelFault(StrEnum):
    """Every kind of failure that a `ModelError` can carry. The values are stable; new ones may be added."""

    UNREACHABLE = "unreachable"
    """No connection: an unknown host, a refused connection."""
    UNTRUSTED = "untrusted"
    """The server's certificate cannot be trusted."""
    TIMEOUT = "timeout"
    """It took too long to connect, to begin, to go on, or in all."""
    CUT = "cut"
    """The answer broke off."""
    GARBLED = "garbled"
    """The answer is not what the protocol says."""
    MOVED = "moved"
    """The server sends on to another address."""
    RATE_LIMITED = "rate_limited"
    """Too many requests in a time."""
    OVERLOADED = "overloaded"
    """The server has too much to do."""
    FAILED = "failed"
    """The server failed in itself."""
    QUOTA = "quota"
    """The account has no money or quota left."""
    KEY = "key"
    """The API key is missing, wrong, or may not do this."""
    UNKNOWN_MODEL = "unknown_model"
    """The server has no such model."""
    CONTEXT_OVERFLOW = "context_overflow"
    """The conversation is longer than what the model can read."""
    CONTENT_FILTER = "content_filter"
    """The provider refuses the content."""
    REFUSED = "refused"
    """The request is not one that the server takes."""


class ModelError(ToolhandError):
    """The model's server failed.

    Args:
        message: one sentence that says what failed, where, and what to do.
        fault: which kind of failure it is.
        status: the HTTP status, where there was one.
        retryable: whether the same request may succeed later.
        retry_after: seconds to wait before that, where the server said so.
    """

    def __init__(
        self,
        message: str,
        *,
        fault: ModelFault = ModelFault.REFUSED,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
