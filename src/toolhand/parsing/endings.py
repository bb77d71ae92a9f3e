"""Whether a quotation mark closes its string or stands inside it: told by what follows."""

from __future__ import annotations

import re

from toolhand.parsing.marks import (
    AFTER_CLOSED,
    BLANK,
    CLOSED,
    CLOSERS,
    COLON,
    COMMA,
    KEY_AHEAD,
    KEYWORD_AHEAD,
    VALUE_AHEAD,
)

_MARK_BEHIND = re.compile(r"[^\n\"]{0,200}\"\s*[}\])]")


def closes_string(text: str, after: int, closer: str, stops: re.Pattern[str] | None) -> bool:
    """Whether a mark that is followed by what stands at `after` closes its string."""
    pos = BLANK.match(text, after).end()  # type: ignore[union-attr]
    if pos >= len(text) or (stops is not None and stops.match(text, pos)):
        return True
    char = text[pos]
    if closer == ":":
        return COLON.match(text, pos) is not None
    if closer == "":
        return True
    if COMMA.match(char):
        ahead = {"}": KEY_AHEAD, ")": KEYWORD_AHEAD}.get(closer, VALUE_AHEAD)
        rest = BLANK.match(text, pos + 1).end()  # type: ignore[union-attr]
        return (
            rest >= len(text)
            or text[rest] in CLOSERS
            or text[rest] in "/#"
            or ahead.match(text, pos + 1) is not None
        )
    if char in CLOSERS:
        end = CLOSED.match(text, pos).end()  # type: ignore[union-attr]
        return (
            AFTER_CLOSED.match(text, end) is not None
            or text[end - 1].isspace()
            or not _has_mark_on_line(text, end)
        )
    if text.startswith(("//", "/*", "<!--", "#"), pos):
        return True
    if closer == "}":
        return KEY_AHEAD.match(text, pos) is not None
    return pos > after and char in "\"'“" and VALUE_AHEAD.match(text, pos) is not None


def _has_mark_on_line(text: str, start: int) -> bool:
    """Whether another quotation mark and a closing bracket follow nearby, so that this one may stand inside."""
    return _MARK_BEHIND.match(text, start) is not None
