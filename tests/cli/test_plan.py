"""`toolhand plan`."""

from __future__ import annotations

import json

import pytest

from toolhand.cli.app import run_app

TOOLS = """
from toolhand import tool

@tool
def look(city: str) -> dict:
    "Looks."
    return {"city": city, "degrees": 12}

@tool(effect="writes", undo="cancel")
def book(hotel: str) -> dict:
    "Books."
    print("booked", hotel)
    return {"booking": 5}

@tool(effect="writes")
def cancel(booking: int) -> str:
    "Cancels."
    return "gone"

@tool(effect="writes")
def fail() -> str:
    "Fails."
    raise RuntimeError

@tool(effect="writes", approval=True)
def pay(amount: float) -> str:
    "Pays."
    return "paid"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    (tmp_path / "trip.py").write_text(TOOLS, "utf-8")
    return tmp_path


def written(folder, source):
    (folder / "a.plan").write_text(source, "utf-8")
    return "a.plan"


def test_explain(folder, capsys):
    file = written(
        folder, 'look(city="Rome") => w\\nif $w.degrees < 20: book(hotel="warm")'.replace("\\n", "\n")
    )
    assert run_app(["plan", "explain", file]) == 0
    assert "2a. If $w.degrees < 20:" in capsys.readouterr().out
    assert run_app(["plan", "explain", "--mermaid", file]) == 0
    assert capsys.readouterr().out.startswith("flowchart TD")


def test_check_names_everything_and_runs_nothing(folder, capsys):
    file = written(folder, "look(city=)\nnothing()\nbook(hotel=$x)")
    assert run_app(["plan", "check", file, "-t", "trip.py"]) == 1
    caught = capsys.readouterr()
    assert [f"Line {n}" in caught.err for n in (1, 2, 3)] == [True] * 3
    assert "booked" not in caught.out
    assert run_app(["plan", "check", written(folder, 'book(hotel="a") => b'), "-t", "trip.py"]) == 0
    out = capsys.readouterr().out
    assert "other_arrow" in out
    assert "booked" not in out


def test_run(folder, capsys):
    file = written(folder, 'look(city="Rome") -> w\nbook(hotel=$w.city) -> b\nreturn "booked {$b.booking}"')
    assert run_app(["plan", "run", file, "-t", "trip.py"]) == 0
    out = capsys.readouterr().out
    assert "✓ 2. book" in out
    assert out.rstrip().endswith("booked 5")
    assert run_app(["plan", "run", file, "-t", "trip.py", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "booked Rome" not in out
    assert "would run" in out


def test_run_undoes(folder, capsys):
    file = written(folder, 'book(hotel="a")\nfail()')
    assert run_app(["plan", "run", file, "-t", "trip.py", "--undo"]) == 3
    caught = capsys.readouterr()
    assert "undone: 1. cancel(booking=5)" in caught.out
    assert "Line 2" in caught.err


def test_run_waits_and_resumes(folder, capsys):
    file = written(folder, 'book(hotel="a")\npay(amount=3)')
    kept = ["-t", "trip.py", "--store", str(folder / "s.db")]
    assert run_app(["plan", "run", file, "--session", "s", *kept]) == 3
    assert "toolhand plan resume s" in capsys.readouterr().err
    assert run_app(["plan", "resume", "s", "--json", *kept]) == 3
    out = capsys.readouterr().out
    assert "booked" not in out
    assert json.loads(out)["ending"] == "waiting"


def test_a_file_that_is_not_there(folder, capsys):
    assert run_app(["plan", "run", "gone.plan"]) == 1
    assert "gone.plan" in capsys.readouterr().err
