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


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_no_module_is_too_long(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_no_function_is_too_long(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{file.relative_to(SOURCE)}:{node.name}"
            if name not in LONG_FUNCTIONS:
                assert (node.end_lineno or 0) - node.lineno < MOST_FUNCTION_LINES, name


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_every_module_says_what_lives_there(file):
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert text
    assert text != "."
