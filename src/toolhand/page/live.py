"""Tells a page that it has changed, by server-sent events. What changed the page reads again; the event says only that.

A store is looked at each second, so that runs of other processes are seen too. A stream ends after a minute and is asked for
again: so none outlives its reader for long. A server that stops ends them all.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from toolhand.page.settings import Stopping

MOST_STREAMS: Final = 100
_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 60.0


class Live:
    """The streams of one server.

    Args:
        stopping: ends all streams once it is set.
        seconds: how often is looked.
        longest_seconds: how long a stream lasts.
    """

    def __init__(
        self, stopping: Stopping, *, seconds: float = _SECONDS, longest_seconds: float = _LONGEST_SECONDS
    ) -> None:
        self._stopping = stopping
        self._seconds, self._rounds = seconds, max(1, round(longest_seconds / seconds))
        self._streams = 0

    def response(self, mark: Callable[[], Awaitable[str]], since: str) -> Response:
        """A stream that says when a mark is another one.

        Args:
            mark: gives the mark.
            since: the mark of what the page shows.
        """
        if self._streams >= MOST_STREAMS:
            return PlainTextResponse("Too many pages are open.\n", 503)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return _Stream(self._events(mark, since), media_type="text/event-stream", headers=headers)

    async def _events(self, mark: Callable[[], Awaitable[str]], since: str) -> AsyncIterator[str]:
        self._streams += 1
        try:
            yield "retry: 2000\n\n"
            for count in range(self._rounds):
                if (now := await mark()) != since:
                    since = now
                    yield f"event: changed\ndata: {now}\n\n"
                elif count % 15 == 14:
                    yield ": still here\n\n"
                if await self._stopping.within(self._seconds):
                    return
        finally:
            self._streams -= 1


class _Stream(StreamingResponse):
    """A stream that a server which stops may cut off: nothing of it is lost."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await super().__call__(scope, receive, send)
