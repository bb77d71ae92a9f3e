"""Runs the application on uvicorn until the process is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from toolhand.gateway.settings import GatewaySettings

_GOODBYE_SECONDS: Final = 5
"""How long open streams are waited for when the process is told to stop."""

_BACKLOG: Final = 2048


class _Server(uvicorn.Server):
    """A server that says when it can be reached, and at which port."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[int], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """As uvicorn does it, and tells of it."""
        await super().startup(sockets)
        if self.started:
            self._on_start(self.servers[0].sockets[0].getsockname()[1])


def _silent(port: int) -> None:
    """Nobody wants to know."""


def server_of(
    app: ASGIApp, settings: GatewaySettings, on_start: Callable[[int], None] = _silent
) -> uvicorn.Server:
    """A server for the application, to be awaited with `serve()`.

    Args:
        app: the application.
        settings: where it listens.
        on_start: called with the port as soon as clients can come; it is the one given, or a free one for 0.
    """
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        ws="none",
        server_header=False,
        date_header=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_GOODBYE_SECONDS,
    )
    return _Server(config, on_start)
