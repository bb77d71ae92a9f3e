"""Tries a call again that failed in passing, where repeating is safe."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import CallRetried
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.policies import Proceed
from toolhand.policies.sharing import SYSTEM_CLOCK, Clock

_PASSING: Final = frozenset({
    ErrorCode.TIMEOUT, ErrorCode.NETWORK, ErrorCode.UPSTREAM, ErrorCode.RATE_LIMITED, ErrorCode.EXECUTION,
})  # fmt: skip
"""What may be better next time, where the error says `retryable`. A model's mistake is retryable too, but only mended."""


class Retry:
    """Exponential backoff with full jitter; what a server asked for with Retry-After is never undercut.

    Only for a tool with `retries` that reads, is idempotent, or hands on an idempotency key. The run's deadline is kept: a
    wait that would pass it is not begun.
    Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ (full jitter).

    Args:
        first_wait: the most seconds before the second attempt; doubled for each further one.
        longest_backoff: the most seconds that the doubling comes to.
        longest_wait: the most seconds that are waited because a server asked for it; a tool's own `longest_wait` counts
            before this. When it asks for more, the call ends at once with an error that says so.
        clock: where the time comes from.
        random: gives a number from 0 up to 1.
    """

    def __init__(
        self,
        *,
        first_wait: float = 0.5,
        longest_backoff: float = 30.0,
        longest_wait: float = 60.0,
        clock: Clock = SYSTEM_CLOCK,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._first_wait = first_wait
        self._longest_backoff = longest_backoff
        self._longest_wait = longest_wait
        self._clock = clock
        self._random = random

    def applies(self, tool: Tool) -> bool:
        """Only where retries are asked for and harmless."""
        return tool.rules.retries > 0 and tool.repeatable

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """The first success, or the last failure."""
        started = self._clock.now()
        waits: list[float] = []
        while True:
            result = await proceed(call, context)
            wait = self._wait(call.tool, result.error, len(waits), context)
            if result.error is None or wait is None:
                break
            attempt = len(waits) + 1
            context.emit(CallRetried(call=call.call, error=result.error, attempt=attempt, wait_seconds=wait))
            waits.append(wait)
            await self._clock.sleep(wait)
        seconds = self._clock.now() - started
        notes = {**result.notes, "attempts": len(waits) + 1, "waits": tuple(waits), "seconds": seconds}
        return replace(result, notes=notes)

    def _wait(self, tool: Tool, error: ToolError | None, retries: int, context: RunContext) -> float | None:
        """Seconds until the next attempt, or None when there is none."""
        if error is None or not error.retryable or error.code not in _PASSING:
            return None
        if retries >= tool.rules.retries:
            return None
        backoff: float = self._random() * min(self._longest_backoff, self._first_wait * 2.0**retries)
        asked = error.details.get("retry_after")
        if isinstance(asked, int | float):
            longest = self._longest_wait if tool.rules.longest_wait is None else tool.rules.longest_wait
            if asked > longest:
                return None
            backoff += float(
                asked
            )  # spread behind what was asked for, so that not all come back at one moment
        if context.deadline is not None and self._clock.now() + backoff >= context.deadline:
            return None
        return backoff
