"""How many of 20 questions over a user's own documents, database and table the embedded model answers.

    python bench/own_things.py [MODEL] [PROTOCOL] [--cache FILE] [--tell]

All tools are offered for every question, as `toolhand run --db … --root … --tools builtin,docs:…` does. A question is right when
its answer holds the right value; those over the database get it from the database.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from model_cache import CachedModel

from toolhand import Agent, Limits, Toolset
from toolhand.builtin import builtin_tools
from toolhand.builtin.documents import document_tools
from toolhand.execution.running import run_blocking
from toolhand.models.resolve import resolve

DATA = Path(__file__).parent / "data" / "own_things"


def questions() -> list[dict[str, Any]]:
    return json.loads((DATA / "questions.json").read_text(encoding="utf-8"))


def prepared(folder: Path) -> tuple[Path, Path, Path]:
    """The database, the folder with the table, and the folder of documents, of which one is in GB18030."""
    database, tables, documents = folder / "school.db", folder / "tables", folder / "docs"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript((DATA / "school.sql").read_text(encoding="utf-8"))
    tables.mkdir()
    shutil.copy(DATA / "stock.csv", tables)
    shutil.copytree(DATA / "docs", documents)
    for path in documents.glob("质保*.txt"):
        path.write_bytes(path.read_text(encoding="utf-8").encode("gb18030"))
    return database, tables, documents


def right_values(question: dict[str, Any], database: Path) -> list[str]:
    if "right" in question:
        return question["right"]
    with closing(sqlite3.connect(database)) as connection:
        return [str(connection.execute(question["sql"]).fetchone()[0])]


def is_right(answer: str, values: list[str]) -> bool:
    plain = answer.replace(",", "")
    return any(value in plain for value in values)


def toolset(database: Path, tables: Path, documents: Path, index: Path) -> Toolset:
    return Toolset([*builtin_tools(database=database, root=tables), *document_tools(documents, index=index)])


def main(spec: str, protocol: str, cache: str, *, tells: bool) -> int:
    model: Any = resolve(spec)
    if cache:
        model = CachedModel(model, Path(cache))
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database, tables, documents = prepared(folder)
        tools = toolset(database, tables, documents, folder / "index.db")
        for number, question in enumerate(questions(), 1):
            values = right_values(question, database)
            started = time.monotonic()
            run = Agent(model, tools, protocol=protocol, limits=Limits(turns=6)).run_sync(
                question["question"]
            )
            is_good = is_right(run.text, values)
            if tells and not is_good:
                for message in run.messages:
                    print(
                        "     ",
                        message.role,
                        repr(message.text)[:400],
                        [r.error or r.data for r in message.results],
                    )
            for key in (question["source"], question["language"], "all"):
                asked[key] += 1
                right[key] += is_good
            calls = "; ".join(f"{call.name} {dict(call.arguments)}" for call in run.calls)
            mark = "right" if is_good else "WRONG"
            print(f"[{number}/20] {mark} {time.monotonic() - started:5.1f} s  {question['question']}")
            print(
                f"      {calls or 'no call'} -> {run.text[:120]!r} (expected {' or '.join(values)})",
                flush=True,
            )
    run_blocking(model.close())
    print("; ".join(f"{key}: {right[key]} of {asked[key]}" for key in asked), f"({spec}, {protocol})")
    return 0 if right["all"] >= 14 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", default="local")
    parser.add_argument("protocol", nargs="?", default="auto")
    parser.add_argument("--cache", default="", help="a SQLite file for the model's outputs")
    parser.add_argument("--tell", action="store_true", help="print the messages of what went wrong")
    given = parser.parse_args()
    sys.exit(main(given.model, given.protocol, given.cache, tells=given.tell))
