"""`toolhand demo`: a few real questions over a sample database, answered by the embedded model and checked."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from toolhand.agent import Agent
from toolhand.builtin import builtin_tools
from toolhand.builtin.sample import make_sample
from toolhand.cli.models import ensure_weights
from toolhand.cli.run import answer
from toolhand.cli.show import Show
from toolhand.cli.shown import screen, shown
from toolhand.cli.words import say
from toolhand.execution.running import run_blocking
from toolhand.models import Model
from toolhand.models.resolve import resolve

HELP = say(
    "Answer questions over a sample database with the embedded model.",
    "用内置模型回答示例数据库上的问题。",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and where its right number comes from."""

    text: str
    sql: str


QUESTIONS = (
    Question(
        text="数据库里价格最高的商品是什么，价格是多少？",
        sql="select cast(max(price) as integer) from products",
    ),
    Question(
        text="How many customers are from Hangzhou?",
        sql="select count(*) from customers where city = 'Hangzhou'",
    ),
    Question(
        text="What is 15% of 1234.5, plus 3?",
        sql="select 1234.5 * 15 / 100 + 3",
    ),
)


def demo(
    model: str = typer.Option(
        "local",
        "--model",
        "-m",
        help=say("Another model than the embedded one.", "使用其他模型代替内置模型。"),
    ),
    verbose: bool = typer.Option(False, "--verbose", "-v", help=say("Show raw replies.", "显示模型原文。")),
) -> int:
    started = time.monotonic()
    out, err = screen(), screen(is_err=True)
    ensure_weights(model, err, is_agreed=True)
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "shop.db"
        make_sample(database)
        asked = resolve(model)
        show = Show(out, err, is_verbose=verbose)
        right = sum([_ask(question, asked, database, show, out) for question in QUESTIONS])
        run_blocking(asked.close())
    seconds = time.monotonic() - started
    out.print(
        say(
            f"demo finished: {right} of {len(QUESTIONS)} answers are right, {seconds:.0f} s",
            f"演示结束：{len(QUESTIONS)} 个回答中有 {right} 个正确，用时 {seconds:.0f} 秒",
        )
    )
    return 0 if right == len(QUESTIONS) else 1


def _ask(question: Question, model: Model, database: Path, show: Show, out: Console) -> bool:
    out.print(f"\n[bold]? {shown(question.text)}[/]")
    agent = Agent(model, builtin_tools(database=database))
    finished = answer(agent, question.text, show)
    with sqlite3.connect(database) as connection:
        expected = str(connection.execute(question.sql).fetchone()[0])
    connection.close()
    is_right = expected in finished.text.replace(",", "").replace("，", "")
    mark = say("right", "正确") if is_right else say(f"wrong, it is {expected}", f"错误，应为 {expected}")
    out.print(f"[dim]({say('checked against the database', '与数据库核对')}: {mark})[/dim]")
    return is_right
