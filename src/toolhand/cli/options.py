"""The options that several commands have, each written once."""

from __future__ import annotations

from typing import Any, Final

import typer

from toolhand.cli.words import say

MODEL: Final[Any] = typer.Option(
    None,
    "--model",
    "-m",
    help=say(
        "local, openai:NAME, ollama:NAME, http://…/v1#NAME",
        "local、openai:名称、ollama:名称、http://…/v1#名称",
    ),
)
TOOLS: Final[Any] = typer.Option(
    "builtin",
    "--tools",
    "-t",
    help=say(
        "builtin, web, mail, a .py file, a module, docs:FOLDER, openapi:DOCUMENT, mcp:SERVER; several with commas",
        "builtin、web、mail、.py 文件、模块名、docs:文件夹、openapi:文档 或 mcp:服务器；多个用逗号分隔",
    ),
)
DB: Final[Any] = typer.Option(
    None,
    "--db",
    metavar="FILE",
    help=say(
        "An SQLite or CSV file, or a database's URL, that may be read.",
        "允许读取的 SQLite 或 CSV 文件，或数据库 URL。",
    ),
)
ROOT: Final[Any] = typer.Option(
    None, "--root", metavar="FOLDER", help=say("A folder that may be read.", "允许读取的文件夹。")
)
PROTOCOL: Final[Any] = typer.Option(
    "auto",
    "--protocol",
    "-p",
    help=say(
        "How the model writes calls down: auto, native, json, …", "模型书写调用的方式：auto、native、json 等"
    ),
)
TURNS: Final[Any] = typer.Option(
    20,
    "--turns",
    min=1,
    help=say("The most replies of the model to one message.", "每条消息最多让模型回复几次。"),
)
CHOOSE: Final[Any] = typer.Option(
    None,
    "--choose",
    min=1,
    metavar="K",
    help=say(
        "Of many tools show the model those that the message is about, K at a time.",
        "工具很多时，每条消息只向模型展示相关的 K 个。",
    ),
)
VERBOSE: Final[Any] = typer.Option(
    False,
    "--verbose",
    "-v",
    help=say("Show raw replies, what was mended, times.", "显示模型原文、修正内容和耗时。"),
)
YES: Final[Any] = typer.Option(
    False, "--yes", "-y", help=say("Fetch the embedded model without asking.", "不询问直接下载内置模型。")
)
STORE: Final[Any] = typer.Option(
    None,
    "--store",
    metavar="STORE",
    help=say(
        "Where sessions are kept: a file, sqlite:///FILE, postgresql://…; by default TOOLHAND_STORE, or a file of yours.",
        "会话保存在哪里：文件、sqlite:///文件、postgresql://…；默认为 TOOLHAND_STORE，或用户目录下的文件。",
    ),
)
ASKING_USER: Final[Any] = typer.Option(
    "", "--user", help=say("Who you are; sessions belong to a user.", "你的用户名；会话属于用户。")
)
PERMISSIONS: Final[Any] = typer.Option(
    [], "--permission", help=say("What the user holds; repeatable.", "用户拥有的权限，可重复。")
)
USER: Final[Any] = typer.Option(None, "--user", help=say("Only this user's sessions.", "只看该用户的会话。"))
