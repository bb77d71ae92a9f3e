"""An error's words for the model that made it: what was wrong, what is allowed, one right example."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.arguments.problems import example_words, fields_words, unknown_tool_words
from toolhand.arguments.words import joined, sentence
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.language import Language
from toolhand.core.tools import Tool


def feedback(
    errors: ToolError | Sequence[ToolError], tool: Tool | None = None, language: Language = "en"
) -> str:
    """Words that let a model mend its call.

    Args:
        errors: what went wrong, one or several.
        tool: the tool that was called, for an example of right arguments.
        language: the words' language; the errors' own may differ.
    """
    several = [errors] if isinstance(errors, ToolError) else list(errors)
    parts = list(dict.fromkeys(_words(error, tool, language) for error in several))
    if any(error.retryable for error in several):
        parts.append(sentence("again", language))
    return "\n".join(parts)


def _words(error: ToolError, tool: Tool | None, language: Language) -> str:
    details = error.details
    if error.code is ErrorCode.UNKNOWN_TOOL and "available" in details:
        said = unknown_tool_words(
            str(details.get("name", "")), details["available"], details.get("count", 0), language
        )
        near = details.get("close")
        return joined(
            [said, sentence("close_tools", language, names=", ".join(near)) if near else ""], language
        )
    fields = details.get("fields")
    if fields:
        hint = error.hint if tool is None else example_words(fields, tool, language)
        return joined([fields_words(fields, language), hint], language)
    return error.sentence
