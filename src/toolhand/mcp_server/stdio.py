"""The server over its standard streams: a client starts it and ends it by closing its input.

Nothing but messages may get onto standard output. What tools, their modules and their children print goes to standard error, at
the level of file descriptors; messages are UTF-8 whatever the locale says.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server

from toolhand.mcp_server.serving import Serving


@contextmanager
def output_aside() -> Iterator[None]:
    """While it lasts, standard output is standard error, for this process and what it starts."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


async def serve_stdio(serving: Serving) -> None:
    """Serves one client, until it closes the input."""
    changes = NotificationOptions(tools_changed=True)
    async with stdio_server() as (received, sent):
        await serving.server.run(
            received, sent, serving.server.create_initialization_options(notification_options=changes)
        )
