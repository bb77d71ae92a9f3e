"""The help in a narrow terminal, in both languages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from importlib import import_module

import pytest
import typer

COMMANDS = ["run", "chat", "mcp", "demo", "plan", "probe", "drift"]


# One process for all: a start takes most of a second.
SEVERAL = (
    "import json, sys; from toolhand.cli.app import run_app; "
    "[(run_app([*words, '-h']), print(chr(4))) for words in json.loads(sys.argv[1])]"
)
WORDS = [[], *([command] for command in COMMANDS)]


@cache
def helps(language: str, columns: int = 80) -> dict[str, str]:
    """The help of each command, and under "" that of all."""
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, json.dumps(WORDS)],
        capture_output=True, text=True, encoding="utf-8", check=False, timeout=110,
        env={**os.environ, "TOOLHAND_LANG": language, "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = done.stdout.split("\x04\n")[:-1]
    return {" ".join(words): text for words, text in zip(WORDS, seen, strict=True)}


def letters(text: str) -> str:
    """Without the frame, and without the blanks at which lines may break."""
    return re.sub(r"[\s│╭╮╰╯─]", "", text)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_word_is_cut(command, language):
    wide, narrow = helps(language, 400)[command], helps(language)[command]
    assert f" {command} " in narrow
    assert narrow.count("…") <= wide.count("…")  # those that a help has itself


def test_chinese_words():
    seen = helps("zh")["run"]
    for word in ("用法：", "选项", "参数", "显示本帮助并退出。", "[默认：", "[必填]"):
        assert word in seen
    assert "Show this message" not in seen
    assert "Usage" not in seen
    assert "/v1#" in letters(seen)
    assert "命令" in helps("zh")[""]
    assert "Options" in helps("en")["run"]


def test_typer_has_still_what_is_replaced():
    found = import_module("typer.rich_utils")
    for name in (
        "Table",
        "Columns",
        "highlighter",
        "OPTIONS_PANEL_TITLE",
        "COMMANDS_PANEL_TITLE",
        "DEFAULT_STRING",
    ):
        assert hasattr(found, name), (typer.__version__, name)
