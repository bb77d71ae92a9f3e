"""Runs the rows through the frameworks and prints the table: `python -m bench.misbehaving [--zh] [--row ROW …] [NAME …]`.

Without a name Toolhand alone is run. `all`, or names of files in `adapters/`, are run in environments of their own
(`.venv-misbehaving/`), made by pip when they are first needed. Below the table stands how many rows went well, and the versions.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from bench.misbehaving.judging import Happened, Verdict, told, verdict
from bench.misbehaving.rows import ROWS
from bench.misbehaving.server import ScriptedServer, serving

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-misbehaving"
ADAPTERS = sorted(
    path.stem for path in (Path(__file__).parent / "adapters").glob("*.py") if path.stem != "__init__"
)


def adapter(name: str) -> ModuleType:
    return importlib.import_module(f"bench.misbehaving.adapters.{name}")


def python_of(name: str) -> str:
    """The interpreter of a framework, with the framework installed."""
    packages = adapter(name).PACKAGES
    if not packages:
        return sys.executable
    folder = FOLDER / name
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not (folder / ".ready").exists():
        print(f"installing {', '.join(packages)} …", flush=True)
        venv.create(folder, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        (folder / ".ready").touch()
    return str(python)


def run_rows(name: str, rows: list[str], server: ScriptedServer) -> Iterator[tuple[str, Verdict, str, str]]:
    """Of each row: its name, what became of it, the exception that ended it if one did, and the framework's version."""
    for row in rows:
        server.requests[row].clear()
    command = [python_of(name), "-m", "bench.misbehaving.running", name, server.root, *rows]
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=said, text=True) as process,
    ):
        left = [*rows]
        for line in process.stdout or ():
            if not line.startswith('{"row": '):
                continue
            told_of = json.loads(line)
            left.remove(told_of["row"])
            happened = Happened(**told_of["happened"], requests=server.requests[told_of["row"]])
            yield told_of["row"], verdict(ROWS[told_of["row"]], happened), happened.error, told_of["version"]
        if left:
            said.seek(0)
            raise SystemExit(f"{name} told nothing of {', '.join(left)}\n{said.read()[-2000:]}")


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m bench.misbehaving", description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help=f"all, or of {', '.join(ADAPTERS)}")
    options.add_argument("--zh", action="store_true", help="the table in Chinese")
    options.add_argument("--row", action="append", choices=[*ROWS], metavar="ROW", help="only these rows")
    asked = options.parse_args()
    if unknown := [name for name in asked.names if name not in (*ADAPTERS, "all")]:
        options.error(f"there is no adapter '{unknown[0]}'; there is: {', '.join(ADAPTERS)}")
    language, rows = "zh" if asked.zh else "en", asked.row or [*ROWS]
    names = [
        "toolhand",
        *(name for name in (ADAPTERS if "all" in asked.names else asked.names) if name != "toolhand"),
    ]
    columns: dict[str, dict[str, Verdict]] = {}
    versions: list[str] = []
    with serving() as server:
        for name in names:
            columns[name] = {}
            version = ""
            for row, became, error, its_version in run_rows(name, rows, server):
                version = its_version
                columns[name][row] = became
                print(f"{name}, {row}: {told(became)} {error[:120]}", flush=True)
            versions.append(f"{adapter(name).NAME} {version}")
    print("\n" + table(columns, rows, language))
    print(
        f"\n{', '.join(versions)}; Python {sys.version.split()[0]}; {dt.datetime.now().astimezone():%Y-%m-%d}"
    )
    return 0


def table(columns: dict[str, dict[str, Verdict]], rows: list[str], language: str) -> str:
    """The table in Markdown."""
    head = "模型的输出" if language == "zh" else "the model's output"
    lines = [
        f"| {head} | {' | '.join(adapter(name).NAME for name in columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for row in rows:
        cells = " | ".join(told(column[row], language) for column in columns.values())
        lines.append(f"| {ROWS[row][language]} | {cells} |")
    good = " | ".join(f"**{sum(cell.is_good for cell in column.values())}**" for column in columns.values())
    lines.append(f"| **{'良好' if language == 'zh' else 'went well'}, {len(rows)}** | {good} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
