"""`toolhand tools lint`: what in the descriptions of tools will confuse a model."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from toolhand.cli import options
from toolhand.cli.load import load_tools
from toolhand.cli.models import ensure_weights
from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.terminal import path_given, place_given
from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.core.language import language_of_person
from toolhand.core.tables import print_table
from toolhand.execution.running import run_blocking
from toolhand.toolset import Toolset

if TYPE_CHECKING:  # the command line starts without them
    from toolhand.confusions import Choices
    from toolhand.lint import Finding

FOUND: Final = 4
"""The exit code where something was found that is more than advice."""

_STYLES: Final = {"error": "red", "warning": "yellow", "advice": "cyan"}
_SAID: Final = {"error": ("error", "错误"), "warning": ("warning", "警告"), "advice": ("advice", "建议")}

SOURCES = typer.Argument(
    None,
    help=say(
        "builtin, .py files, modules, openapi:DOCUMENT; all of them are read together",
        "builtin、.py 文件、模块名或 openapi:文档；全部放在一起检查",
    ),
)
TOOLS = typer.Option(
    None,
    "--tools",
    "-t",
    help=say(
        "The same, as other commands take them; several with commas.",
        "同上，写法与其他命令相同；多个用逗号分隔。",
    ),
)
IGNORE = typer.Option(
    [],
    "--ignore",
    "-i",
    metavar="RULE[:TOOL]",
    help=say(
        "a rule to leave out, or only for a tool such as shop_*; may be repeated",
        "要忽略的规则，或只对某些工具忽略，如 规则:shop_*；可重复",
    ),
)
STRICT = typer.Option(False, "--strict", help=say("advice counts for the exit code too", "建议也计入退出码"))
AS_JSON = typer.Option(False, "--json", help=say("print the findings as JSON", "以 JSON 输出结果"))
MODEL = typer.Option(
    None,
    "--model",
    "-m",
    help=say(
        "also let this model choose among the tools for questions that it makes up, and show what it mixes up",
        "同时让该模型为自拟的问题选择工具，并显示混淆的情况",
    ),
)
QUESTIONS = typer.Option(
    2, "--questions", min=1, max=10, help=say("questions for each tool, with --model", "每个工具的问题数")
)


def lint_tools(
    sources: list[str] | None = SOURCES,
    more: str | None = TOOLS,
    ignore: list[str] = IGNORE,
    strict: bool = STRICT,
    as_json: bool = AS_JSON,
    model: str | None = MODEL,
    questions: int = QUESTIONS,
    db: str | None = options.DB,
    root: str | None = options.ROOT,
    yes: bool = options.YES,
) -> int:
    from toolhand.lint import lint  # noqa: PLC0415 - only this command needs it

    if more is not None and not more.strip():
        raise SettingsError(say("--tools is empty: name some", "--tools 是空的：请写出工具"))
    named = ",".join([*(sources or ()), *([more] if more else ())] or ["builtin"])
    tools = load_tools(named, database=place_given("--db", db), root=path_given("--root", root))
    found = lint(tools, ignore=ignore)
    choices = None if model is None else _choices(model, tools, questions, yes=yes)
    if as_json:
        tell(json.dumps(_as_json(found, choices), ensure_ascii=False, indent=2))
    else:
        _show(found, len(tools), screen())
        if choices is not None:
            _show_choices(choices, screen())
    counts = strict or any(finding.severity != "advice" for finding in found)
    is_confused = choices is not None and bool(choices.confusions)
    return FOUND if (found and counts) or is_confused else 0


def _as_json(found: list[Finding], choices: Choices | None) -> dict[str, object]:
    language = language_of_person()
    made: dict[str, object] = {"findings": [finding.to_json(language) for finding in found]}
    return made if choices is None else {**made, "choices": choices.to_json()}


def _show(found: list[Finding], count: int, console: Console) -> None:
    language = language_of_person()
    place = 1 if language == "zh" else 0
    for finding in found:
        style, severity = _STYLES[finding.severity], _SAID[finding.severity][place]
        console.print(
            f"[{style}]{severity}[/] [bold]{finding.rule}[/]: {shown(finding.message(language))}",
            highlight=False,
        )
        console.print(f"  {shown(finding.fix(language))}", style="dim", highlight=False)
    counts = Counter(finding.severity for finding in found)
    tools = "1 tool" if count == 1 else f"{count} tools"
    if not found:
        console.print(say(f"{tools}: nothing to say", f"{count} 个工具：没有问题"))
        return
    console.print(
        say(
            f"{tools}: errors {counts['error']}, warnings {counts['warning']}, advice {counts['advice']}",
            f"{count} 个工具：{counts['error']} 个错误，{counts['warning']} 个警告，{counts['advice']} 条建议",
        )
    )


def _choices(model: str, tools: Toolset, questions: int, *, yes: bool) -> Choices:
    from toolhand.confusions import Asked, choices  # noqa: PLC0415

    ensure_weights(model, screen(is_err=True), is_agreed=yes)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen(is_err=True)) as progress:
        bar = progress.add_task(say("asking the model", "正在询问模型"), total=len(tools) * questions)

        def step(asked: Asked) -> None:
            progress.update(bar, advance=1, description=shown(asked.wanted))

        return run_blocking(choices(model, tools, questions=questions, on_question=step))


def _show_choices(choices: Choices, console: Console) -> None:
    right, count = choices.right, len(choices.asked)
    console.print(
        say(
            f"the model chose the right tool for {right} of {count} questions",
            f"模型为 {count} 个问题中的 {right} 个选对了工具",
        )
    )
    if not choices.confusions:
        return
    table = Table(box=None, pad_edge=False)
    for title in (say("meant", "应选"), say("called", "实选"), say("question", "问题")):
        table.add_column(title)
    for asked in choices.confusions:
        called = ", ".join(asked.called) or say("none", "未调用")
        table.add_row(shown(asked.wanted), shown(called), shown(asked.question))
    print_table(console, table)
