"""The plan language: its grammar, and how a plan is read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from importlib.resources import files
from typing import Any

from toolhand.core.errors import MissingExtraError
from toolhand.core.language import Language, say
from toolhand.parsing.plans.nodes import Plan
from toolhand.parsing.plans.reading import read_lines


@cache
def grammar() -> Callable[[str], Any]:
    """Makes a tree of one line, by `grammar.lark`.

    Raises:
        MissingExtraError: when lark is not installed.
    """
    try:
        from lark import Lark  # noqa: PLC0415 - an extra, and a tenth of a second to import
    except ImportError:
        raise MissingExtraError("plan", say("the plan language", "计划语言")) from None
    text = files("toolhand.plan").joinpath("grammar.lark").read_text("utf-8")
    return Lark(text, parser="lalr", maybe_placeholders=False).parse


def read(source: str, *, known: Collection[str] = (), language: Language = "en") -> Plan:
    """Reads a plan. It never raises for what a model wrote, takes linear time and runs nothing.

    Args:
        source: the plan's text alone, without prose around it.
        known: variables that exist already.
        language: of the problems' words.

    Returns:
        the plan; with `problems` where something cannot be read, each with its line, column and what to write instead.

    Raises:
        MissingExtraError: when the extra `plan` is not installed.
    """
    return read_lines(source, grammar(), known=known, language=language)
