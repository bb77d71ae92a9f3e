"""Sizes as a check: a file or function that grows past the mark needs a reason here. The lists only shrink."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "toolhand"
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES = 400
MOST_FUNCTION_LINES = 50

LONG_FUNCTIONS: dict[str, str] = {
    "cli/run.py:run": "its options are its help text",
    "cli/eval.py:run": "its options are its help text",
}


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {told(file): ast.parse(file.read_text(encoding="utf-8")) for file in FILES}


def told(file: Path) -> str:
    return str(file.relative_to(SOURCE))


def test_no_module_is_too_long():
    lines = {told(file): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert {file: length for file, length in lines.items() if length > MOST_LINES} == {}


def test_no_function_is_too_long(trees):
    long = {
        f"{file}:{node.name}": node.end_lineno - node.lineno + 1
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= MOST_FUNCTION_LINES
    }
    assert {name: length for name, length in long.items() if name not in LONG_FUNCTIONS} == {}


def test_every_module_says_what_lives_there(trees):
    assert [file for file, tree in trees.items() if (ast.get_docstring(tree) or ".") == "."] == []
