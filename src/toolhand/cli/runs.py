"""`toolhand runs`: the submitted runs, for the people who look after them."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import typer

from toolhand.cli import options
from toolhand.cli.masking import UNMASKED, masked_run
from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.stores import opened, table_of, when
from toolhand.cli.words import say
from toolhand.core.approvals import Approve, Decision, Deny
from toolhand.core.errors import SettingsError
from toolhand.core.jsonable import jsonable
from toolhand.core.tables import print_table
from toolhand.durable import tending
from toolhand.durable.inside import noted
from toolhand.durable.ledger import RunLedger
from toolhand.durable.listing import counts, list_runs, workers
from toolhand.durable.opening import ledger_of
from toolhand.durable.rows import RunRow
from toolhand.execution.running import run_blocking
from toolhand.policies.redaction import redacted_text

HELP = say("See, retry, cancel and decide about submitted runs.", "查看、重试、取消和批准已提交的运行。")

app = typer.Typer(help=HELP, no_args_is_help=True)

RUN: Any = typer.Argument(metavar="RUN", help=say("the run's id", "运行的 id"))
JSON: Any = typer.Option(False, "--json", help=say("A JSON object a line.", "每行输出一个 JSON 对象。"))
LIMIT: Any = typer.Option(50, "--limit", "-n", min=1, help=say("At most so many.", "最多显示多少条。"))

STATES = ("queued", "behind", "running", "waiting", "finished", "failed", "cancelled", "dead")
_SHORT = 60


def _in(store: str | None, work: Callable[[RunLedger], Coroutine[Any, Any, Any]]) -> Any:
    with opened(store) as found:
        return run_blocking(work(ledger_of(found)))


@app.command("list", help=say("The runs, the last submitted first.", "列出运行，最近提交的在前。"))
def list_all(
    states: list[str] = typer.Option(
        [], "--state", help=say(f"Only these: {', '.join(STATES)}.", f"只看这些状态：{'、'.join(STATES)}。")
    ),
    user: str | None = options.USER,
    session: str | None = typer.Option(
        None, "--session", "-s", help=say("Only of this session.", "只看该会话。")
    ),
    limit: int = LIMIT,
    as_json: bool = JSON,
    unmasked: bool = UNMASKED,
    store: str | None = options.STORE,
) -> None:
    for state in states:
        if state not in STATES:
            raise SettingsError(
                say(
                    f"there is no state '{state}'; there is: {', '.join(STATES)}",
                    f"没有“{state}”状态；可用：{'、'.join(STATES)}",
                )
            )

    async def work(ledger: RunLedger) -> Any:
        rows = await list_runs(ledger, states=states, user=user, session_id=session, limit=limit)
        return rows, await counts(ledger), await workers(ledger)

    rows, there, working = _in(store, work)
    _show_rows(rows, as_json=as_json, unmasked=unmasked)
    if not as_json:
        told = ", ".join(f"{count} {state}" for state, count in there.items()) or "0"
        busy = sum(worker.running for worker in working if worker.silent < 30)
        alive = sum(worker.silent < 30 for worker in working)
        line = say(
            f"all in all: {told}; workers: {alive}, runs under way: {busy}",
            f"合计：{told}；{alive} 个 worker，正在执行 {busy} 个运行",
        )
        screen().print(f"[dim]{shown(line)}[/]")


def _show_rows(rows: list[RunRow], *, as_json: bool, unmasked: bool = False) -> None:
    if as_json:
        for row in rows:
            tell(json.dumps(_told(row, unmasked=unmasked), ensure_ascii=False))
        return
    if not rows:
        screen().print(say("there are no such runs", "没有这样的运行"))
        return
    table = table_of(
        "run:运行", "state:状态", "session:会话", "user:用户", "submitted:提交时间", "tries:次数", "text:内容"
    )
    for row in rows:
        text = row.error or row.text
        text = " ".join((text if unmasked else redacted_text(text)).split())
        table.add_row(
            *(shown(row.id), row.state, shown(row.session_id), shown(row.user), when(row.created)),
            *(str(row.attempts), shown(text if len(text) <= _SHORT else f"{text[:_SHORT]}…")),
        )
    print_table(screen(), table)


@app.command("dead", help=say("Runs that were given up, and why.", "已放弃的运行及原因。"))
def dead(
    limit: int = LIMIT,
    as_json: bool = JSON,
    unmasked: bool = UNMASKED,
    store: str | None = options.STORE,
) -> None:
    rows = _in(store, lambda ledger: list_runs(ledger, states=["dead"], limit=limit))
    _show_rows(rows, as_json=as_json, unmasked=unmasked)


@app.command("show", help=say("All that is known of a run.", "显示一个运行的全部信息。"))
def show(
    run: str = RUN, as_json: bool = JSON, unmasked: bool = UNMASKED, store: str | None = options.STORE
) -> None:
    row = _in(store, lambda ledger: _row(ledger, run))
    told = _told(row, unmasked=unmasked)
    if as_json:
        tell(json.dumps(told, ensure_ascii=False))
        return
    for key, value in told.items():
        if value in ("", 0, 0.0, {}, [], None):
            continue
        text = when(value) if key in ("created", "due", "started", "ended") else value
        text = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        screen().print(f"[bold]{key}[/]: {shown(text)}", highlight=False)


def _told(row: RunRow, *, unmasked: bool) -> Any:
    told = tending.as_json(row)
    return jsonable(told if unmasked else masked_run(told))


async def _row(ledger: RunLedger, run: str) -> RunRow:
    row = await ledger.find(run)
    if row is None:
        raise tending.no_such(ledger, run)
    return row


@app.command("retry", help=say("Have a run tried again.", "重试运行。"))
def retry(
    runs: list[str] = typer.Argument(metavar="RUN…", help=say("their ids", "运行的 id")),
    store: str | None = options.STORE,
) -> None:
    for run in runs:
        _in(store, lambda ledger: tending.retry(ledger, run))  # noqa: B023 - called at once
        tell(say(f"{run} is tried again", f"正在重试 {run}"))


@app.command("cancel", help=say("End a run.", "结束运行。"))
def cancel(
    runs: list[str] = typer.Argument(metavar="RUN…", help=say("their ids", "运行的 id")),
    store: str | None = options.STORE,
) -> int:
    are_all = True
    for run in runs:
        done = _in(store, lambda ledger: tending.cancel(ledger, run))  # noqa: B023 - called at once
        are_all = are_all and done
        tell(
            say(f"{run} is cancelled", f"已取消 {run}")
            if done
            else say(f"{run} had ended already", f"{run} 已经结束")
        )
    return 0 if are_all else 1


WAITING: Any = typer.Argument(
    metavar="RUN", help=say("the run's id, or its session's name", "运行的 id，或它的会话名称")
)
CALL: Any = typer.Option(None, "--call", help=say("Only this call, by its id.", "只针对这个调用（按 id）。"))
BY: Any = typer.Option(
    "",
    "--by",
    metavar="NAME",
    help=say(
        "Who decides, for the audit; by default whoever is logged in on this machine.",
        "由谁决定，记入审计；默认是本机的登录用户。",
    ),
)


@app.command("approve", help=say("Let the calls run that a run waits for.", "批准运行所等待的调用。"))
def approve(
    run: str = WAITING, call: str | None = CALL, by: str = BY, store: str | None = options.STORE
) -> None:
    _decide(run, call, Approve(), by, store)


@app.command("deny", help=say("Do not let the calls run that a run waits for.", "拒绝运行所等待的调用。"))
def deny(
    run: str = WAITING,
    reason: str = typer.Option("", "--reason", help=say("A sentence for the model.", "给模型的一句话。")),
    call: str | None = CALL,
    by: str = BY,
    store: str | None = options.STORE,
) -> None:
    _decide(run, call, Deny(reason), by, store)


def _decide(name: str, call: str | None, decision: Approve | Deny, by: str, store: str | None) -> None:
    async def work(ledger: RunLedger) -> tuple[str, list[str]]:
        row = await _waiting(ledger, name)
        pending = [p for p in row.pending if call in (None, p.call_id, p.approval_id)]
        told, usual = await noted(ledger, row), by.strip() or _here()
        decisions: dict[str, Decision] = {
            p.approval_id: replace(
                decision, by=by.strip() or _who(told.get(p.approval_id), decision) or usual
            )
            for p in pending
        }
        await tending.decide(ledger, row.id, decisions)
        return row.id, [p.name for p in pending]

    run_id, names = _in(store, work)
    what = ", ".join(names)
    tell(
        say(
            f"decided about {what}: a worker goes on with {run_id}",
            f"已对 {what} 做出决定：worker 会继续 {run_id}",
        )
    )


async def _waiting(ledger: RunLedger, name: str) -> RunRow:
    """The run of a name, or the one that waits in the session of that name."""
    row = await ledger.find(name)
    if row is None:
        row = next(iter(await list_runs(ledger, states=["waiting"], session_id=name, limit=1)), None)
    if row is None:
        raise SettingsError(
            say(
                f"there is no run '{name}' in the store {ledger.store.name}, and no session of that name in which one waits",
                f"存储 {ledger.store.name} 里没有运行“{name}”，也没有运行在名为它的会话里等待",
            )
        )
    return row


def _who(told: Decision | None, decision: Approve | Deny) -> str:
    """Who decided the same already, where that was noted in the session."""
    return told.by if isinstance(told, type(decision)) else ""


def _here() -> str:
    """Whoever is logged in; a number where the machine knows no name."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return f"uid-{os.getuid()}"
