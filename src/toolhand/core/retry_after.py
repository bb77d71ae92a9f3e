"""When to come again, as a server says it. Source: RFC 9110, 10.2.3; `retry-after-ms` is a custom of model servers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

_LONGEST: Final = 1e9


def seconds_of(value: Any) -> float | None:
    """Seconds from a number, its text, or an HTTP date; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        try:
            moment = parsedate_to_datetime(str(value))
            # Without a zone it is no HTTP date, and whose midnight it means is anybody's guess.
            seconds = moment.timestamp() - time.time() if moment.tzinfo is not None else float("nan")
        except (TypeError, ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), _LONGEST) if seconds == seconds else None  # noqa: PLR0124 - not a number


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """Seconds, from a response's headers in any case; None where they do not say.

    Args:
        headers: names and values.
    """
    found = {str(name).lower(): value for name, value in list(headers.items())}
    milliseconds = seconds_of(found.get("retry-after-ms"))
    return seconds_of(found.get("retry-after")) if milliseconds is None else milliseconds / 1000
