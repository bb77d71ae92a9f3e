"""`toolhand tools`: what a model would see."""

from __future__ import annotations

import json
import re
from typing import Final

import typer
from rich.table import Table

from toolhand.cli.load import load_tools
from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.terminal import path_given, place_given
from toolhand.cli.tools_lint import lint_tools
from toolhand.cli.words import say
from toolhand.core.language import language_of_person
from toolhand.core.tables import print_table
from toolhand.toolset import Toolset

HELP = say("Look at tools as a model would.", "以模型的视角查看工具。")

_EFFECTS: Final = {"reads": "读取", "writes": "写入", "destroys": "删除"}
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]")

app = typer.Typer(help=HELP, no_args_is_help=True)

TOOLS = typer.Option(
    "builtin",
    "--tools",
    "-t",
    help=say(
        "builtin, web, mail, a .py file, a module, docs:FOLDER, openapi:DOCUMENT, mcp:SERVER; several with commas",
        "builtin、web、mail、.py 文件、模块名、docs:文件夹、openapi:文档 或 mcp:服务器；多个用逗号分隔",
    ),
)
DB = typer.Option(
    None,
    "--db",
    help=say(
        "An SQLite file or a database's URL, for the SQL tools.",
        "供 SQL 工具使用的 SQLite 文件或数据库 URL。",
    ),
)
ROOT = typer.Option(None, "--root", help=say("A folder, for the file tools.", "供文件工具使用的文件夹。"))


@app.command("list", help=say("List tools with their first line.", "列出工具及其第一行说明。"))
def list_tools(tools: str = TOOLS, db: str | None = DB, root: str | None = ROOT) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for tool in load_tools(tools, database=place_given("--db", db), root=path_given("--root", root)):
        first = _first_line(tool.description)
        parameters = ", ".join(name if name in tool.required else f"{name}?" for name in tool.properties)
        effect = say(tool.rules.effect, _EFFECTS[tool.rules.effect])
        table.add_row(f"[bold]{shown(tool.name)}[/]({shown(parameters)})", shown(first), effect)
    print_table(screen(), table)


def _first_line(description: str) -> str:
    """The line that says most to the person: the first, or the first in Chinese where there is one for a Chinese reader."""
    lines = description.strip().split("\n")
    if language_of_person() == "zh":
        return next((line for line in lines if _CHINESE.search(line)), lines[0])
    return lines[0]


@app.command("show", help=say("Show one tool's schema.", "显示一个工具的 schema。"))
def show_tool(
    name: str = typer.Argument(help=say("the tool's name", "工具名称")),
    tools: str = TOOLS,
    db: str | None = DB,
    root: str | None = ROOT,
    provider: str = typer.Option("openai", "--provider", help="openai, anthropic, mcp"),
) -> None:
    found = load_tools(tools, database=place_given("--db", db), root=path_given("--root", root))
    schema = Toolset([found[name]]).schemas(provider)[0]
    tell(json.dumps(schema, ensure_ascii=False, indent=2))


@app.command("search", help=say("Find the tools that a question is about.", "查找与问题相关的工具。"))
def search_tools(
    question: str = typer.Argument(help=say("in any words", "用任何说法")),
    tools: str = TOOLS,
    db: str | None = DB,
    root: str | None = ROOT,
    count: int = typer.Option(10, "--count", "-k", min=1, help=say("how many at most", "最多几个")),
) -> int:
    from toolhand.choosing.index import ToolIndex  # noqa: PLC0415 - only this command needs it

    found = load_tools(tools, database=place_given("--db", db), root=path_given("--root", root))
    hits = ToolIndex(found).search(question, count)
    table = Table(box=None, pad_edge=False, show_header=False)
    for hit in hits:
        first = found[hit.name].description.strip().split("\n")[0]
        table.add_row(f"{hit.score:.1f}", f"[bold]{shown(hit.name)}[/]", shown(first))
    if hits:
        print_table(screen(), table)
    else:
        screen().print(say("no tool shares a word with this", "没有工具与此有共同的词"))
    return 0 if hits else 1


app.command("lint", help=say("Name what will confuse a model.", "指出会让模型混淆的地方。"))(lint_tools)
