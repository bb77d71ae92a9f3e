"""Runs the application on uvicorn until the process is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import uvicorn
from starlette.applications import Starlette

from toolhand.gateway.corking import CorkedProtocol
from toolhand.gateway.settings import GatewaySettings
from toolhand.listening import ListeningServer, unheard

_GOODBYE_SECONDS: Final = 5
"""How long open streams are waited for when the process is told to stop."""

_BACKLOG: Final = 2048


def server_of(
    app: Starlette, settings: GatewaySettings, on_start: Callable[[int], None] = unheard
) -> uvicorn.Server:
    """A server for the application, to be awaited with `serve()`.

    Args:
        app: the application, of `build_app`. Its pages end their streams as soon as the server stops.
        settings: where it listens.
        on_start: called with the port as soon as clients can come; it is the one given, or a free one for 0.
    """
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=CorkedProtocol,
        log_level="warning",
        access_log=False,
        ws="none",
        server_header=False,
        date_header=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_GOODBYE_SECONDS,
    )
    return ListeningServer(config, on_start, app.state.gateway.stop)
