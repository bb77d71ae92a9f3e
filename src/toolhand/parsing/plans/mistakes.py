"""What is wrong with a line of a plan: where, and what to write instead."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.language import Language
from toolhand.parsing.plans.lines import Line

MOST_PROBLEMS: Final = 10
"""A plan with more is not read to its end."""

_PLACE: Final = {"en": "Line {line}, column {column}: {said}", "zh": "第 {line} 行第 {column} 列：{said}"}
_PYTHON: Final = frozenset([
    "while", "def", "class", "import", "from", "try", "except", "finally", "with", "lambda", "break", "continue", "raise",
    "async", "switch", "case", "function", "repeat", "loop", "do", "goto", "exec", "eval", "del", "global", "assert", "yield",
    "match",
])  # fmt: skip


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    text = files("toolhand.parsing.plans").joinpath("mistakes.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def _examples() -> Mapping[str, list[str]]:
    return {key: row["examples"] for key, row in _table().items() if "examples" in row}


def filled(sentence: str, words: Mapping[str, Any]) -> str:
    """A sentence with `{word}` replaced; other braces stay, as they belong to the language."""
    return re.sub(r"\{(\w+)\}", lambda found: str(words.get(found[1], found[0])), sentence)


def problem(
    key: str, line: Line, language: Language, *, column: int | None = None, **words: Any
) -> ToolError:
    """One problem, with its line, its column and a caret under it."""
    at = line.start + 1 if column is None else line.start + column
    said = filled(_table()[key][language], words)
    place = _PLACE[language].format(line=line.number, column=at, said=said)
    shown = f"\n  {line.raw}\n  {_blank(line.raw[: at - 1])}^" if line.raw else ""
    details = {"line": line.number, "column": at, "mistake": key}
    return ToolError(code=ErrorCode.UNPARSEABLE, message=place + shown, retryable=True, details=details)


def _blank(text: str) -> str:
    """Blanks as wide as a text."""
    return "".join("　" if unicodedata.east_asian_width(char) in "WF" else " " for char in text)


def syntax_problem(error: Any, line: Line, parse: Callable[[str], object], language: Language) -> ToolError:
    """The problem of a line that the grammar refuses, known by its likeness to an example."""
    first = line.text.split(maxsplit=1)[0].strip(":({").lower()
    token = getattr(error, "token", None)
    is_end = token is not None and token.type == "$END"
    column = len(line.text) + 1 if is_end else int(error.column)
    if first in _PYTHON:
        return problem("python", line, language, word=first)
    if token is None and line.text[column - 1 : column] in {'"', "'"}:
        return problem("string", line, language, column=column)
    key = (
        error.match_examples(parse, _examples(), token_type_match_fallback=True, use_accepts=False) or "other"
    )
    return problem(key, line, language, column=column)
