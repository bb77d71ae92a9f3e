"""A web server that says when it can be reached, and at which port, and when it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import uvicorn


class ListeningServer(uvicorn.Server):
    """uvicorn's server, which tells of its start and of its end.

    Args:
        config: uvicorn's settings; port 0 takes a free one.
        on_start: called with the port as soon as clients can come.
        on_stop: called as soon as none can come any more, before the answers that are under way are waited for: what would
            never end by itself can be ended here.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        on_start: Callable[[int], None],
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self._on_start, self._on_stop = on_start, on_stop

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """As uvicorn does it, and tells of it."""
        await super().startup(sockets)
        if self.started:
            self._on_start(self.servers[0].sockets[0].getsockname()[1])

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        """As uvicorn does it, and tells of it before."""
        if self._on_stop is not None:
            self._on_stop()
        await super().shutdown(sockets)


def unheard(port: int) -> None:
    """Nobody wants to know."""
