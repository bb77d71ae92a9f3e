"""`toolhand drift`: what models wrote otherwise than they should, counted, and made into cases for the reader."""

from __future__ import annotations

import os
from pathlib import Path

import typer
from rich.table import Table

from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.core.tables import print_table
from toolhand.observability.defaults import VARIABLE
from toolhand.observability.drift import DriftLog, DriftRecord, counted
from toolhand.observability.jsonl import line_of

HELP = say(
    "Replies that could be read only with liberties, or not at all.",
    "需要修正才能读懂、或无法读懂的模型回复。",
)

_EXCERPT_CHARACTERS = 100

app = typer.Typer(help=HELP, no_args_is_help=False)

LOG = typer.Option(
    None,
    "--log",
    help=say(
        f"the drift log; by default the file that {VARIABLE} names",
        f"漂移日志文件，默认为 {VARIABLE} 指定的文件",
    ),
)


@app.callback(invoke_without_command=True)
def list_records(
    context: typer.Context,
    log: Path | None = LOG,
    count: bool = typer.Option(
        False, "--count", help=say("count the patterns instead", "按模式统计次数，而不是逐条列出")
    ),
) -> None:
    context.obj = log
    if context.invoked_subcommand is not None:
        return
    records = _records(log)
    table = Table(box=None, pad_edge=False)
    if count:
        for title in (say("count", "次数"), say("model", "模型"), say("pattern", "模式")):
            table.add_column(title)
        for pattern, model, times in counted(records):
            table.add_row(str(times), shown(model), shown(pattern))
    else:
        for title in (
            "#",
            say("time", "时间"),
            say("model", "模型"),
            say("pattern", "模式"),
            say("text", "原文"),
        ):
            table.add_column(title)
        for number, record in enumerate(records, 1):
            table.add_row(
                str(number),
                record.time[:19],
                shown(record.model),
                shown(record.pattern),
                shown(_excerpt(record)),
            )
    print_table(screen(), table)


@app.command(
    "case",
    help=say(
        "Print one record as a case for tests/cases/reading.", "把一条记录打印成 tests/cases/reading 的用例。"
    ),
)
def print_case(
    context: typer.Context,
    number: int = typer.Argument(help=say("its number in the list", "列表中的序号")),
    log: Path | None = LOG,
) -> None:
    records = _records(log or context.obj)
    if not 1 <= number <= len(records):
        raise SettingsError(
            say(
                f"there is no record {number}: the log holds {len(records)}",
                f"没有第 {number} 条记录：日志共有 {len(records)} 条",
            )
        )
    tell(line_of(records[number - 1].case()))


def _records(log: Path | None) -> list[DriftRecord]:
    path = log or Path(os.environ.get(VARIABLE, "").strip() or os.devnull)
    if log is None and path == Path(os.devnull):
        raise SettingsError(
            say(
                f"no drift log is named: give --log FILE or set {VARIABLE}",
                f"没有指定漂移日志：请使用 --log 文件，或设置 {VARIABLE}",
            )
        )
    if not path.expanduser().exists():
        raise SettingsError(say(f"there is no drift log at '{path}'", f"“{path}”处没有漂移日志"))
    return list(DriftLog(path, keep_days=None).records())


def _excerpt(record: DriftRecord) -> str:
    text = " ".join((record.raw or line_of(list(record.sent))).split())
    return text if len(text) <= _EXCERPT_CHARACTERS else f"{text[:_EXCERPT_CHARACTERS]}…"
