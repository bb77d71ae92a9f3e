"""`toolhand models`: the embedded models and their weights."""

from __future__ import annotations

import os
import sys

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.words import say
from toolhand.core.errors import WeightsError
from toolhand.core.tables import print_table
from toolhand.models.resolve import ADAPTERS, providers
from toolhand.models.weights import Entry, catalogue, find, is_present, path_of, pull, remove

HELP = say(
    "The embedded models: list, fetch, remove. The providers: list.",
    "内置模型：列出、下载、删除。服务商：列出。",
)

app = typer.Typer(help=HELP, no_args_is_help=True)

NAME = typer.Argument(
    help=say(
        "a name from `toolhand models list`, or local, local:small",
        "`toolhand models list` 中的名称，或 local、local:small",
    )
)


@app.command("list", help=say("Show the catalogue and what is here.", "显示模型目录以及已下载的模型。"))
def list_models() -> None:
    table = Table(box=None, pad_edge=False)
    for title in (
        say("name", "名称"),
        say("alias", "别名"),
        say("size", "大小"),
        say("here", "已下载"),
        say("about", "说明"),
    ):
        table.add_column(title)
    for entry in catalogue():
        size = f"{entry.size_bytes / 1e6:,.0f} MB" if entry.size_bytes else "?"
        here = say("yes", "是") if is_present(entry) else "-"
        table.add_row(entry.name, ", ".join(entry.aliases), size, here, say(entry.about, entry.about_zh))
    print_table(screen(), table)


@app.command(
    "providers",
    help=say(
        "Show the providers, their key variables and which are set.", "显示服务商、密钥变量以及哪些已设置。"
    ),
)
def list_providers() -> None:
    table = Table(box=None, pad_edge=False)
    for title in (
        say("written as", "写法"),
        say("key variable", "密钥变量"),
        say("set", "已设置"),
        say("address", "地址"),
    ):
        table.add_column(title, overflow="fold")
    for name, row in ({**ADAPTERS, **providers()}).items():
        variable, base = row["key_variable"], row.get("base_variable", "")
        has_key = bool(os.environ.get(variable)) or not row.get("needs_key", True)
        address = (os.environ.get(base) if base else "") or row.get("base_url") or f"{base}=…"
        table.add_row(
            f"{name}:{say('NAME', '名称')}", variable, say("yes", "是") if has_key else "-", shown(address)
        )
    print_table(screen(), table)


@app.command("pull", help=say("Fetch a model's weights.", "下载模型权重。"))
def pull_model(name: str = NAME) -> None:
    fetch(find(name), screen(is_err=True))


@app.command("path", help=say("Print where a model's weights are.", "打印模型权重的路径。"))
def print_path(name: str = NAME) -> None:
    entry = find(name)
    if not is_present(entry):
        raise WeightsError(_missing(entry))
    tell(str(path_of(entry)))


@app.command("rm", help=say("Remove a model's weights.", "删除模型权重。"))
def remove_model(name: str = NAME) -> None:
    entry = find(name)
    freed = remove(entry)
    tell(say(f"{entry.name}: {freed / 1e6:,.0f} MB freed", f"{entry.name}：已释放 {freed / 1e6:,.0f} MB"))


def _missing(entry: Entry) -> str:
    command = f"`toolhand models pull {entry.name}`"
    return say(
        f"the weights of {entry.name} are not here: fetch them with {command}",
        f"{entry.name} 的权重不在本机：请用 {command} 下载",
    )


def ensure_weights(spec: str, err: Console, *, is_agreed: bool) -> None:
    """Fetches the weights of an embedded model that is not here; a person is asked first.

    Args:
        spec: the model's name as the user gave it; anything but "local…" is left alone.
        err: where to ask and to show the progress.
        is_agreed: whether the person has agreed already.

    Raises:
        WeightsError: when the weights are not here and nobody agreed to fetch them.
    """
    if (spec != "local" and not spec.startswith("local:")) or spec.endswith(".gguf"):
        return  # a file of the person's own is there, or the adapter says that it is not
    entry = find(spec)
    if is_present(entry):
        return
    if not is_agreed:
        if not (sys.stdin.isatty() and err.is_terminal):
            raise WeightsError(_missing(entry))
        size = f"{entry.size_bytes / 1e9:.1f} GB" if entry.size_bytes else "?"
        question = say(
            f"Fetch the embedded model {entry.name} ({size})?", f"下载内置模型 {entry.name}（{size}）？"
        )
        if not typer.confirm(question, default=True, err=True):
            raise WeightsError(_missing(entry))
    fetch(entry, err)


def fetch(entry: Entry, err: Console) -> None:
    """Fetches weights with a progress bar and ends with a line that says what happened."""
    if is_present(entry):
        err.print(say(f"{entry.name} is here already", f"{entry.name} 已在本机"))
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=False) as progress:
        task = progress.add_task(entry.name, total=entry.size_bytes or None)

        def report(done_bytes: int, total_bytes: int | None) -> None:
            progress.update(task, completed=done_bytes, total=total_bytes)

        def tell(sentence: str) -> None:
            progress.console.print(f"[dim]{shown(sentence)}[/dim]")

        pull(entry, progress=report, say=tell)
    err.print(say(f"{entry.name} is ready", f"{entry.name} 已就绪"))
