"""The written forms of `format: date`, `date-time` and `time` (ISO 8601 as RFC 3339 narrows it)."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Final

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME: Final = re.compile(r"\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|z|[+-]\d{2}:?\d{2})?", re.ASCII)


def is_iso(text: str, form: str) -> bool:
    """Whether a text is in the form, and a real date or time.

    Seconds and an offset may be left out, as the functions behind the tools take that; nothing is added here.

    Args:
        text: what was sent.
        form: "date", "date-time" or "time".
    """
    try:
        if form == "date":
            return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
        if form == "time":
            return _TIME.fullmatch(text) is not None and time.fromisoformat(_short(text)) is not None
        day, clock = text[:10], text[11:]
        return (
            text[10:11] in ("T", "t", " ")
            and _DATE.fullmatch(day) is not None
            and _TIME.fullmatch(clock) is not None
            and bool(datetime.fromisoformat(f"{day}T{_short(clock)}"))
        )
    except ValueError:
        return False


def _short(clock: str) -> str:
    """With at most six digits of a second, which is what Python reads."""
    return re.sub(r"(\.\d{6})\d+", r"\1", clock.upper())
