"""How many plain questions the embedded model answers with real tools: `make questions`.

Each needs one or two calls. A question is right when its answer holds the right value, which comes from the tools' own source.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from toolhand import Agent, Limits, Toolset, tool
from toolhand.builtin import builtin_tools
from toolhand.builtin.sample import make_sample
from toolhand.cli.demo import QUESTIONS as DEMO
from toolhand.execution.running import run_blocking
from toolhand.models.resolve import resolve

STOCK = {"main": {"扳手": 42, "锤子": 7}}


@tool
def get_stock(item: str, warehouse: str = "main") -> int:
    """How many pieces of an item a warehouse holds.

    Args:
        item: the item's name, such as "扳手".
        warehouse: the warehouse's name.
    """
    return STOCK[warehouse][item]


FILES = {
    "budget.txt": "Budget 2026\nTravel: 12000\nTraining: 8000\n",
    "notes.md": "# 会议记录\n时间：周三\n地点：三楼会议室\n",
}

# question, tools, the value that the answer must hold (or the SQL that gives it)
QUESTIONS: list[tuple[str, str, str]] = [
    *((question.text, "db", question.sql) for question in DEMO[:2]),
    ("仓库里还有多少把扳手？", "stock", "42"),
    ("(17.5 + 2.5) 乘以 123 等于多少？", "plain", "2460"),
    ("What is the square root of 7056?", "plain", "84"),
    ("How many orders have the status cancelled?", "db", "select count(*) from orders where status='cancelled'"),
    ("数据库里一共有多少个客户？", "db", "select count(*) from customers"),
    ("What is the average price of the products in the category tools?", "db", "select substr(avg(price), 1, 5) from products where category='tools'"),
    ("会议在哪里开？请看文件 notes.md。", "files", "三楼"),
    ("How much is the travel budget? It is in the file budget.txt.", "files", "12000"),
    ("2 的 20 次方是多少？", "plain", "1048576"),
    ("What is 15% of 1234.5, plus 3?", "plain", "188.175"),
]  # fmt: skip


def main(spec: str, protocol: str) -> int:
    model = resolve(spec)
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        database, root = Path(folder) / "shop.db", Path(folder) / "docs"
        make_sample(database)
        root.mkdir()
        for name, text in FILES.items():
            (root / name).write_text(text, encoding="utf-8")
        tools: dict[str, Any] = {
            "stock": [get_stock],
            "plain": builtin_tools(),
            "db": builtin_tools(database=database),
            "files": builtin_tools(root=root),
        }
        for number, (question, kind, expected) in enumerate(QUESTIONS, 1):
            if expected.startswith("select"):
                with closing(sqlite3.connect(database)) as connection:
                    expected = str(connection.execute(expected).fetchone()[0])  # noqa: PLW2901
            started = time.monotonic()
            agent = Agent(model, Toolset(tools[kind]), protocol=protocol, limits=Limits(turns=6))
            run = agent.run_sync(question)
            is_right = expected in run.text.replace(",", "")
            right += is_right
            calls = "; ".join(f"{call.name} {dict(call.arguments)}" for call in run.calls)
            print(
                f"[{number}/{len(QUESTIONS)}] {'right' if is_right else 'WRONG'} {time.monotonic() - started:5.1f} s  {question}"
            )
            print(f"      {calls or 'no call'} -> {run.text[:120]!r} (expected {expected})", flush=True)
    run_blocking(model.close())
    print(f"{right} of {len(QUESTIONS)} questions are right ({spec}, {protocol})")
    return 0 if right >= 9 else 1


if __name__ == "__main__":
    sys.exit(
        main(sys.argv[1] if len(sys.argv) > 1 else "local", sys.argv[2] if len(sys.argv) > 2 else "auto")
    )
