"""`toolhand sandbox`: what this machine can run code in, seen and not guessed; and a program run in it."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from toolhand.cli.load import load_tools
from toolhand.cli.shown import tell
from toolhand.cli.words import say
from toolhand.core import plugins
from toolhand.core.context import RunContext
from toolhand.core.errors import MissingExtraError, SettingsError
from toolhand.core.extras import install_command
from toolhand.core.language import language_of_person
from toolhand.core.plain import plain
from toolhand.sandbox import Limits, SandboxError, run_code

HELP = say(
    "Run model-written code safely: check this machine, run a file.",
    "安全运行模型写的代码：检查本机、运行文件。",
)

app = typer.Typer(help=HELP, no_args_is_help=True)

_LIBRARIES = ("numpy", "pandas", "matplotlib")


@app.command(
    "check",
    help=say("Try every sandbox on this machine, with a self-test.", "在本机逐一试验各种沙箱，并做自检。"),
)
def check() -> int:
    table = Table(box=None, pad_edge=False)
    for title in (
        say("sandbox", "沙箱"),
        say("holds", "可用"),
        say("walls, or what is missing", "隔离手段，或缺少什么"),
    ):
        table.add_column(title, overflow="fold")
    rows = [*_jails(), *map(_backend, ("monty", "process", "container"))]
    for name, is_held, said in rows:
        table.add_row(name, say("yes", "是") if is_held else say("no", "否"), escape(said))
    console = Console(soft_wrap=True)
    console.print(table)
    there = [name for name in _LIBRARIES if find_spec(name) is not None]
    missing = [name for name in _LIBRARIES if name not in there]
    console.print(
        say("libraries for full Python: ", "完整 Python 的库：") + (", ".join(there) or say("none", "无"))
    )
    if missing:
        console.print(
            escape(
                say(f"for {', '.join(missing)}: ", f"要使用 {', '.join(missing)}：")
                + install_command("sandbox-full")
            )
        )
    return 0 if any(is_held for name, is_held, _ in rows if name in {"monty", "process", "container"}) else 1


def _jails() -> list[tuple[str, bool, str]]:
    if sys.platform != "linux":
        return []
    from toolhand.jails.selftest import failure  # noqa: PLC0415 - only Linux has what it loads

    found = []
    for name in ("namespaces", "landlock"):
        began = time.monotonic()
        reason = failure(name)
        passed = say("the self-test passed", "自检通过")
        found.append((f"  {name}", not reason, reason or f"{passed} ({time.monotonic() - began:.2f} s)"))
    return found


def _backend(name: str) -> tuple[str, bool, str]:
    try:
        return name, True, " + ".join(plugins.member("sandbox.backends", name, "BACKEND").walls())
    except (SandboxError, MissingExtraError) as error:
        return name, False, str(error)


@app.command("run", help=say("Run a Python file in the sandbox.", "在沙箱中运行一个 Python 文件。"))
def run(
    file: str = typer.Argument(help=say("a file; '-' for standard input", "文件；“-”表示标准输入")),
    tools: str = typer.Option(
        "",
        "--tools",
        "-t",
        help=say(
            "builtin, a .py file, a module; several with commas", "builtin、.py 文件或模块名；多个用逗号分隔"
        ),
    ),
    backend: str = typer.Option(
        "auto", help=say("auto, monty, process or container", "auto、monty、process 或 container")
    ),
    seconds: float = typer.Option(30.0, help=say("How long it may take.", "最长运行时间（秒）。")),
    memory: int = typer.Option(256, help=say("Megabytes that it may use.", "最多使用的内存（MB）。")),
    into: Path | None = typer.Option(
        None, "--files", help=say("Where to put the files that it leaves.", "它留下的文件放到哪里。")
    ),
) -> int:
    outcome = run_code(
        _source(file),
        load_tools(tools) if tools else (),
        limits=Limits(seconds=seconds, memory_mb=memory),
        backend=backend,
        context=RunContext(language=language_of_person()),
    )
    typer.echo(plain(outcome.output), nl=False)
    if outcome.value is not None:
        tell(_shown(outcome.value))
    for name, content in outcome.files.items():
        if into is None:
            kept = say(
                f"it left {name}: give --files FOLDER to keep it", f"留下了 {name}：用 --files 目录 保存"
            )
            tell(kept, is_err=True)
        else:
            into.mkdir(parents=True, exist_ok=True)
            (into / name).write_bytes(content)
    if outcome.error is not None:
        tell(f"{say('error', '错误')}: {outcome.error}", is_err=True)
    return 0 if outcome.ok else 1


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _source(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or say("it is not text", "不是文本")
        raise SettingsError(f"{file}: {said}") from error
