"""The ASGI application: the routes, what stands around each request, and what is opened and closed with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

from toolhand.core import plugins
from toolhand.gateway.admission import Admission, Caller
from toolhand.gateway.counting import Counting
from toolhand.gateway.elsewhere import Elsewhere
from toolhand.gateway.endpoint import Endpoint
from toolhand.gateway.exchange import Exchange
from toolhand.gateway.fronts import Answered, Front
from toolhand.gateway.hosting import Beside, Hosting, with_own
from toolhand.gateway.plain_routes import plain_routes
from toolhand.gateway.refusals import invalid, refusal_of
from toolhand.gateway.sessions import Sessions
from toolhand.gateway.settings import GatewaySettings
from toolhand.gateway.upstreams import Upstreams
from toolhand.gateway.wanted import Wanted, check_choice
from toolhand.observability.defaults import default_sinks
from toolhand.page import PageSettings, page_routes
from toolhand.page.settings import HERE, Stopping

if TYPE_CHECKING:
    from toolhand.policies.sharing.postgres import PostgresState

FRONTS: Final = "gateway.fronts"


class Gateway:
    """What all addresses of one gateway share.

    Args:
        settings: what it is told.

    Raises:
        SettingsError: when a model or a toolset cannot be used.
    """

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.upstreams = Upstreams(settings)
        self.counting = Counting(lambda: self.admission.running)
        self.hosting, self.beside = Hosting(settings), Beside()
        self.sessions = Sessions(settings, (self.counting.metrics,))
        self._counts = _counted_together(settings, self.sessions)
        self.admission = Admission(settings, self._counts, answering=self.upstreams.answering)
        self.stopping = Stopping()
        self.elsewhere = Elsewhere(self.upstreams, lambda: self.sessions.store, settings.seconds)

    async def answer(self, wanted: Wanted, caller: Caller, show: Callable[[str], None] | None) -> Answered:
        """Has a request answered.

        Raises:
            Refusal: when it cannot be.
        """
        if (made := await self.elsewhere.answer(wanted, caller, show)) is not None:
            return made
        if wanted.sending.run_id:
            raise invalid("toolhand.run_id", "this model's runs have no names", "该模型的运行没有名称")
        reached = self.upstreams.find(wanted.model, caller.sent)
        hosted = self.hosting.tools(wanted, caller)
        tools = with_own(hosted, wanted.tools)
        check_choice(wanted.choice, tools)
        try:
            if wanted.session and not wanted.tools:
                return await self.sessions.answer(wanted, reached, hosted, caller, show)
            exchange = Exchange(
                wanted,
                reached,
                caller.context(wanted.session or wanted.conversation),
                tools=tools,
                beside=self.beside,
                rounds=self.settings.rounds,
                sinks=(self.counting.metrics, *default_sinks()),
                show=show,
            )
            return await exchange.run()
        except Exception as error:
            raise refusal_of(error, passes_key=reached.passes_key) from error

    def stop(self) -> None:
        """No more clients come: what shows news on open pages ends."""
        self.stopping.set()

    async def close(self) -> None:
        """Closes what is open."""
        await self.upstreams.close()
        if self._counts is not None:
            await self._counts.close()


def _counted_together(settings: GatewaySettings, sessions: Sessions) -> PostgresState | None:
    """Where the keys' limits are counted for all gateways of a store; None where each counts for itself."""
    if not any(key.rate_limit for key in settings.keys):
        return None
    url = getattr(sessions.store, "url", "")
    if not url.startswith(("postgresql:", "postgres:")):
        return None
    from toolhand.policies.sharing.postgres import PostgresState  # noqa: PLC0415 - an extra, which the store has loaded

    return PostgresState(url)


def build_app(settings: GatewaySettings) -> Starlette:
    """The gateway as an ASGI application, to be run by a server or mounted in a larger one.

    Args:
        settings: what it is told.

    Raises:
        SettingsError: when a model or a toolset cannot be used.
    """
    gateway = Gateway(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        yield
        await gateway.close()

    routes: list[BaseRoute] = [*_front_routes(gateway), *plain_routes(gateway)]
    if settings.page:
        routes += page_routes(_page_settings(gateway))
    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.settings, app.state.gateway = settings, gateway
    return app


def _page_settings(gateway: Gateway) -> PageSettings:
    settings, sessions = gateway.settings, gateway.sessions
    return PageSettings(
        store=sessions.store,
        token=settings.token,
        hosts=() if settings.token else HERE,  # behind a proxy it has the proxy's name
        resume=sessions.resume,
        knows=sessions.knows,
        stopping=gateway.stopping,
    )


def _front_routes(gateway: Gateway) -> list[BaseRoute]:
    found: list[BaseRoute] = []
    for name in plugins.names(FRONTS):
        front: Front | None = plugins.found(FRONTS, name, "FRONT")
        if front is None:
            continue
        endpoint = Endpoint(
            front,
            gateway.admission,
            gateway.answer,
            most_bytes=gateway.settings.most_bytes,
            seconds=gateway.settings.seconds,
            note=gateway.counting.note,
        )
        found.append(Route(front.path, endpoint, methods=["POST"]))
    return found
