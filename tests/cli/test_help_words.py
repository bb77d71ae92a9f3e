"""The help in a narrow terminal, in both languages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module

import pytest
import typer

COMMANDS = ["run", "chat", "mcp", "demo", "plan", "probe", "drift"]


def helped(*words: str, language: str, columns: int = 80) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "toolhand.cli", *words, "-h"],
        capture_output=True, text=True, encoding="utf-8", check=False, timeout=90,
        env={**os.environ, "TOOLHAND_LANG": language, "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def letters(text: str) -> str:
    """Without the frame, and without the blanks at which lines may break."""
    return re.sub(r"[\s│╭╮╰╯─]", "", text)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_word_is_cut(command, language):
    wide = helped(command, language=language, columns=400)
    narrow = helped(command, language=language)
    assert narrow.count("…") <= wide.count("…")  # those that a help has itself


def test_chinese_words():
    seen = helped("run", language="zh")
    for word in ("选项", "参数", "显示本帮助并退出。", "[默认：", "[必填]"):
        assert word in seen
    assert "Show this message" not in seen
    assert "/v1#" in letters(seen)
    assert "命令" in helped(language="zh")
    assert "Options" in helped("run", language="en")


def test_typer_has_still_what_is_replaced():
    found = import_module("typer.rich_utils")
    for name in ("Table", "Columns", "OPTIONS_PANEL_TITLE", "COMMANDS_PANEL_TITLE", "DEFAULT_STRING"):
        assert hasattr(found, name), (typer.__version__, name)
