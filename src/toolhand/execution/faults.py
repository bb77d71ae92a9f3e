"""What an exception that a tool raised means: which code, whether trying again can help, and when.

Libraries' exceptions are known by what they carry (`status`, `response`, `headers`, `retry_after`, `retryable`) and by their
names, so nothing is imported for them.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolhand.core.errors import ErrorCode
from toolhand.core.retry_after import retry_after, seconds_of
from toolhand.core.tools import Tool
from toolhand.execution.own_words import are_own_words
from toolhand.execution.threads import AllStuckError
from toolhand.execution.workers.failures import FrameTooLargeError, ToolRaisedError, WorkerEndedError

_TIMEOUTS: Final = frozenset({
    ("httpx", "TimeoutException"), ("requests", "Timeout"), ("urllib3", "TimeoutError"), ("aiohttp", "ServerTimeoutError"),
})  # fmt: skip
_CONNECTIONS: Final = frozenset({
    ("httpx", "TransportError"), ("requests", "ConnectionError"), ("aiohttp", "ClientConnectionError"), ("urllib", "URLError"),
    ("urllib3", "ProtocolError"), ("urllib3", "NewConnectionError"), ("urllib3", "MaxRetryError"), ("http", "HTTPException"),
})  # fmt: skip
_NEVER_SENT: Final = frozenset({
    ("httpx", "ConnectError"), ("httpx", "ConnectTimeout"), ("aiohttp", "ClientConnectorError"),
    ("requests", "ConnectTimeout"), ("urllib3", "NewConnectionError"),
})  # fmt: skip
"""The package and class names of what libraries raise; subclasses count as well."""

_NETWORK_ERRNOS: Final = frozenset({
    errno.ECONNRESET, errno.ECONNABORTED, errno.ECONNREFUSED, errno.EPIPE, errno.EHOSTUNREACH, errno.EHOSTDOWN,
    errno.ENETUNREACH, errno.ENETDOWN, errno.ENETRESET, errno.ETIMEDOUT, errno.ENOTCONN,
})  # fmt: skip
_UNREACHED_ERRNOS: Final = frozenset({
    errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ENETDOWN,
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What an exception means.

    Args:
        word: the sentence that says so.
        code: the error's code.
        retryable: whether the same call may succeed later.
        details: facts for a program: `status`, `retry_after` in seconds.
        is_own_words: whether the exception's text is a sentence of the tool's author (`own_words.py`).
    """

    word: str
    code: ErrorCode
    retryable: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    is_own_words: bool = False


_OWN: Final[Mapping[type[BaseException], Fault]] = {
    AllStuckError: Fault(word="stuck", code=ErrorCode.RATE_LIMITED, retryable=True),
    WorkerEndedError: Fault(word="ended", code=ErrorCode.EXECUTION),
    MemoryError: Fault(word="memory", code=ErrorCode.EXECUTION),
    FrameTooLargeError: Fault(word="large", code=ErrorCode.RESULT_TOO_LARGE),
}
"""What the ways of running a tool raise themselves."""


def fault(error: BaseException, tool: Tool) -> Fault:
    """Judges an exception.

    A call that may have reached its service before the connection was lost, by a tool that may not run twice, has an unknown
    outcome: the model is told so, and nothing repeats it by itself.
    """
    try:
        return _judged(error, tool)
    except BaseException:  # noqa: BLE001 - an exception's own attributes may do anything
        return Fault(word="raised", code=ErrorCode.EXECUTION)


def _judged(error: BaseException, tool: Tool) -> Fault:
    if isinstance(error, ToolRaisedError) and isinstance(error.fault, Fault):
        return error.fault  # it was judged where it was raised, with everything that it carried
    own = _OWN.get(type(error))
    if own is not None:
        return (
            replace(own, code=ErrorCode.OUTCOME_UNKNOWN)
            if own.word == "ended" and not tool.repeatable
            else own
        )
    if isinstance(error, asyncio.CancelledError):
        return Fault(word="stopped", code=ErrorCode.CANCELLED)
    status = _status(error)
    if status is not None and status >= 400:
        return _by_status(status, error, tool)
    kinds = {(kind.__module__.split(".", 1)[0], kind.__name__) for kind in type(error).__mro__}
    was_sent = not (_is_unreached(error) or kinds & _NEVER_SENT)
    if isinstance(error, TimeoutError) or kinds & _TIMEOUTS:
        return _unless_unknown(Fault(word="timeout", code=ErrorCode.TIMEOUT, retryable=True), tool, was_sent)
    if _is_network(error) or kinds & _CONNECTIONS:
        return _unless_unknown(Fault(word="network", code=ErrorCode.NETWORK, retryable=True), tool, was_sent)
    wait = seconds_of(getattr(error, "retry_after", None))
    if wait is not None:
        return Fault(
            word="limited", code=ErrorCode.RATE_LIMITED, retryable=True, details={"retry_after": wait}
        )
    return Fault(
        word="raised",
        code=ErrorCode.EXECUTION,
        retryable=getattr(error, "retryable", None) is True,
        is_own_words=are_own_words(error),
    )


def _by_status(status: int, error: BaseException, tool: Tool) -> Fault:
    details: dict[str, Any] = {"status": status}
    wait = _retry_after(error)
    if wait is not None:
        details["retry_after"] = wait
    if status == 429:
        return Fault(word="limited", code=ErrorCode.RATE_LIMITED, retryable=True, details=details)
    if status in (408, 504):
        found = Fault(word="timeout", code=ErrorCode.TIMEOUT, retryable=True, details=details)
        return _unless_unknown(found, tool, was_sent=True)
    if status >= 500:
        # 503 says that nothing was done; after another a call that may not run twice is left to the model.
        retryable = (status == 503 or tool.repeatable) and status != 501
        return Fault(word="upstream", code=ErrorCode.UPSTREAM, retryable=retryable, details=details)
    return Fault(word="refused", code=ErrorCode.UPSTREAM, details=details)


def _unless_unknown(found: Fault, tool: Tool, was_sent: bool) -> Fault:
    if tool.repeatable or not was_sent:
        return found
    return Fault(word="unknown", code=ErrorCode.OUTCOME_UNKNOWN, details=found.details)


def _status(error: BaseException) -> int | None:
    carriers = (error, getattr(error, "response", None))
    for carrier in carriers:
        for name in ("status", "status_code"):
            value = getattr(carrier, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
                return int(value)
    return None


def _retry_after(error: BaseException) -> float | None:
    given = seconds_of(getattr(error, "retry_after", None))
    if given is not None:
        return given
    for carrier in (error, getattr(error, "response", None)):
        headers: Any = getattr(carrier, "headers", None)
        if hasattr(headers, "items"):
            found = retry_after(headers)
            if found is not None:
                return found
    return None


def _is_network(error: BaseException) -> bool:
    return isinstance(error, ConnectionError | socket.gaierror | socket.herror) or (
        isinstance(error, OSError) and error.errno in _NETWORK_ERRNOS
    )


def _is_unreached(error: BaseException) -> bool:
    return isinstance(error, ConnectionRefusedError | socket.gaierror) or (
        isinstance(error, OSError) and error.errno in _UNREACHED_ERRNOS
    )
