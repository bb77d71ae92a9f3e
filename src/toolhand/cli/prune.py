"""`toolhand prune`: clears away what is old."""

from __future__ import annotations

import re
from typing import Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from toolhand.cli import options
from toolhand.cli.shown import screen, tell
from toolhand.cli.stores import UNASKED, confirm, opened
from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.core.plain import plain
from toolhand.durable.opening import has_runs, ledger_of
from toolhand.durable.retention import Pruned, prune_sessions
from toolhand.durable.retention import prune as prune_store
from toolhand.execution.running import run_blocking
from toolhand.sessions.store import SessionStore

HELP = say("Remove old sessions, runs and audit records for good.", "永久删除旧的会话、运行和审计记录。")

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def prune(
    older_than: str | None = typer.Option(
        None,
        "--older-than",
        metavar="AGE",
        help=say("What was not used for so long: 90d, 12h, 2w.", "多久未使用的：90d、12h、2w。"),
    ),
    sessions: list[str] = typer.Option(
        [],
        "--session",
        "-s",
        help=say("This session, whatever its age; repeatable.", "该会话，不论新旧，可重复。"),
    ),
    keep_sessions: bool = typer.Option(
        False, "--keep-sessions", help=say("Only runs and the audit.", "只删除运行和审计记录。")
    ),
    keep_audit: bool = typer.Option(False, "--keep-audit", help=say("Not the audit.", "保留审计记录。")),
    yes: bool = UNASKED,
    store: str | None = options.STORE,
) -> None:
    if (older_than is None) == (not sessions):
        raise SettingsError(
            say(
                "say what to remove: --older-than 90d, or --session NAME",
                "请说明删除什么：--older-than 90d 或 --session 名称",
            )
        )
    seconds = 0.0 if older_than is None else _seconds(older_than)
    with opened(store) as found:
        if not yes:
            what = say(f"what is older than {older_than}", f"早于 {older_than} 的内容")
            names = plain(say(", ", "、").join(sessions))
            confirm(
                say(
                    f"Remove {names or what} from {found.name} for good?",
                    f"从 {found.name} 永久删除{names or what}？",
                )
            )
        ledger = _ledger(found)
        if sessions:
            pruned = run_blocking(prune_sessions(found, ledger, sessions))
        else:
            pruned = _with_progress(found, ledger, seconds, not keep_sessions, not keep_audit)
    tell(_words(pruned))


def _words(pruned: Pruned) -> str:
    return say(
        f"removed {pruned.sessions} sessions, {pruned.runs} runs and {pruned.audit} records of the audit",
        f"已删除 {pruned.sessions} 个会话、{pruned.runs} 个运行、{pruned.audit} 条审计记录",
    )


def _with_progress(
    store: SessionStore, ledger: Any, seconds: float, with_sessions: bool, with_audit: bool
) -> Pruned:
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=screen(is_err=True), transient=True) as progress:
        task = progress.add_task(_words(Pruned()), total=None)
        return run_blocking(
            prune_store(
                store,
                ledger,
                seconds=seconds,
                with_sessions=with_sessions,
                with_audit=with_audit,
                on_progress=lambda pruned: progress.update(task, description=_words(pruned)),
            )
        )


def _ledger(store: SessionStore) -> Any:
    """The submitted runs of a store, where it is one that has such."""
    return ledger_of(store) if has_runs(store) else None


def _seconds(age: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([mhdw])", age.strip().lower())
    if found is None:
        raise SettingsError(
            say(f"'{age}' is no age: write 90d, 12h or 2w", f"“{age}”不是时长：请写 90d、12h 或 2w")
        )
    return float(found[1]) * _UNITS[found[2]]
