"""`toolhand serve --check`: whether everything that the settings name can be used, before anybody depends on it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from toolhand.core.errors import ToolhandError
from toolhand.core.language import say
from toolhand.gateway.hosting import Hosting
from toolhand.gateway.settings import GatewaySettings
from toolhand.gateway.upstreams import ANYTHING, WORKER, Upstreams
from toolhand.ladder import Ladder
from toolhand.models.fallbacks import FallbackModel
from toolhand.models.remote import RemoteModel
from toolhand.sessions.store import open_store

CONNECT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing.

    Args:
        what: its name.
        problem: what is wrong, in one sentence; "" where nothing is.
        told: what is known of it.
    """

    what: str
    problem: str = ""
    told: str = ""


async def findings(settings: GatewaySettings) -> AsyncIterator[Finding]:
    """Looks at everything, one thing after the other.

    Args:
        settings: what the gateway is told.
    """
    yield _port(settings)
    try:
        upstreams = Upstreams(settings)
    except ToolhandError as error:
        yield Finding("models", str(error))
    else:
        for name, row in upstreams.rows.items():
            if row.model.startswith(WORKER):
                yield await _agent(settings, name, row.model.removeprefix(WORKER))
            else:
                yield await _model(upstreams, name)
        await upstreams.close()
    try:
        hosting = Hosting(settings)
    except ToolhandError as error:
        yield Finding("tools", str(error))
    else:
        for name, count in hosting.counts.items():
            yield Finding(f"tools {name}", told=say(f"{count} tools", f"{count} 个工具"))
    yield await _store(settings)
    yield Finding("keys", told=_keys(settings))


def _port(settings: GatewaySettings) -> Finding:
    what = f"{settings.host}:{settings.port}"
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        with closing(socket.socket(family)) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((settings.host, settings.port))
    except OSError as error:
        said = say(f"cannot listen there: {error.strerror}", f"无法监听：{error.strerror}")
        return Finding(what, said)
    return Finding(what, told=say("free", "可用"))


async def _model(upstreams: Upstreams, name: str) -> Finding:
    what, row = f"model {name}", upstreams.rows[name]
    if ANYTHING in name or upstreams.passes_key(row):
        return Finding(what, told=say("is made when it is asked for", "请求时创建"))
    try:
        reached = upstreams.find(name, "")
    except ToolhandError as error:
        return Finding(what, str(error))
    protocol = reached.protocol
    rungs = ", ".join(protocol.profile.rungs) if isinstance(protocol, Ladder) else protocol.name
    models = reached.model.models if isinstance(reached.model, FallbackModel) else (reached.model,)
    for model in models:
        if isinstance(model, RemoteModel) and (problem := await _reached(model)):
            return Finding(what, problem)
    return Finding(what, told=f"{', '.join(model.name for model in models)} ({rungs})")


async def _agent(settings: GatewaySettings, name: str, agent: str) -> Finding:
    """Whether runs can be submitted for an agent of the workers. That no worker is there now is no fault: runs wait for one."""
    what = f"model {name}"
    try:
        from toolhand.durable.inside import serving  # noqa: PLC0415 - an extra
        from toolhand.durable.opening import ledger_of  # noqa: PLC0415

        store = ledger_of(settings.store or None).store
        queue = "" if ANYTHING in agent else agent or "default"
        count = await serving(store, queue)
    except ToolhandError as error:
        return Finding(what, str(error))
    there = say(f"workers: {count}", f"{count} 个 worker") if count else say(
        "no worker is there for it: its runs wait for one", "现在没有为它工作的 worker：运行会等待"
    )  # fmt: skip
    return Finding(what, told=f"{WORKER}{agent} ({there})")


async def _reached(model: RemoteModel) -> str:
    """Why a model's server cannot be reached; "" where it can."""
    url = model.base_url
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(url.host, url.port)
            writer.close()
    except (OSError, TimeoutError) as error:
        why = str(error) or say("no answer", "没有响应")
        return say(
            f"{url.host}:{url.port} cannot be reached: {why}", f"无法连接 {url.host}:{url.port}：{why}"
        )
    return ""


async def _store(settings: GatewaySettings) -> Finding:
    try:
        store = open_store(settings.store or None)
        await store.find("toolhand-serve-check")
    except ToolhandError as error:
        return Finding("store", str(error))
    return Finding("store", told=store.name if settings.store else say("the usual one", "默认位置"))


def _keys(settings: GatewaySettings) -> str:
    if settings.keys:
        return say(f"{len(settings.keys)} keys", f"{len(settings.keys)} 个 key")
    if settings.pass_keys:
        return say("the clients' own go to the models' servers", "客户端自己的 key 转发给模型服务")
    return say("none: this machine alone may use it", "无：只有本机可以使用") if settings.is_local else say(
        "none: anybody may use it", "无：任何人都可以使用"
    )  # fmt: skip
