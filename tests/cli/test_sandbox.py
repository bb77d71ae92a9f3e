"""`toolhand sandbox`: the check, and a file that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox.places import place
from toolhand.cli.app import run_app


@pytest.fixture(autouse=True)
def _there() -> None:
    place("monty")


@pytest.mark.parametrize(("language", "said"), [("en", "the self-test passed"), ("zh", "自检通过")])
def test_check_tells_what_holds(
    language: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLHAND_LANG", language)
    assert run_app(["sandbox", "check"]) == 0
    shown = capsys.readouterr().out
    for word in ("namespaces", "landlock", "monty", "process", "container", said):
        assert word in shown


def test_run_runs_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.py"
    file.write_text("print(calculate('2 * 21')['result'])\n6 * 7", encoding="utf-8")
    assert run_app(["sandbox", "run", str(file), "--tools", "builtin"]) == 0
    assert capsys.readouterr().out == "42\n42\n"
    file.write_text("x = 1\nx / 0", encoding="utf-8")
    assert run_app(["sandbox", "run", str(file)]) == 1
    assert "line 2" in capsys.readouterr().err
    assert run_app(["sandbox", "run", str(tmp_path / "none.py")]) == 1
    assert "none.py" in capsys.readouterr().err


def test_a_program_does_not_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "print('\\x1b]0;title\\x07')\nprint('雨')\nraise ValueError('\\x1b[2J')", encoding="utf-8"
    )
    assert run_app(["sandbox", "run", str(file)]) == 1
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert "雨" in shown.out


def test_files_are_put_where_they_are_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place("namespaces")
    file = tmp_path / "a.py"
    file.write_text("open('b.txt', 'w').write('x')", encoding="utf-8")
    assert (
        run_app(["sandbox", "run", str(file), "--backend", "process", "--files", str(tmp_path / "out")]) == 0
    )
    assert (tmp_path / "out" / "b.txt").read_text() == "x"
