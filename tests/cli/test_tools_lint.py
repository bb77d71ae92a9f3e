from __future__ import annotations

import json

import pytest

from toolhand.cli.app import run_app

GOOD = '''
from toolhand import tool

@tool
def get_stock(item: str) -> int:
    """Gives how many pieces of an item there are.

    Args:
        item: The item's name, such as hammer.
    """
    return 1
'''
BAD = '''
from toolhand import tool

@tool
def delete_item(data: str) -> None:
    """Deletes."""

@tool(name="查询")
def look(item: str) -> int:
    """Gives how many pieces of an item there are.

    Args:
        item: The item's name, such as hammer.
    """
    return 1
'''


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    (tmp_path / "good.py").write_text(GOOD, "utf-8")
    (tmp_path / "bad.py").write_text(BAD, "utf-8")


@pytest.mark.parametrize("words", [["good.py"], ["--tools", "good.py"], ["-t", "good.py"]])
def test_good_tools(files, capsys, words):
    assert run_app(["tools", "lint", *words]) == 0
    assert "1 tool: nothing to say" in capsys.readouterr().out


def test_bad_tools_are_named_and_counted(files, capsys):
    assert run_app(["tools", "lint", "bad.py", "good.py"]) == 4
    said = capsys.readouterr().out
    assert "effect-unsaid" in said
    assert "parameter-vague" in said
    assert "3 tools: errors 2" in said


def test_in_chinese(files, capsys, monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "zh")
    assert run_app(["tools", "lint", "bad.py"]) == 4
    assert "声明为只读" in capsys.readouterr().out


def test_as_json_and_with_rules_left_out(files, capsys):
    assert (
        run_app(
            ["tools", "lint", "bad.py", "--json", "-i", "effect-unsaid", "-i", "parameter-vague:delete_*"]
        )
        == 4
    )
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {"rule", "severity", "tool", "path", "message", "fix"} == set(found[0])
    rules = {one["rule"] for one in found}
    assert "effect-unsaid" not in rules
    assert "parameter-vague" not in rules
    assert "parameter-undescribed" in rules


def test_advice_counts_only_where_it_shall(files, capsys):
    ignored = ["-i", "effect-unsaid", "-i", "parameter-*", "-i", "description-short"]
    assert run_app(["tools", "lint", "bad.py", *ignored]) == 1  # a rule is named whole
    assert "there is no rule 'parameter-*'" in capsys.readouterr().err
    ignored[3:4] = ["parameter-vague", "-i", "parameter-undescribed"]
    assert run_app(["tools", "lint", "bad.py", *ignored]) == 0
    assert "name-refused" in capsys.readouterr().out
    assert run_app(["tools", "lint", "bad.py", *ignored, "--strict"]) == 4


def test_searching(files, capsys):
    assert run_app(["tools", "search", "pieces of hammers", "-t", "good.py"]) == 0
    assert "get_stock" in capsys.readouterr().out
    assert run_app(["tools", "search", "天气", "-t", "good.py"]) == 1


def test_tools_named_both_ways_are_read_together(files, capsys):
    assert run_app(["tools", "lint", "good.py", "-t", "bad.py"]) == 4
    assert "3 tools" in capsys.readouterr().out
    assert run_app(["tools", "lint", "--tools", " "]) == 1
