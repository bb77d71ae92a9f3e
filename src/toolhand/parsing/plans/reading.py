"""A plan's lines by the grammar; a line that it refuses is read once more as tolerantly as any other call."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from toolhand.core.language import Language
from toolhand.core.messages import Fix
from toolhand.parsing.costs import fix
from toolhand.parsing.loose import LooseError
from toolhand.parsing.plans.blocks import Blocks, Head
from toolhand.parsing.plans.invented import named
from toolhand.parsing.plans.lines import Line, logical_lines
from toolhand.parsing.plans.mistakes import MOST_PROBLEMS, problem, syntax_problem
from toolhand.parsing.plans.nodes import Literal, ObjectOf, Plan
from toolhand.parsing.plans.remarks import has_unquoted_answer, quoted_answer
from toolhand.parsing.plans.trees import Builder, Wrong
from toolhand.parsing.pythonic import read_arguments

MOST_CHARACTERS: Final = 50_000
"""A longer plan is refused: no task needs it, and a model that writes it has lost its way."""

_PLAIN: Final = re.compile(r"[\w\s./°%-]+(?:@[\w.-]+)?|\d{1,2}:\d{2}(?::\d{2})?")
_FORMULA: Final = re.compile(r"\b(?:if|else|for|in|and|or|not|lambda|is)\b")
_CODE: Final = re.compile(r"[\"']\s*(?:(?:if\b.*\belse|for\b.*\bin)\b|[+*%]|\.\w+\()", re.DOTALL)
"""Behind a quotation mark inside what was taken for a text: Python that chooses or puts together."""
_CALL_BEGUN: Final = re.compile(r"[^\W\d][\w.\-]*\(")


def read_lines(
    source: str, parse: Callable[[str], Any], *, known: Collection[str] = (), language: Language = "en"
) -> Plan:
    """Reads a plan; see `toolhand.parsing.plans.read`.

    Args:
        source: the plan's text.
        parse: makes a tree of one line.
        known: variables that exist already.
        language: of the problems' words.
    """
    if len(source) > MOST_CHARACTERS:
        return Plan(problems=(problem("long", Line(1), language, most=MOST_CHARACTERS),))
    blocks = Blocks(language)
    builder = Builder(set(known))
    fixes: list[Fix] = []
    for line in named(logical_lines(source)):
        if len(blocks.problems) >= MOST_PROBLEMS:
            break
        head = _head(line, builder, parse, language)
        if isinstance(head, Head):
            blocks.add(builder.line, head)
            fixes += builder.line.fixes
        else:
            blocks.fail(head)
    return replace(blocks.plan(), fixes=tuple(fixes))


def _head(line: Line, builder: Builder, parse: Any, language: Language) -> Any:
    from lark import UnexpectedInput  # noqa: PLC0415
    from lark.exceptions import VisitError  # noqa: PLC0415

    try:
        return builder.head(parse(line.text), line)
    except UnexpectedInput as error:
        mended = _loosely(line)
        if mended is not None:
            try:
                return builder.head(parse(mended.text), mended)
            except (UnexpectedInput, VisitError, RecursionError, Wrong):
                pass
        return syntax_problem(error, line, parse, language)
    except Wrong as wrong:
        return problem(str(wrong), line, language, column=wrong.column)
    except (VisitError, RecursionError):
        return problem("deep", line, language)


def _loosely(line: Line) -> Line | None:
    """The line with its first call's arguments read as tolerantly as everywhere else, written in the plan's own spelling."""
    if has_unquoted_answer(line.text):
        said = line.raw if has_unquoted_answer(line.raw) else line.text
        fixes = [*line.fixes, fix("unquoted_value")]
        return Line(line.number, line.indent, quoted_answer(said), line.raw, line.start, fixes)
    begun = _CALL_BEGUN.search(line.text)
    if begun is None:
        return None
    try:
        found = read_arguments(line.text, begun.end())
    except (LooseError, RecursionError):
        return None
    if found.is_cut or not found.fixes or any(_is_odd(taken) for taken in found.fixes):
        return None
    if any(
        isinstance(value, str) and _CODE.search(value)
        for value in (*found.keywords.values(), *found.positions)
    ):
        return None
    named = [f"{key}={_again(value, is_bare=key in found.bare)}" for key, value in found.keywords.items()]
    values = [_again(value, is_bare="" in found.bare) for value in found.positions]
    text = f"{line.text[: begun.end()]}{', '.join([*values, *named])}){line.text[found.end :]}"
    return Line(line.number, line.indent, text, line.raw, line.start, [*line.fixes, *found.fixes])


def _is_odd(taken: Fix) -> bool:
    """Whether a value without quotes is more than words: a placeholder or a formula."""
    said = str(taken.before)
    return taken.kind == "unquoted_value" and not (_PLAIN.fullmatch(said) and not _FORMULA.search(said))


def _again(value: Any, *, is_bare: bool) -> str:
    match value:
        case str() if is_bare and "@" not in value:
            return value
        case list():
            return f"[{', '.join(_again(item, is_bare=False) for item in value)}]"
        case Mapping():
            return str(ObjectOf(tuple((str(key), Literal(item)) for key, item in value.items())))
    return str(Literal(value)).replace("\\$", "$").replace("\\{", "{")
