"""`toolhand sessions`: what is kept of conversations, for the people who look after them."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from toolhand.cli import options, sessions_audit
from toolhand.cli.again import chat_again, words_given
from toolhand.cli.masking import UNMASKED, masked_hit, masked_message, masked_summary
from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.stores import OUT, UNASKED, confirm, opened, table_of, when, written_to
from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import language_of_person
from toolhand.core.messages import Message, Note, Text
from toolhand.core.plain import plain
from toolhand.core.tables import print_table
from toolhand.execution.running import run_blocking
from toolhand.policies.redaction import redacted_text
from toolhand.sessions.archive import Archive, Form
from toolhand.sessions.entries import Hit, Summary

HELP = say("Read, search and remove kept conversations.", "查看、搜索和删除保存的会话。")
_MOST_RESULT = 600

app = typer.Typer(help=HELP, no_args_is_help=True)

SESSION: Any = typer.Argument(metavar="SESSION", help=say("the session's name", "会话名称"))
JSON: Any = typer.Option(False, "--json", help=say("A JSON object a line.", "每行输出一个 JSON 对象。"))
LIMIT: Any = typer.Option(50, "--limit", "-n", min=1, help=say("At most so many.", "最多显示多少条。"))


def _in(store: str | None, work: Any) -> Any:
    """What `work` gives when it is done with the archive of a store."""
    with opened(store) as found:
        made: Coroutine[Any, Any, Any] = work(Archive(found))
        return run_blocking(made)


@app.command("list", help=say("The sessions, the last used first.", "列出会话，最近使用的在前。"))
def list_sessions(
    user: str | None = options.USER,
    limit: int = LIMIT,
    as_json: bool = JSON,
    unmasked: bool = UNMASKED,
    store: str | None = options.STORE,
) -> None:
    async def work(archive: Archive) -> list[Summary]:
        found: list[Summary] = []
        async for summary in archive.sessions(user=user, page=min(limit, 200)):
            standing = await archive.standing(summary)
            found.append(standing if unmasked else masked_summary(standing))
            if len(found) == limit:
                break
        return found

    found = _in(store, work)
    if as_json:
        for summary in found:
            tell(json.dumps(asdict(summary), ensure_ascii=False))
        return
    if not found:
        tell(
            say(
                "there are no sessions yet: `toolhand chat` begins one",
                "还没有会话：用 `toolhand chat` 开始一个",
            )
            if user is None
            else say(f"the user '{user}' has no sessions", f"用户“{user}”没有会话")
        )
        return
    table = table_of("session:会话", "user:用户", "messages:消息数", "last used:最近使用", "began with:开头")
    for summary in found:
        title = f"{shown(summary.title)}{_mark_of(summary)}"
        table.add_row(
            shown(summary.id), shown(summary.owner), str(summary.messages), when(summary.updated), title
        )
    print_table(screen(), table)


def _mark_of(summary: Summary) -> str:
    if summary.in_use:
        return say("  (in use)", "（使用中）")
    marks = {
        "waiting": say("  (waits for approval)", "（等待批准）"),
        "unfinished": say("  (unfinished)", "（未完成）"),
    }
    return f"[yellow]{marks[summary.state]}[/]" if summary.state in marks else ""


@app.command("show", help=say("What was said in a session.", "显示会话内容。"))
def show_session(
    session: str = SESSION,
    user: str | None = options.USER,
    last: int | None = typer.Option(
        None, "--last", min=1, help=say("Only so many messages.", "只显示最后几条消息。")
    ),
    unmasked: bool = UNMASKED,
    store: str | None = options.STORE,
) -> None:
    console = screen()

    async def work(archive: Archive) -> None:
        summary = await archive.standing(await archive.summary(session, user=user))
        async for message in archive.each_message(session, user=user, last=last):
            print_message(console, message if unmasked else masked_message(message), summary)
        if summary.state != "finished" and not summary.in_use:
            given = words_given({"--store": store})
            command = chat_again(session, user=summary.owner, given=given)
            screen(is_err=True).print(
                shown(
                    say(
                        f"its last run did not come to its end: `{command}`, with the same tools, goes on",
                        f"上一次运行没有完成：用 `{command}` 和同样的工具继续",
                    )
                ),
                style="yellow",
                highlight=False,
            )

    _in(store, work)


def print_message(console: Console, message: Message, summary: Summary | None = None) -> None:
    """Shows one message of a history; with what is known of its session, which calls have no result."""
    marks = {
        "user": say("[bold]you[/]", "[bold]你[/]"),
        "assistant": say("[bold green]model[/]", "[bold green]模型[/]"),
        "system": say("[dim]system[/]", "[dim]系统[/]"),
    }
    for part in message.parts:
        if isinstance(part, Note):
            console.print(f"[dim]({shown(part.text)})[/]")
        elif isinstance(part, Text):
            console.print(f"{marks.get(message.role, message.role)}: {shown(part.text)}")
    for call in message.calls:
        arguments = json.dumps(jsonable(call.arguments), ensure_ascii=False)
        mark = _mark_of(summary) if summary is not None and call.id in summary.open_calls else ""
        console.print(f"[bold cyan]→ {shown(call.name)}[/]({shown(arguments)}){mark}")
    for result in message.results:
        text = result_text(result, language_of_person())
        text = text if len(text) <= _MOST_RESULT else f"{text[:_MOST_RESULT]}…"
        console.print(f"{'[green]←[/]' if result.ok else '[red]←[/]'} {shown(text)}")


@app.command("export", help=say("Write a session out, a message a line.", "导出会话，每行一条消息。"))
def export_session(
    session: str = SESSION,
    form: str = typer.Option(
        "jsonl", "--as", help=say("jsonl, or openai for OpenAI's words", "jsonl，或 openai（OpenAI 的格式）")
    ),
    out: Path | None = OUT,
    user: str | None = options.USER,
    store: str | None = options.STORE,
) -> None:
    if form not in ("jsonl", "openai"):
        raise SettingsError(
            say(
                f"there is no form '{form}': write jsonl or openai", f"没有“{form}”格式：请写 jsonl 或 openai"
            )
        )
    chosen: Form = "openai" if form == "openai" else "jsonl"
    with written_to(out) as file:
        count = _in(store, lambda archive: archive.export(session, file, chosen, user=user))
    if out is not None:
        tell(say(f"{count} messages written to {out}", f"已将 {count} 条消息写入 {out}"), is_err=True)


@app.command("search", help=say("Find messages by their words.", "按内容搜索消息。"))
def search(
    text: str = typer.Argument(help=say("words that must all occur", "必须全部出现的词")),
    user: str | None = options.USER,
    session: str | None = typer.Option(
        None, "--session", "-s", help=say("Only in this session.", "只在该会话中。")
    ),
    limit: int = LIMIT,
    as_json: bool = JSON,
    unmasked: bool = UNMASKED,
    store: str | None = options.STORE,
) -> int:
    async def work(archive: Archive) -> Sequence[Hit]:
        hits = await archive.search(text, user=user, session_id=session, limit=limit)
        return hits if unmasked else [await masked_hit(hit, archive, text) for hit in hits]

    found = _in(store, work)
    if as_json:
        for hit in found:
            tell(json.dumps(asdict(hit), ensure_ascii=False))
    else:
        table = table_of("session:会话", "time:时间", "who:谁", "text:内容")
        for hit in found:
            table.add_row(shown(hit.session_id), when(hit.at), hit.role, shown(" ".join(hit.text.split())))
        if found:
            print_table(screen(), table)
        else:
            screen().print(say("nothing was found", "没有找到"))
    return 0 if found else 1


@app.command("rm", help=say("Remove sessions for good.", "永久删除会话。"))
def remove(
    sessions: list[str] = typer.Argument(metavar="SESSION…", help=say("their names", "会话名称")),
    yes: bool = UNASKED,
    user: str | None = options.USER,
    store: str | None = options.STORE,
) -> None:
    if not yes:
        names = plain(say(", ", "、").join(sessions))
        confirm(say(f"Remove {names} for good?", f"永久删除 {names}？"))
    with opened(store) as found:
        for session in sessions:
            run_blocking(Archive(found).remove(session, user=user))
            tell(say(f"{session} is removed", f"已删除 {session}"))


@app.command("undo", help=say("Take the last question back, with its answer.", "撤回最后一个问题及其回答。"))
def undo(session: str = SESSION, user: str | None = options.USER, store: str | None = options.STORE) -> None:
    words = redacted_text(_in(store, lambda archive: archive.undo(session, user=user)))
    tell(say(f"taken back: {words}", f"已撤回：{words}"))


app.command("audit", help=sessions_audit.HELP)(sessions_audit.audit)
