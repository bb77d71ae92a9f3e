"""The ASGI application: the routes, what stands around each request, and what is opened and closed with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from toolhand.gateway.settings import GatewaySettings


def build_app(settings: GatewaySettings) -> Starlette:
    """The gateway as an ASGI application, to be run by a server or mounted in a larger one.

    Args:
        settings: what it is told.

    Raises:
        SettingsError: when a model or a toolset cannot be used.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        yield

    routes: list[BaseRoute] = [Route("/healthz", _health)]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.settings = settings
    return app


async def _health(request: Request) -> Response:
    del request
    return JSONResponse({"status": "ok"})
