"""Which kind of failure a server's answer is: its status and its words, by the table in `faults.toml`. No I/O."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.language import say
from toolhand.core.retry_after import seconds_of

PASSING: Final = frozenset({
    ModelFault.UNREACHABLE, ModelFault.TIMEOUT, ModelFault.CUT, ModelFault.GARBLED, ModelFault.RATE_LIMITED,
    ModelFault.OVERLOADED, ModelFault.FAILED,
})  # fmt: skip
"""After these the same request may succeed."""

LONGEST_QUOTE: Final = 400
"""How many characters of a server's own words are repeated in an error."""

MOST_READ: Final = 8_000
"""How many characters of an answer are searched for words."""

_AGAIN: Final = re.compile(
    r"(?:try again|retry|again) in\s+(?:(\d{1,4})\s*h\s*)?(?:(\d{1,4})\s*m\s*)?(?:(\d+(?:\.\d+)?)\s*(ms|s))?\b",
    re.IGNORECASE,
)
"""As in "try again in 7.5s", "120ms", "6m0s", "1h2m"."""


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
    body = alone(body)
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return None
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str):
            return seconds_of(delay.removesuffix("s"))
    found = _AGAIN.search(str(error.get("message") or "")[:MOST_READ])
    if found is None or not any(found.groups()):
        return None
    hours, minutes, seconds, unit = found.groups()
    rest = float(seconds or 0) / (1000 if (unit or "").lower() == "ms" else 1)
    return seconds_of(int(hours or 0) * 3600 + int(minutes or 0) * 60 + rest)


def alone(body: Any) -> Any:
    """A body, out of the list of one that Google puts an error into where it would have streamed."""
    return body[0] if isinstance(body, list) and len(body) == 1 else body


def refuse_error(body: Mapping[str, Any], *, status: int | None = None) -> None:
    """Raises if a body holds an error, which some servers send with status 200 or in the middle of a stream.

    Raises:
        ModelError: with the server's own words, shortened.
    """
    error = body.get("error") or (body if body.get("object") == "error" else None)
    if not error:
        return
    code = error.get("code") if isinstance(error, Mapping) else body.get("code")
    code = int(code) if isinstance(code, str) and code.isascii() and code.isdecimal() else code
    status = status if status is not None else code if isinstance(code, int) and 400 <= code < 600 else None
    wait = wait_in(body)
    fault = fault_of(status, json.dumps(body, ensure_ascii=False, default=str), says_when=wait is not None)
    raise ModelError(
        say(
            f"the model's server reported an error: {quoted(error_text(body))}",
            f"模型服务报告了错误：{quoted(error_text(body))}",
        ),
        fault=fault,
        status=status,
        retryable=fault in PASSING,
        retry_after=wait,
    )


def error_text(body: Any) -> str:
    """The server's own words in an error body, whatever its form."""
    body = alone(body)
    if isinstance(body, Mapping):
        for key in ("error", "message", "detail", "msg"):
            if body.get(key) and body[key] is not True:  # "error": true says only that there is one
                return error_text(body[key])
        return json.dumps(body, ensure_ascii=False)
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def quoted(text: str) -> str:
    """A server's words in one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_QUOTE else line[:LONGEST_QUOTE] + "…"
