"""`toolhand sessions audit`: what the audit of stored sessions says."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from pathlib import Path
from typing import Any, Final

import typer

from toolhand.auditing import AuditTrail
from toolhand.cli import options
from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.stores import OUT, UNASKED, confirm, opened, table_of, when, written_to
from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.core.jsonable import jsonable
from toolhand.core.tables import print_table
from toolhand.execution.running import run_blocking
from toolhand.observability.audit import AuditRecord, export_csv, export_jsonl

HELP = say(
    "Every call: who, what, decided how, with what result.",
    "每次调用的记录：谁、做了什么、如何决定、结果如何。",
)
_FORMS: Final = ("table", "jsonl", "csv")
_MOST_COUNTED: Final = 10_000

SINCE: Final[Any] = typer.Option(
    None,
    "--since",
    metavar="TIME",
    help=say(
        "2026-01-31, 2026-01-31T12:00, or 7d, 12h, 30m ago",
        "2026-01-31、2026-01-31T12:00，或 7d、12h、30m（之前）",
    ),
)
FORGET: Final[Any] = typer.Option(
    None,
    "--forget-older-than",
    metavar="DAYS",
    min=0.0,
    help=say("Remove older records instead.", "改为删除超过这些天数的记录。"),
)
OUTCOME: Final[Any] = typer.Option(
    None, "--outcome", help=say('"ok", "error", or an error\'s code', "ok、error，或某个错误代码")
)
NEWEST: Final[Any] = typer.Option(
    None, "--limit", "-n", min=1, help=say("At most so many, the newest.", "最多多少条，取最新的。")
)


def audit(
    user: str | None = typer.Option(None, "--user", help=say("who asked", "提问的用户")),
    tool: str | None = typer.Option(None, "--tool", help=say("the tool's name", "工具名称")),
    session: str | None = typer.Option(None, "--session", "-s", help=say("the session", "会话")),
    outcome: str | None = OUTCOME,
    since: str | None = SINCE,
    until: str | None = typer.Option(
        None, "--until", metavar="TIME", help=say("before this time", "在此时间之前")
    ),
    limit: int | None = NEWEST,
    form: str = typer.Option("table", "--as", help=say("table, jsonl or csv", "table、jsonl 或 csv")),
    out: Path | None = OUT,
    forget_days: float | None = FORGET,
    yes: bool = UNASKED,
    store: str | None = options.STORE,
) -> None:
    if form not in _FORMS:
        english = f"there is no form '{form}': write table, jsonl or csv"
        raise SettingsError(say(english, f"没有“{form}”格式：请写 table、jsonl 或 csv"))
    start, end = moment("--since", since), moment("--until", until)
    with opened(store) as found:
        trail = AuditTrail(found)
        if forget_days is not None:
            if any(given is not None for given in (user, tool, session, outcome, since, until, limit, out)):
                raise SettingsError(
                    say(
                        "--forget-older-than removes every old record: leave the other options out",
                        "--forget-older-than 会删除所有旧记录：请不要写其他选项",
                    )
                )
            _forget(trail, forget_days, is_agreed=yes)
            return
        search = trail.search(
            user=user, tool=tool, session_id=session, outcome=outcome, since=start, until=end, limit=limit
        )
        records = run_blocking(search)
    if form == "table" and out is None:
        _print_records(records)
        return
    with written_to(out) as file:
        count = (export_csv if form == "csv" else export_jsonl)(records, file)
    if out is not None:
        tell(say(f"{count} records written to {out}", f"已将 {count} 条记录写入 {out}"), is_err=True)


def _forget(trail: AuditTrail, days: float, *, is_agreed: bool) -> None:
    if not is_agreed:
        count = run_blocking(trail.count_older(days, _MOST_COUNTED + 1))
        over = say("more than ", "超过 ") if count > _MOST_COUNTED else ""
        many = f"{over}{min(count, _MOST_COUNTED):,}"
        if count:
            confirm(
                say(
                    f"Remove {many} records older than {days:g} days for good?",
                    f"永久删除 {many} 条早于 {days:g} 天的记录？",
                )
            )
    count = run_blocking(trail.keep_days(days))
    tell(say(f"{count} records removed", f"已删除 {count} 条记录"))


def _print_records(records: list[AuditRecord]) -> None:
    table = table_of(
        "time:时间",
        "user:用户",
        "session:会话",
        "tool:工具",
        "arguments:参数",
        "decision:决定",
        "outcome:结果",
        "s:秒",
    )
    for record in records:
        arguments = json.dumps(jsonable(record.edited or record.arguments), ensure_ascii=False)
        table.add_row(
            when(dt.datetime.fromisoformat(record.time).timestamp()),
            shown(record.user),
            shown(record.session_id),
            shown(record.tool),
            shown(arguments if len(arguments) <= 80 else f"{arguments[:80]}…"),
            record.decision,
            shown(record.outcome),
            f"{record.seconds:.2f}",
        )
    print_table(screen(), table)


_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(option: str, words: str | None) -> dt.datetime | None:
    """The moment that an option names: a date, a time, or how long ago.

    Raises:
        SettingsError: when it is neither.
    """
    if words is None:
        return None
    number, unit = words.strip()[:-1], words.strip()[-1:].lower()
    with contextlib.suppress(ValueError, OverflowError):
        if unit in _UNITS and number.replace(".", "", 1).isdecimal():
            return dt.datetime.now().astimezone() - dt.timedelta(**{_UNITS[unit]: float(number)})
        return dt.datetime.fromisoformat(words.strip()).astimezone()
    raise SettingsError(
        say(
            f"{option} is no time ('{words}'): write 2026-01-31, 2026-01-31T12:00 or 7d",
            f"{option} 不是时间（“{words}”）：请写 2026-01-31、2026-01-31T12:00 或 7d",
        )
    )
