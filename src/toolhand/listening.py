"""A web server that says when it can be reached, and at which port."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import uvicorn


class ListeningServer(uvicorn.Server):
    """uvicorn's server, which tells of its start.

    Args:
        config: uvicorn's settings; port 0 takes a free one.
        on_start: called with the port as soon as clients can come.
    """

    def __init__(self, config: uvicorn.Config, on_start: Callable[[int], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """As uvicorn does it, and tells of it."""
        await super().startup(sockets)
        if self.started:
            self._on_start(self.servers[0].sockets[0].getsockname()[1])


def unheard(port: int) -> None:
    """Nobody wants to know."""
