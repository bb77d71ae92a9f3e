"""The page: a window to see what happened, and to decide what waits. Served by the gateway at `/`, or put into any Starlette app.

Pages are made on the server from a session store, the audit, the drift log and the evaluations; a script of a hundred lines
shows what is new without loading the page again. Nothing of it needs an address outside, a build step, or the script.

    Starlette(routes=[*your_routes, *page_routes(PageSettings(store=open_store()))])
"""

from __future__ import annotations

from toolhand.page.serving import page_routes
from toolhand.page.settings import PageSettings, Resume

__all__ = ["PageSettings", "Resume", "page_routes"]
