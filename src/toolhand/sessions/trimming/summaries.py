"""The short form of an old tool result, by rule: what the answer of its time was made of is still told, the rest is counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import Language
from toolhand.core.messages import ToolResult, Value
from toolhand.policies.shrinking import shrunk

SHORT: Final = 300
"""Characters of a short form. A result that is not much longer stays as it is."""

_WORTH_IT: Final = 400


def is_long(result: ToolResult) -> bool:
    """Whether a short form would save anything. Errors are short already, and what they say may still count."""
    return isinstance(result.outcome, Value) and len(result_text(result)) > _WORTH_IT


def shortened(result: ToolResult, language: Language, *, most_characters: int = SHORT) -> ToolResult:
    """A result in at most so many characters: a list keeps its first and last rows and its count, an object its shape."""
    if not isinstance(result.outcome, Value):
        return result
    small = shrunk(jsonable(result.outcome.data), most_characters=most_characters, language=language)
    return replace(result, outcome=Value(small.value), remark="")


def told(result: ToolResult, text: str) -> ToolResult:
    """A result in somebody's own words."""
    return replace(result, outcome=Value(text), remark="")
