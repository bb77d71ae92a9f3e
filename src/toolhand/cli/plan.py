"""`toolhand plan`: look at a plan, check it, run it, go on with it."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import typer

from toolhand.cli.load import load_tools
from toolhand.cli.run import asking
from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.terminal import is_person_here
from toolhand.cli.words import say
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.events import Event
from toolhand.core.language import Language, language_of_person
from toolhand.core.plan_events import StepFinished
from toolhand.execution.layers import default_policies
from toolhand.execution.running import run_blocking
from toolhand.parsing.plans.values import Unseen
from toolhand.plan import Plan, Rules, check, explain, mermaid, read
from toolhand.plan_runs import PlanRun, resume_plan, run_plan
from toolhand.policies import Policy
from toolhand.toolset import Toolset

HELP = say("Read, check and run plans.", "阅读、检查和运行计划。")

app = typer.Typer(help=HELP, no_args_is_help=True)

FILE = typer.Argument(
    help=say("a file with a plan; '-' for standard input", "写有计划的文件；“-”表示标准输入")
)
TOOLS = typer.Option(
    "builtin",
    "--tools",
    "-t",
    help=say(
        "builtin, a .py file, a module; several with commas", "builtin、.py 文件或模块名；多个用逗号分隔"
    ),
)
UNDO = typer.Option(
    False, "--undo", help=say("Undo finished writing steps if it fails.", "失败时撤销已完成的写入步骤。")
)
STORE = typer.Option(None, "--store", help=say("Where the session is kept.", "会话保存的位置。"))
JSON = typer.Option(False, "--json", help=say("Print the outcome as JSON.", "以 JSON 输出结果。"))


@app.command("explain", help=say("Show a plan as a numbered list.", "把计划显示为编号列表。"))
def explain_plan(
    file: str = FILE,
    as_mermaid: bool = typer.Option(
        False, "--mermaid", help=say("As a Mermaid flow chart.", "显示为 Mermaid 流程图。")
    ),
) -> int:
    language = language_of_person()
    plan = read(_source(file), language=language)
    if plan.problems:
        return _complain(plan, ())
    tell((mermaid if as_mermaid else explain)(plan, language))
    return 0


@app.command(
    "check", help=say("Name all that is wrong with a plan; nothing runs.", "指出计划的所有问题，不执行。")
)
def check_plan(file: str = FILE, tools: str = TOOLS) -> int:
    language = language_of_person()
    plan, toolset = read(_source(file), language=language), load_tools(tools)
    problems = _problems(plan, toolset, language)
    if problems:
        return _complain(plan, problems)
    for fix in plan.fixes:
        taken = f": {fix.before} → {fix.after}" if fix.after is not None else ""
        tell(say(f"mended: {fix.kind}{taken}", f"已修正：{fix.kind}{taken}"))
    count = len(plan.steps)
    tell(say(f"all is well: {count} steps", f"没有问题：共 {count} 步"))
    return 0


@app.command("run", help=say("Check a plan and run it.", "检查并运行计划。"))
def run_file(
    file: str = FILE,
    tools: str = TOOLS,
    dry: bool = typer.Option(False, "--dry-run", help=say("Run only tools that read.", "只运行读取类工具。")),
    undo: bool = UNDO,
    session: str = typer.Option(
        "", "--session", help=say("A name by which it can be resumed.", "会话名称，可据此继续运行。")
    ),
    store: str | None = STORE,
    as_json: bool = JSON,
) -> int:
    source, toolset = _source(file), load_tools(tools)
    show = None if as_json else _Steps()
    options: dict[str, Any] = {"session": session} if session else {}
    run = _quietly(
        run_plan(
            source,
            toolset,
            rules=Rules(is_dry=dry, undo=undo),
            store=store,
            policies=_policies(),
            language=language_of_person(),
            on_event=show,
            **options,
        ),
        as_json=as_json,
    )
    return _told(run, session, as_json=as_json)


@app.command("resume", help=say("Go on with a plan that was interrupted.", "继续运行被中断的计划。"))
def resume_file(
    session: str = typer.Argument(help=say("the session's name", "会话名称")),
    tools: str = TOOLS,
    undo: bool = UNDO,
    store: str | None = STORE,
    as_json: bool = JSON,
) -> int:
    show = None if as_json else _Steps()
    run = _quietly(
        resume_plan(
            session,
            load_tools(tools),
            rules=Rules(undo=undo),
            store=store,
            policies=_policies(),
            language=language_of_person(),
            on_event=show,
        ),
        as_json=as_json,
    )
    return _told(run, session, as_json=as_json)


def _quietly(work: Coroutine[Any, Any, PlanRun], *, as_json: bool) -> PlanRun:
    """Runs; whatever a tool prints does not get between the lines of the JSON."""
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        return run_blocking(work)


def _source(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(
            say(f"the plan '{file}' cannot be read: {reason}", f"无法读取计划“{file}”：{reason}")
        ) from None


def _policies() -> tuple[Policy, ...] | None:
    return default_policies(ask=asking(None)) if is_person_here() else None


def _problems(plan: Plan, tools: Toolset, language: Language) -> tuple[Any, ...]:
    context = RunContext(language=language)
    return check(plan, tools, lambda call: tools.dispatch.rebind(call, context), language=language).problems


def _complain(plan: Plan, problems: tuple[Any, ...]) -> int:
    for problem in problems or plan.problems:
        tell(problem.sentence, is_err=True)
    return 1


class _Steps:
    """Shows each step as it ends."""

    def __init__(self) -> None:
        self._console = screen(has_colours=False)

    def __call__(self, event: Event) -> None:
        if not isinstance(event, StepFinished):
            return
        result, error = event.result, event.result.error
        if isinstance(result.data, Unseen):
            mark, said = "[dim]○[/]", say("would run", "将会执行")
        elif error is not None:
            mark = "[yellow]…[/]" if error.code is ErrorCode.APPROVAL_REQUIRED else "[red]✗[/]"
            said = error.sentence
        else:
            mark, said = "[green]✓[/]", json.dumps(result.data, ensure_ascii=False, default=str)
        self._console.print(f"{mark} {event.path}. {shown(event.call.name)}: {shown(said[:500])}")


def _told(run: PlanRun, session: str, *, as_json: bool) -> int:
    is_well = run.ending in {"answered", "done"}
    if as_json:
        told = {
            "ending": run.ending,
            "answer": run.answer,
            "steps": run.steps,
            "error": run.error,
            "undone": run.undone,
        }
        tell(json.dumps(told, ensure_ascii=False, indent=2, default=str))
        return 0 if is_well else 3
    for step in run.steps:
        if "skipped" in step:
            tell(
                say(
                    f"- {step['step']}. not run: {step['skipped']}",
                    f"- {step['step']}. 未执行：{step['skipped']}",
                )
            )
    for undone in run.undone:
        said = undone["call"] if undone["ok"] else undone["reason"]
        word = say("undone" if undone["ok"] else "not undone", "已撤销" if undone["ok"] else "未撤销")
        tell(f"{word}: {undone['step']}. {said}")
    if run.ending == "answered":
        tell(run.answer if isinstance(run.answer, str) else json.dumps(run.answer, ensure_ascii=False))
    elif run.ending == "waiting":
        names = ", ".join(pending.name for pending in run.pending)
        hint = (
            say(f"; go on with: toolhand plan resume {session}", f"；继续：toolhand plan resume {session}")
            if session
            else ""
        )
        tell(say(f"a person has to agree to {names}{hint}", f"{names} 需要有人同意{hint}"), is_err=True)
    elif run.error:
        tell(run.error, is_err=True)
    return 0 if is_well else 3
