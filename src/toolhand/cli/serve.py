"""`toolhand serve`: the gateway."""

from __future__ import annotations

import asyncio
import gc
from importlib.util import find_spec
from typing import Any, Final

import typer

from toolhand.cli.shown import tell
from toolhand.cli.words import say
from toolhand.core.errors import MissingExtraError
from toolhand.gateway.settings import SETTINGS, GatewaySettings
from toolhand.gateway.sources import read_settings

HELP = say(
    "Serve any model to existing clients, with tool calls that hold up.",
    "向现有客户端提供任意模型，并保证工具调用可靠。",
)

_ROWS: Final = {row.name: row for row in SETTINGS}


def _option(name: str) -> Any:
    """A setting's option; None where it is not given, so that the file and the environment count."""
    row = _ROWS[name]
    flags = f"{row.flag}/--no-{row.flag[2:]}" if row.kind == "yes" else row.flag
    return typer.Option(None, flags, help=say(row.english, row.chinese), show_default=False)


def serve(
    models: list[str] = typer.Option(
        [],
        "--model",
        "-m",
        help=say(
            "MODEL or NAME=MODEL, such as local or gpt=openai:gpt-5-mini; repeatable.",
            "模型，或 名称=模型，例如 local 或 gpt=openai:gpt-5-mini；可重复。",
        ),
    ),
    config: str | None = typer.Option(
        None, "--config", "-c", metavar="FILE", help=say("Settings in TOML.", "TOML 设置文件。")
    ),
    host: str | None = _option("host"),
    port: int | None = _option("port"),
    default_model: str | None = _option("default_model"),
    pass_keys: bool | None = _option("pass_keys"),
    tools: str | None = _option("tools"),
    store: str | None = _option("store"),
    page: bool | None = _option("page"),
    rounds: int | None = _option("rounds"),
    seconds: float | None = _option("seconds"),
    silence: float | None = _option("silence"),
    max_body_mb: float | None = _option("max_body_mb"),
    most_running: int | None = _option("most_running"),
    open_: bool | None = _option("open"),
    check: bool = typer.Option(
        False,
        "--check",
        help=say("Only see whether everything that is named can be used.", "只检查所有设置是否可用。"),
    ),
) -> int:
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("server", "toolhand serve")
    given = {
        "models": models, "host": host, "port": port, "default_model": default_model, "pass_keys": pass_keys,
        "tools": tools, "store": store, "page": page, "rounds": rounds, "seconds": seconds, "silence": silence,
        "max_body_mb": max_body_mb, "most_running": most_running, "open": open_,
    }  # fmt: skip
    settings = read_settings(config, given)
    return asyncio.run(_checked(settings)) if check else _served(settings)


async def _checked(settings: GatewaySettings) -> int:
    from toolhand.gateway.checking import findings  # noqa: PLC0415 - an extra

    code = 0
    async for found in findings(settings):
        tell(f"{'✗' if found.problem else '✓'} {found.what}: {found.problem or found.told}")
        code = 1 if found.problem else code
    return code


def _served(settings: GatewaySettings) -> int:
    from toolhand.gateway.app import build_app  # noqa: PLC0415 - an extra
    from toolhand.gateway.serving import server_of  # noqa: PLC0415

    def told(port: int) -> None:
        # What is there now stays: a collector that went through all of it again and again would hold every answer up.
        gc.collect()
        gc.freeze()
        where = f"http://{settings.host}:{port}"
        tell(
            say(f"serving at {where} (stop with Ctrl-C)", f"正在提供服务：{where}（按 Ctrl-C 停止）"),
            is_err=True,
        )

    server_of(build_app(settings), settings, told).run()
    return 0
