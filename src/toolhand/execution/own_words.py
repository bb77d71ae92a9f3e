"""Whether an exception says what a tool's author wrote for whoever called it, and nothing that somebody else wrote.

A `ValueError` or `LookupError` that stands as a `raise` in the tool's own file is such a sentence: "no city of that name". What a
library or the interpreter raises is not: it may hold an address, a path, a key. Nor is one that repeats such an exception's text.
Why: docs/adr/0008-policies.md.
"""

from __future__ import annotations

import re
from opcode import opmap
from pathlib import Path
from types import TracebackType
from typing import Final

_SENTENCES: Final = (ValueError, LookupError)
_RAISE: Final = opmap["RAISE_VARARGS"]
_HERE: Final = str(Path(__file__).parents[1])
_NAMES_SECRETS: Final = re.compile(
    r"passw|pwd|secret|credential|(?:api|private|access)[ _-]?key|密码|口令|密钥|私钥|凭证", re.IGNORECASE
)
"""A text about secrets may hold one that no pattern knows."""

_SHORTEST_REPEATED: Final = 4


def are_own_words(error: BaseException) -> bool:
    """Whether the exception's text is the tool's author's own.

    Args:
        error: as it was caught, with its traceback.
    """
    if not isinstance(error, _SENTENCES) or error.__traceback__ is None:
        return False
    first, last = _ends(error.__traceback__)
    if first is None or last.tb_frame.f_code.co_filename != first.tb_frame.f_code.co_filename:
        return False
    if _NAMES_SECRETS.search(str(error)):
        return False
    is_raised = last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISE  # and not come out of a call to C
    return is_raised and not _repeats_another(error)


def _ends(trace: TracebackType) -> tuple[TracebackType | None, TracebackType]:
    """Where the tool begins, and where the exception was raised."""
    first: TracebackType | None = None
    while True:
        if first is None and not trace.tb_frame.f_code.co_filename.startswith(_HERE):
            first = trace
        if trace.tb_next is None:
            return first, trace
        trace = trace.tb_next


def _repeats_another(error: BaseException) -> bool:
    said, seen = str(error), {id(error)}
    other = error.__cause__ or error.__context__
    while other is not None and id(other) not in seen:
        seen.add(id(other))
        told = [str(other), *map(str, other.args)]
        if any(len(text) >= _SHORTEST_REPEATED and text in said for text in told):
            return True
        other = other.__cause__ or other.__context__
    return False
