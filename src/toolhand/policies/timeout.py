"""Gives a call up after its tool's time.

An async tool is cancelled. A plain function is stopped where it runs, as well as it can be there: a thread at its next step in
Python, a process at once and with all its children (`toolhand.execution`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.policies import Proceed

NOT_STARTED: Final = "not_started"
"""The detail of a timeout that came before the tool did, as other calls had its threads or processes: no fault of the tool."""

_SAID = {
    "en": {
        "late": "'{name}' did not finish within {seconds:g} seconds.",
        "unstarted": "'{name}' could not start within {seconds:g} seconds, because of other calls; nothing has been done.",
        "perhaps": "It may have had its effect, or not.",
        "partly": "It was stopped and will do nothing more, but part of it may have been done.",
        "check": "Check before you call it again.",
    },
    "zh": {
        "late": "“{name}”在 {seconds:g} 秒内没有完成。",
        "unstarted": "“{name}”前面还有别的调用，{seconds:g} 秒内没能开始，什么都没有做。",
        "perhaps": "它可能已经生效，也可能没有。",
        "partly": "它已被终止，不会再做任何事，但可能已经做了一部分。",
        "check": "再次调用之前请先核实。",
    },
}


class CallClock:
    """The time of one call, for what runs the tool: it can say how far the call came, and hold the clock.

    Args:
        timeout: what will end the call.
        own_end: when that is because of the tool's own timeout, on the loop's clock in seconds, or None.
        last_end: when the run itself ends, which nothing puts off, or None.
    """

    def __init__(self, timeout: asyncio.Timeout, own_end: float | None, last_end: float | None) -> None:
        self.has_started = True
        self.is_ended_for_good = False
        self._timeout = timeout
        self._own_end, self._last_end = own_end, last_end

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stops the tool's own clock for work that is not the tool's, such as the first start of a process."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        self._timeout.reschedule(self._last_end)
        yield
        if self._own_end is not None:
            self._own_end += loop.time() - started
        self._timeout.reschedule(
            min((end for end in (self._own_end, self._last_end) if end is not None), default=None)
        )


CALL_CLOCK: Final[ContextVar[CallClock | None]] = ContextVar("toolhand_call_clock", default=None)
"""The clock of the innermost call that has one."""


async def timeout(call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
    """Ends the call after `rules.timeout` seconds, or at the run's deadline if that comes first."""
    own = call.tool.rules.timeout
    if own is None and context.deadline is None:
        if CALL_CLOCK.get() is not None:
            CALL_CLOCK.set(None)  # it belongs to a call around this one
        return await proceed(call, context)
    left = context.seconds_left
    seconds = min(limit for limit in (own, left) if limit is not None)
    now = asyncio.get_running_loop().time()
    ending = asyncio.timeout_at(now + seconds)
    clock = CallClock(ending, None if own is None else now + own, None if left is None else now + left)
    token = CALL_CLOCK.set(clock)
    try:
        async with ending:
            return await proceed(call, context)
    except TimeoutError:
        # The tool's own TimeoutError is caught where it is invoked, so any other is someone else's.
        if not ending.expired():
            raise
    finally:
        CALL_CLOCK.reset(token)
    return ToolResult(
        call_id=call.call.id, name=call.tool.name, outcome=_given_up(call, context, clock, seconds)
    )


def _given_up(call: BoundCall, context: RunContext, clock: CallClock, seconds: float) -> ToolError:
    words, rules = _SAID[context.language], call.tool.rules
    is_safe = call.tool.repeatable or not clock.has_started
    message = words["late" if clock.has_started else "unstarted"].format(name=call.tool.name, seconds=seconds)
    has_effect = rules.effect != "reads" and clock.has_started
    if has_effect:
        gap = " " if context.language == "en" else ""
        message += gap + words["partly" if clock.is_ended_for_good else "perhaps"]
    return ToolError(
        code=ErrorCode.TIMEOUT if is_safe else ErrorCode.OUTCOME_UNKNOWN,
        message=message,
        retryable=is_safe,
        hint=words["check"] if has_effect else "",
        details={"seconds": seconds} if clock.has_started else {"seconds": seconds, NOT_STARTED: True},
    )
