"""A worker's health over HTTP, for whatever watches over it.

`/health` says whether it does what it should, `/ready` whether it takes runs, `/metrics` counts in Prometheus' text form.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.sessions.moments import moment

if TYPE_CHECKING:
    from toolhand.durable.worker import Worker

_COUNTERS: Final = ("taken", "ended", "failed", "lost", "errors")


def told(worker: Worker) -> dict[str, Any]:
    """What a worker says of itself, as JSON values."""
    health = worker.health
    silent = moment() - health.beat
    return {
        "worker": worker.name,
        "is_well": silent < worker.lease_seconds * 2,
        "is_stopping": health.is_stopping,
        "silent_seconds": round(silent, 3),
        "queues": list(worker.queues),
        "running": len(worker.running),
        "concurrency": worker.concurrency,
        "taken": health.taken,
        "ended": health.ended,
        "failed": health.failed,
        "lost": health.lost,
        "errors": health.errors,
    }


def counted(found: Mapping[str, Any]) -> str:
    """What `told` gave as metrics.

    Source: https://prometheus.io/docs/instrumenting/exposition_formats/.
    """
    lines = []
    for name in (*_COUNTERS, "running", "concurrency", "silent_seconds"):
        kind = "counter" if name in _COUNTERS else "gauge"
        full = f"toolhand_worker_{name}" + ("_total" if kind == "counter" else "")
        lines += [f"# TYPE {full} {kind}", f"{full} {found[name]}"]
    return "\n".join(lines) + "\n"


@asynccontextmanager
async def served(worker: Worker, *, host: str, port: int) -> AsyncIterator[int]:
    """Serves a worker's health while one is inside; gives the port.

    Raises:
        SettingsError: when the port cannot be had.
    """

    async def health(_: web.Request) -> web.Response:
        found = told(worker)
        return web.json_response(found, status=200 if found["is_well"] else 503)

    async def ready(_: web.Request) -> web.Response:
        found = told(worker)
        return web.json_response(found, status=200 if found["is_well"] and not found["is_stopping"] else 503)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(text=counted(told(worker)), content_type="text/plain")

    app = web.Application()
    app.add_routes([web.get("/health", health), web.get("/ready", ready), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    try:
        try:
            await site.start()
        except OSError as error:
            raise SettingsError(
                say(
                    f"the health port {host}:{port} cannot be had ({error.strerror}): name another",
                    f"无法使用健康检查端口 {host}:{port}（{error.strerror}）：请换一个",
                )
            ) from error
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
