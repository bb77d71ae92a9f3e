"""`toolhand run`: one question, one answer."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from toolhand.agent import Agent
from toolhand.cli import options
from toolhand.cli.load import load_tools
from toolhand.cli.models import ensure_weights
from toolhand.cli.show import Show
from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.terminal import Asker, is_person_here, path_given, place_given, read_question
from toolhand.cli.words import say
from toolhand.core.approvals import Approve, Decision, Deny
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.events import Event, RunFinished
from toolhand.core.jsonable import jsonable
from toolhand.core.messages import BoundCall
from toolhand.execution.layers import default_policies
from toolhand.execution.running import run_blocking
from toolhand.models.resolve import default_model
from toolhand.policies.approval import Ask
from toolhand.run import Limits, Run
from toolhand.toolset import Toolset

HELP = say("Answer a question with tools.", "用工具回答一个问题。")


def run(
    question: str = typer.Argument(
        help=say(
            "What you want to know; '-' reads it from standard input.", "要问的问题；“-”表示从标准输入读取。"
        )
    ),
    model: str | None = options.MODEL,
    tools: str = options.TOOLS,
    db: str | None = options.DB,
    root: str | None = options.ROOT,
    protocol: str = options.PROTOCOL,
    turns: int = options.TURNS,
    choose: int | None = options.CHOOSE,
    as_json: bool = typer.Option(
        False, "--json", help=say("Print the whole run as JSON.", "以 JSON 输出整个运行过程。")
    ),
    user: str = options.ASKING_USER,
    permissions: list[str] = options.PERMISSIONS,
    verbose: bool = options.VERBOSE,
    yes: bool = options.YES,
) -> int:
    question = read_question(question)
    setting = _Setting(
        model=model,
        tools=tools,
        database=place_given("--db", db),
        root=path_given("--root", root),
        protocol=protocol,
        turns=turns,
        choose=choose,
        user=user,
        permissions=permissions,
        is_agreed=yes,
    )
    err = screen(is_err=True)
    if as_json:  # whatever a tool or its file prints must not get between the lines of the JSON
        with contextlib.redirect_stdout(sys.stderr):
            spec, finished = _run_with(question, setting, err, None)
        tell(json.dumps(as_dict(finished, spec), ensure_ascii=False, indent=2))
    else:
        show = Show(screen(), err, is_verbose=verbose)
        _, finished = _run_with(question, setting, err, show)
    if finished.pending:
        _tell_waiting(finished, err)
    return 0 if finished.stopped == "answered" else 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """What the options say."""

    model: str | None
    tools: str
    database: Path | str | None
    root: Path | None
    protocol: str
    turns: int
    choose: int | None
    user: str
    permissions: list[str]
    is_agreed: bool


def _run_with(question: str, setting: _Setting, err: Console, show: Show | None) -> tuple[str, Run]:
    toolset = load_tools(setting.tools, database=setting.database, root=setting.root)
    if setting.model is not None and not setting.model.strip():
        raise SettingsError(
            say("--model is empty: leave it out for the default", "--model 是空的：不写则使用默认模型")
        )
    spec = setting.model or announced_default(err)
    ensure_weights(spec, err, is_agreed=setting.is_agreed)
    ask = asking(show) if is_person_here() else None
    agent = Agent(
        spec,
        toolset,
        protocol=setting.protocol,
        policies=default_policies(ask=ask),
        limits=Limits(turns=setting.turns),
        choose=setting.choose,
    )
    try:
        finished = answer(agent, question, show, user=setting.user, permissions=setting.permissions)
        tell_not_permitted(finished, toolset, err)
        return spec, finished
    finally:
        run_blocking(agent.close())


def _tell_waiting(finished: Run, err: Console) -> None:
    names = ", ".join(dict.fromkeys(pending.name for pending in finished.pending))
    sentence = say(
        f"{names} waits for approval and did not run: run the command in a terminal to be asked.",
        f"{names} 需要批准，没有执行：请在终端中运行，以便询问你。",
    )
    err.print(f"[yellow]{shown(sentence)}[/]")


def tell_not_permitted(finished: Run, tools: Toolset, err: Console) -> None:
    """Says to the person what a model is not told: which permission a refused call needs."""
    refused = {
        call.name
        for call, result in zip(finished.calls, finished.results, strict=False)
        if result.error is not None and result.error.code == ErrorCode.NOT_PERMITTED
    }
    for tool in tools:
        if tool.name not in refused:
            continue
        if tool.rules.permission:
            sentence = say(
                f"{tool.name} needs a permission: --permission {tool.rules.permission} gives it to this user.",
                f"{tool.name} 需要权限：用 --permission {tool.rules.permission} 授予当前用户。",
            )
        else:
            sentence = say(
                f"{tool.name} is not for this user: --user says who you are.",
                f"{tool.name} 不对当前用户开放：用 --user 说明你是谁。",
            )
        err.print(f"[yellow]{shown(sentence)}[/]", highlight=False)


def asking(show: Show | None) -> Ask:
    """What asks the person at the terminal whether a call may run, while nothing else is shown."""
    asker = Asker()

    async def ask(call: BoundCall, context: RunContext) -> Decision:
        del context
        arguments = json.dumps(jsonable(call.call.arguments), ensure_ascii=False)
        question = say(f"Run {call.tool.name}({arguments})?", f"执行 {call.tool.name}（{arguments}）？")
        with show.held() if show is not None else contextlib.nullcontext():
            is_agreed = await asker.confirm(question)
        return Approve() if is_agreed else Deny()

    return ask


def announced_default(err: Console) -> str:
    """The model that is used when none is named, after a line that says which and why."""
    spec, reason = default_model()
    err.print(f"[dim]{shown(spec)}: {shown(reason)}[/dim]")
    return spec


def answer(agent: Agent, question: str, show: Show | None, **options: Any) -> Run:
    """Runs a question to its end and shows it."""

    async def drive() -> Run:
        finished: Run | None = None
        try:
            async for event in agent.stream(question, **options):
                if isinstance(event, RunFinished):
                    finished = event.run
                _shown(show, event)
        finally:
            if show is not None:
                show.close()
        if finished is None:  # pragma: no cover - the stream ends with it or raises
            raise RuntimeError(say("the run ended without a result", "运行结束但没有结果"))
        return finished

    return run_blocking(drive())


def _shown(show: Show | None, event: Event) -> None:
    if show is not None:
        show(event)


def as_dict(finished: Run, model: str) -> dict[str, Any]:
    """A run for `--json`."""
    calls = [
        {
            "id": call.id,
            "name": call.name,
            "arguments": jsonable(call.arguments),
            "ok": result.ok,
            "result": jsonable(result.data),
            "error": None
            if result.error is None
            else {"code": result.error.code, "message": result.error.sentence},
        }
        for call, result in zip(finished.calls, finished.results, strict=True)
    ]
    return {
        "output": jsonable(finished.output),
        "stopped": finished.stopped,
        "model": model,
        "calls": calls,
        "usage": jsonable(finished.usage),
        "session": finished.session_id,
        "trace": finished.trace_id,
    }
