"""The tool by which a model reads the rest of a result that was shrunk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import Language
from toolhand.core.tools import Tool
from toolhand.policies.shrinking.pages import page
from toolhand.policies.shrinking.paths import Path, part, read
from toolhand.policies.shrinking.store import Kept, ResultStore, results_of
from toolhand.policies.shrinking.values import MOST_CHARACTERS
from toolhand.tools.decorator import tool

_SAID: Final = {
    "en": {
        "gone": "There is no stored result '{handle}'.",
        "gone_hint": "Stored results: {handles}. Use one of these, or call the tool again that gave the result.",
        "none_hint": "No result is stored now: call the tool again that gave it.",
        "path": "The stored result has no part '{path}'.",
        "path_hint": "Write it as the shrunk result does, such as $.items, or leave it out.",
        "start": "start={start} is outside of the result: it has {total}.",
        "start_hint": "Use a start from 0 to {last}.",
    },
    "zh": {
        "gone": "没有保存名为“{handle}”的结果。",
        "gone_hint": "已保存的结果有：{handles}。请使用其中之一，或重新调用给出结果的工具。",
        "none_hint": "目前没有保存任何结果：请重新调用给出结果的工具。",
        "path": "保存的结果里没有“{path}”这一部分。",
        "path_hint": "请照缩短后的结果里的写法填写，例如 $.items，或者不填。",
        "start": "start={start} 超出了结果的范围：总数是 {total}。",
        "start_hint": "start 可以取 0 到 {last}。",
    },
}


READS_RESULTS: Final = "reads kept results"
"""The tag of a tool that can answer nothing until a result was shrunk."""


def read_result_tool(
    *, name: str = "read_result", most_characters: int = MOST_CHARACTERS, store: ResultStore | None = None
) -> Tool:
    """A tool `read_result(handle, start, count, path)` over the results that a run keeps.

    The policy `Shrink` keeps it from being offered until something was shrunk: until then it can answer nothing.

    Args:
        name: the name that the model uses; the marks in shrunk results say "read_result".
        most_characters: the most characters of one page.
        store: where whole results are kept; those of the run by default.
    """

    @tool(name=name, tags=[READS_RESULTS])
    def read_result(  # noqa: D417 - the context is not the model's
        context: RunContext, handle: str, start: int = 0, count: int | None = None, path: str | None = None
    ) -> dict[str, Any]:
        """Reads more of an earlier result that was too large to show whole. The result's note names the handle.

        Args:
            handle: The handle from the note, such as "r1-3fa9".
            start: The first row, item or character to read, counted from 0.
            count: How many rows, items or characters to read. Leave it out for as many as fit.
            path: Which part of the result to read, such as "$.items". Leave it out for the largest part.

        Returns:
            Rows, items, entries or text from start on, the total, and next_start where there is more.
        """
        kept = _kept(results_of(context) if store is None else store, handle, context.language)
        steps = _steps(kept, path, context.language)
        try:
            return page(
                kept,
                path=steps,
                start=start,
                count=count,
                most_characters=most_characters,
                language=context.language,
            )
        except ValueError as error:
            words, total = _SAID[context.language], int(error.args[0])
            raise _refusal(
                words["start"].format(start=start, total=total),
                words["start_hint"].format(last=max(0, total - 1)),
            ) from None

    return replace(read_result, rules=replace(read_result.rules, max_result=most_characters))


def _kept(store: ResultStore, handle: str, language: Language) -> Kept:
    kept = store.get(handle)
    if kept is not None:
        return kept
    words = _SAID[language]
    handles = ", ".join(reversed(store.handles))
    hint = words["gone_hint"].format(handles=handles) if handles else words["none_hint"]
    raise _refusal(words["gone"].format(handle=handle[:40]), hint)


def _steps(kept: Kept, path: str | None, language: Language) -> Path:
    """The part that is meant; it is there."""
    steps = read(path) if path else kept.path
    try:
        if steps is not None:
            part(kept.source, steps)
            return steps
    except LookupError:
        pass
    words = _SAID[language]
    raise _refusal(words["path"].format(path=str(path)[:80]), words["path_hint"])


def _refusal(message: str, hint: str) -> ToolFailure:
    return ToolFailure(message, code=ErrorCode.INVALID_ARGUMENT, retryable=True, hint=hint)
