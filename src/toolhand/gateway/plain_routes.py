"""The addresses beside those of the protocols: whether it lives, which models there are, what was counted, its own document."""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from toolhand.core.language import say
from toolhand.gateway.document import document
from toolhand.gateway.fronts.chat import chat_error
from toolhand.gateway.fronts.messages import FRONT as MESSAGES
from toolhand.gateway.refusals import Refusal

if TYPE_CHECKING:
    from toolhand.gateway.app import Gateway

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_WITHOUT_VERSION: Final = ("/v1", "/chat/completions", "/responses", "/messages", "/models")
"""Where a client asks whose address lacks the /v1."""

_MOST_SHOWN: Final = 200

PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"


def plain_routes(gateway: Gateway) -> list[BaseRoute]:
    """The routes.

    Args:
        gateway: what they tell of.
    """
    plain = _Plain(gateway)
    return [
        Route("/healthz", _health),
        Route("/v1/models", _told(plain.models)),
        Route("/v1/models/{name:path}", _told(plain.model)),
        Route("/metrics", _told(plain.metrics)),
        Route("/openapi.json", _document),
        Route("/v1/{rest:path}", _told(_nothing), methods=list(_METHODS)),
        *(Route(path, _told(_nothing), methods=list(_METHODS)) for path in _WITHOUT_VERSION),
    ]


class _Plain:
    """What needs to know the gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._started = int(time.time())

    async def models(self, request: Request) -> Response:
        caller = self._gateway.admission.caller(request.scope["headers"])
        names = [name for name in self._gateway.upstreams.names if caller.may_use(name)]
        rows = [_model(name, self._started) for name in names]
        ends = {"first_id": rows[0]["id"] if rows else None, "last_id": rows[-1]["id"] if rows else None}
        return JSONResponse({"object": "list", "data": rows, "has_more": False, **ends})

    async def model(self, request: Request) -> Response:
        caller, name = self._gateway.admission.caller(request.scope["headers"]), request.path_params["name"]
        if name not in self._gateway.upstreams.names or not caller.may_use(name):
            said = say(f"there is no model '{name}' here", f"没有模型“{name}”")
            raise Refusal(404, said, code="model_not_found", param="model")
        return JSONResponse(_model(name, self._started))

    async def metrics(self, request: Request) -> Response:
        settings = self._gateway.settings
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        if settings.token and not hmac.compare_digest(sent.encode(), settings.token.encode()):
            said = say("the gateway's token is missing or wrong", "网关令牌缺失或不正确")
            raise Refusal(401, said, kind="authentication_error")
        if not (settings.token or settings.is_local):
            said = say("set a token to read the figures", "请设置令牌后再读取指标")
            raise Refusal(403, said, kind="permission_error")
        return PlainTextResponse(self._gateway.counting.prometheus_text(), media_type=PROMETHEUS)


async def _health(request: Request) -> Response:
    del request
    return JSONResponse({"status": "ok"})


async def _document(request: Request) -> Response:
    del request
    return JSONResponse(document())


async def _nothing(request: Request) -> Response:
    path = request.url.path
    if path in document()["paths"]:
        said = say(f"{path} does not take {request.method}", f"{path} 不接受 {request.method}")
        raise Refusal(405, said)
    shown = path if len(path) <= _MOST_SHOWN else f"{path[:_MOST_SHOWN]}…"
    there = ", ".join(one for one in document()["paths"] if one.startswith("/v1/") and "{" not in one)
    more, more_zh = f"there is: {there}", f"可用：{there}"
    if right := _meant(path):
        more, more_zh = f"did you mean {right}?", f"是不是想访问 {right}？"
    raise Refusal(404, say(f"there is no {shown} here; {more}", f"没有 {shown}；{more_zh}"), code="not_found")


def _meant(path: str) -> str:
    """Where a client wanted to ask whose address has a /v1 too few or too many; "" for any other."""
    rest = path.removeprefix("/v1") if path.startswith("/v1/") else f"/v1{path}"
    return rest if rest in document()["paths"] else ""


def _told(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """An address whose refusals are told in the shape that the client knows: Anthropic's where it speaks like one of theirs."""

    async def told(request: Request) -> Response:
        try:
            return await answer(request)
        except Refusal as refusal:
            is_anthropic = "anthropic-version" in request.headers or "/messages" in request.url.path
            body = MESSAGES.error(refusal) if is_anthropic else chat_error(refusal)
            return JSONResponse(body, status_code=refusal.status, headers=dict(refusal.headers))

    return told


def _model(name: str, created: int) -> dict[str, Any]:
    """A model as OpenAI's and Anthropic's clients read it."""
    return {
        "id": name,
        "object": "model",
        "created": created,
        "owned_by": "toolhand",
        "type": "model",
        "display_name": name,
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
    }
