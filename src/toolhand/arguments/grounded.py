"""How much of calls was said, by anybody but the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolhand.arguments.grounding import id_parameters
from toolhand.arguments.grounds import Grounds
from toolhand.arguments.relations import tools_that_tell
from toolhand.core.messages import ToolCall
from toolhand.tools.collection import ToolCollection

_QUERY: Final = re.compile(r"\s*(?:select\s|with\s+\w+\s+as\s*\()[^;]{0,400}?\sfrom\s", re.IGNORECASE)
_FORMULA: Final = re.compile(r"[a-z_][\w.]{0,30}\([^\n]{1,400}\)", re.IGNORECASE)
_LITERAL: Final = re.compile(r"'([^'\n]{1,200})'|(?<![\w.])(?<!limit )(\d[\d.]*)(?![\w.])", re.IGNORECASE)


def grounded_share(calls: Iterable[ToolCall], grounds: Grounds, tools: ToolCollection) -> float | None:
    """How much of calls' required values was said, 0 to 1; None where there are none to judge by.

    Args:
        calls: the calls.
        grounds: what was said.
        tools: where their parameters are declared. Truth values are not judged: nobody says "true". Neither are ids that a tool
            tells: one that nobody gave is sent back, and that tool is called; nor is what may be a translation.
    """
    shares: list[float] = []
    for call in calls:
        tool = tools.get(call.name)
        if tool is None:
            continue
        for name in tool.required:
            if name in id_parameters(tool) and tools_that_tell(name, tool, tools):
                continue
            for value in _leaves(call.arguments.get(name)):
                share = grounds.share(value)
                if share or not grounds.may_translate(value):
                    shares.append(share)
    return sum(shares) / len(shares) if shares else None


def _leaves(value: Any) -> Iterator[object]:
    """What of a value somebody may have said: of a query or a formula only its literals, as nobody says SELECT."""
    if isinstance(value, str) and (_QUERY.match(value) or _FORMULA.fullmatch(value)):
        yield from (quoted or plain for quoted, plain in _LITERAL.findall(value))
        return
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield value
