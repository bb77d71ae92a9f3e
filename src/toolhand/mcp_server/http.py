"""The server over HTTP ("streamable HTTP"): on this machine for anybody on it, elsewhere only for who has the token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import uvicorn

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.listening import ListeningServer, unheard
from toolhand.mcp_server.serving import Serving

_HERE: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_GOODBYE_SECONDS: Final = 3
SHORTEST_TOKEN: Final = 16

Scope = MutableMapping[str, Any]


def app_of(serving: Serving, *, host: str = "127.0.0.1", path: str = "/mcp", token: str = "") -> Any:
    """The ASGI application, to be run by a server or put into a larger one.

    Args:
        serving: what is served.
        host: where it will listen. On this machine's own addresses a page in a browser is kept from reaching it by a name that
            is made to lead here.
        path: where clients find it.
        token: what clients have to send as `Authorization: Bearer …`; "" for nothing.

    Raises:
        SettingsError: when others could reach it and there is no token.
    """
    if host not in _HERE and not token:
        raise SettingsError(
            say(
                f"at '{host}' anybody could call the tools: set a token, or listen at 127.0.0.1",
                f"在“{host}”上任何人都能调用工具：请设置令牌，或只监听 127.0.0.1",
            )
        )
    if token and len(token) < SHORTEST_TOKEN:
        raise SettingsError(
            say(
                f"the token has fewer than {SHORTEST_TOKEN} characters and could be guessed: make it longer",
                f"令牌少于 {SHORTEST_TOKEN} 个字符，容易被猜中：请加长",
            )
        )
    app = serving.server.streamable_http_app(streamable_http_path=path, host=host)
    return _OnlyWith(app, token) if token else app


class _OnlyWith:
    """Lets only requests with the token through."""

    def __init__(self, app: Callable[..., Awaitable[None]], token: str) -> None:
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            sent = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            if not hmac.compare_digest(sent, self._wanted):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain; charset=utf-8")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b"a token is needed\n"})
                return
        await self._app(scope, receive, send)


async def serve_http(
    serving: Serving,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    path: str = "/mcp",
    token: str = "",
    on_start: Callable[[int], None] = unheard,
) -> None:
    """Serves clients until the process is stopped.

    Args:
        serving: what is served.
        host: the address to listen at.
        port: the port.
        path: where clients find it.
        token: what they have to send.
        on_start: called with the port as soon as clients can come; it is the one given, or a free one for 0.

    Raises:
        SettingsError: when others could reach it and there is no token.
    """
    app = app_of(serving, host=host, path=path, token=token)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        ws="none",
        timeout_graceful_shutdown=_GOODBYE_SECONDS,  # clients keep streams open, and would keep it from ending
    )
    await ListeningServer(config, on_start).serve()
