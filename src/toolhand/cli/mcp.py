"""`toolhand mcp`: tools as an MCP server."""

from __future__ import annotations

import asyncio
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from toolhand.cli.load import load_tools
from toolhand.cli.options import DB, PERMISSIONS, ROOT
from toolhand.cli.terminal import path_given, place_given
from toolhand.cli.words import say
from toolhand.core.errors import MissingExtraError
from toolhand.core.language import language_of_person

if TYPE_CHECKING:
    from toolhand.mcp_server import Serving

HELP = say(
    "Serve tools to other programs by MCP, with every policy in force.",
    "以 MCP 向其他程序提供工具，所有策略照常生效。",
)

TOKEN = "TOOLHAND_MCP_TOKEN"  # noqa: S105 - the variable's name
"""The environment variable with the token that clients over HTTP have to send."""


def mcp(
    tools: str = typer.Argument(
        "builtin",
        help=say(
            "builtin, a .py file, a module, openapi:DOCUMENT; several with commas",
            "builtin、.py 文件、模块名或 openapi:文档；多个用逗号分隔",
        ),
    ),
    http: bool = typer.Option(
        False, "--http", help=say("Over HTTP instead of standard streams.", "使用 HTTP，而不是标准输入输出。")
    ),
    host: str = typer.Option("127.0.0.1", "--host", help=say("Where to listen.", "监听地址。")),
    port: int = typer.Option(8000, "--port", min=0, max=65535, help=say("The port.", "端口。")),
    path: str = typer.Option("/mcp", "--path", help=say("Where clients find it.", "客户端访问的路径。")),
    name: str | None = typer.Option(None, "--name", help=say("What it calls itself.", "服务器名称。")),
    user: str = typer.Option("", "--user", help=say("For whom it acts.", "代表哪个用户。")),
    permissions: list[str] = PERMISSIONS,
    roles: list[str] = typer.Option(
        [], "--role", help=say("What the user is; repeatable.", "用户的角色，可重复。")
    ),
    db: str | None = DB,
    root: str | None = ROOT,
) -> int:
    if find_spec("mcp") is None:
        raise MissingExtraError("mcp", "toolhand mcp")
    from toolhand.mcp_server import Serving  # noqa: PLC0415 - an extra
    from toolhand.mcp_server.stdio import output_aside, serve_stdio  # noqa: PLC0415

    with output_aside():  # what a module prints when it is loaded is no message either
        found = load_tools(tools, database=place_given("--db", db), root=path_given("--root", root))
    serving = Serving(
        found,
        name=name or Path(tools.partition(",")[0]).stem,
        user=user,
        permissions=permissions,
        roles=roles,
        language=language_of_person(),
    )
    asyncio.run(_over_http(serving, host, port, path) if http else serve_stdio(serving))
    return 0


async def _over_http(serving: Serving, host: str, port: int, path: str) -> None:
    from toolhand.mcp_server.http import serve_http  # noqa: PLC0415 - an extra

    def tell(port: int) -> None:
        where, count = f"http://{host}:{port}{path}", len(serving.tools)
        typer.echo(say(f"serving {count} tools at {where}", f"正在提供 {count} 个工具：{where}"), err=True)

    token = os.environ.get(TOKEN, "")
    await serve_http(serving, host=host, port=port, path=path, token=token, on_start=tell)
