"""Which kind of failure a server's answer is: its status and its words, by the table in `faults.toml`. No I/O."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from toolhand.core.errors import ModelFault
from toolhand.core.retry_after import seconds_of

PASSING: Final = frozenset({
    ModelFault.UNREACHABLE, ModelFault.TIMEOUT, ModelFault.CUT, ModelFault.GARBLED, ModelFault.RATE_LIMITED,
    ModelFault.OVERLOADED, ModelFault.FAILED,
})  # fmt: skip
"""After these the same request may succeed."""

MOST_READ: Final = 8_000
"""How many characters of an answer are searched for words."""

_AGAIN: Final = re.compile(r"(?:try again|retry|again) in\s+(\d+(?:\.\d+)?)\s*(ms|s)\b", re.IGNORECASE)


def fault_of(status: int | None, words: str, *, says_when: bool = False) -> ModelFault:
    """The kind of failure.

    Args:
        status: the HTTP status, where there was a bad one.
        words: what the server said, its codes included.
        says_when: whether it said when to come again. An account whose quota is used up has no such moment.
    """
    statuses, patterns = _table()
    by_status = statuses.get(status or 0)
    if by_status is ModelFault.RATE_LIMITED and says_when:
        return by_status
    said = words[:MOST_READ]
    for fault, pattern in patterns.items():
        is_final = by_status is not None and by_status not in PASSING
        if not (is_final and fault in PASSING) and pattern.search(
            said
        ):  # a 400 does not pass, whatever it says
            return fault
    if by_status is not None:
        return by_status
    return ModelFault.FAILED if status is None or status >= 500 else ModelFault.REFUSED


@cache
def _table() -> tuple[Mapping[int, ModelFault], Mapping[ModelFault, re.Pattern[str]]]:
    rows = tomllib.loads(files("toolhand.models").joinpath("faults.toml").read_text("utf-8"))
    statuses = {int(status): ModelFault(fault) for status, fault in rows["statuses"].items()}
    patterns = {
        ModelFault(fault): re.compile("|".join(words), re.IGNORECASE)
        for fault, words in rows["words"].items()
    }
    return statuses, patterns


def wait_in(body: Any) -> float | None:
    """Seconds to wait, where a body says so: Google's `retryDelay`, or "try again in 7.5s" in the words."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return None
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str):
            return seconds_of(delay.removesuffix("s"))
    found = _AGAIN.search(str(error.get("message") or "")[:MOST_READ])
    if found is None:
        return None
    seconds = seconds_of(found[1])
    return seconds / 1000 if seconds is not None and found[2].lower() == "ms" else seconds
