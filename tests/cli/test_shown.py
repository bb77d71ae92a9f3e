"""What others wrote, shown to a person: nothing of it steers the terminal, and nothing of it is taken for our own marks."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import pty
import re
import subprocess
import sys

import pytest
from rich.console import Console

from tests.test_agent import asks
from toolhand import Agent, tool
from toolhand.cli.shown import shown
from toolhand.cli.stores import written_to
from toolhand.core.plain import plain
from toolhand.observability.audit import AuditRecord, export_csv
from toolhand.sessions.sqlite import SqliteStore
from toolhand.testing import ScriptedModel

HOSTILE = "\x1b]0;owned\x07 \x1b[2J \x9b31m :smile: [red]x[/] \u202egpj.exe \u2066a\u2069 \x08\x7f \\"
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@tool
def look(city: str) -> str:
    """Looks."""
    return HOSTILE + city


@pytest.mark.parametrize(
    "text", ["\\", "a\\\\", "[red]", "[/]", ":smile:", "\\[b]\\", "[", "a[b\\", "", "{x}", "[link=y]"]
)
def test_a_text_among_marks_stays_what_it_is(text):
    console = Console(emoji=False, file=io.StringIO(), soft_wrap=True)
    console.print(f"[bold]{shown(text)}[/]|{shown(text)}")
    assert console.file.getvalue() == f"{text}|{text}\n"


def test_what_steers_a_terminal_is_spelt_out_and_json_keeps_its_meaning():
    assert plain("北京 21 °C\tא ok\n") == "北京 21 °C\tא ok\n"
    assert plain("a\r\nb\rc") == "a\nbc"
    assert plain("\x1b[31m\x9b\u202e") == "\\u001b[31m\\u009b\\u202e"
    value = {HOSTILE: [HOSTILE, "\U000e0041 \ud800"]}
    text = plain(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not STEERING.search(text)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLHAND_STORE", str(tmp_path / "s.db"))
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "300")

    async def fill():
        store = SqliteStore(tmp_path / "s.db")
        call = asks(("c1", "look", json.dumps({"city": HOSTILE})))
        agent = Agent(ScriptedModel([call, HOSTILE]), tools=[look], store=store)
        await agent.run(f"hello {HOSTILE}", session=f"s{HOSTILE}", user=f"u{HOSTILE}")
        await store.close()

    asyncio.run(fill())
    return tmp_path


SEVERAL = "import json, sys; from toolhand.cli.app import run_app; [(run_app(words), print(chr(4))) for words in json.loads(sys.argv[1])]"


def at_a_terminal(*commands: list[str]) -> list[str]:
    """What stands on a terminal after each command; colours and other marks of our own are left out."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", SEVERAL, json.dumps(commands)],
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"},
    ) as process:  # fmt: skip
        os.close(slave)
        seen = b""
        try:
            while piece := os.read(master, 4096):
                seen += piece
        except OSError:
            pass
        assert process.wait(60) == 0, seen
    os.close(master)
    return seen.decode().replace("\r\n", "\n").split("\x04\n")[:-1]


def test_no_command_lets_a_stored_text_steer_the_terminal(kept):
    session = f"s{HOSTILE}"
    commands = [
        ["list"], ["list", "--json"], ["show", session], ["search", "hello"], ["search", "hello", "--json"], ["audit"],
        ["audit", "--as", "csv"], ["audit", "--as", "jsonl"], ["export", session], ["show", f"there is no {HOSTILE}"],
        ["audit", "--as", HOSTILE], ["undo", session], ["rm", "--yes", session],
    ]  # fmt: skip
    shown = at_a_terminal(*(["sessions", *words] for words in commands))
    assert len(shown) == len(commands)
    for words, seen in zip(commands, shown, strict=True):
        assert "u001b[2J" in seen, (words, seen)
        assert not STEERING.search(seen), (words, seen)
        assert "😄" not in seen
        assert "[red]" in seen


def test_neither_does_an_error(kept):
    [seen] = at_a_terminal(["run", f"what is {HOSTILE}", "-m", f"nothing:{HOSTILE}"])
    assert "nothing:" in seen
    assert not STEERING.search(seen), seen


def test_an_export_is_written_whole_or_not_at_all(kept, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("before")
    out.chmod(0o640)
    words = [sys.executable, "-m", "toolhand.cli", "sessions", "export", "--out", str(out)]
    missing = subprocess.run([*words, "nothing"], capture_output=True, text=True, check=False)
    assert missing.returncode == 1
    assert out.read_text() == "before"
    done = subprocess.run([*words, f"s{HOSTILE}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["role"] for line in out.read_text().splitlines()] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir() if "out" in path.name) == ["out.csv"]
    nowhere = subprocess.run([*words[:-1], str(tmp_path / "no" / "out"), f"s{HOSTILE}"], capture_output=True, text=True, check=False)  # fmt: skip
    assert nowhere.returncode == 1
    assert f"{tmp_path}/no/out: No such file" in nowhere.stderr


def test_a_table_for_a_spreadsheet_holds_no_formula_and_takes_half_characters(tmp_path):
    hostile = [
        "=1+1",
        "\t=1",
        " =1",
        "\n@x",
        "+1",
        "-1",
        "＝1",
        "\u200b=1",
        "\ufeff=1",
        "\xa0=1",
        '";=1',
        "\x00=1",
    ]
    with written_to(tmp_path / "a.csv") as file:
        export_csv([AuditRecord(time="t", asked=text, tool="x\ud800") for text in hostile], file)
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(hostile)
    for row, text in zip(rows, hostile, strict=True):
        assert row["asked"] == (text if text == '";=1' else f"'{text}"), text
