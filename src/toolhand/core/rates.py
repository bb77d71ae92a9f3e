"""How often something may happen: "10/minute", "100/hour;1000/day", "5 per second", "3/minute/session"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias, cast

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

Scope: TypeAlias = Literal["user", "session", "everybody"]

_RATE: Final = re.compile(
    r"(?P<count>\d+)\s*(?:/|per)\s*(?P<many>\d+)?\s*(?P<unit>[a-z]+?)s?(?:\s*(?:/|per)\s*(?P<scope>[a-z]+))?",
    re.IGNORECASE,
)
_SECONDS: Final = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """At most so many in so many seconds, in any stretch of that length.

    Args:
        count: how many.
        seconds: the stretch.
        scope: who is counted together: each user, each session, or everybody.
    """

    count: int
    seconds: int
    scope: Scope = "user"


@lru_cache(maxsize=256)
def rates(text: str) -> tuple[Rate, ...]:
    """Reads what `rate_limit` says.

    Args:
        text: rates with ";" or "," between them; "" for none.

    Raises:
        SettingsError: when it cannot be read.
    """
    return tuple(_rate(part.strip(), text) for part in re.split(r"[;,]", text) if part.strip())


def _rate(part: str, text: str) -> Rate:
    found = _RATE.fullmatch(part)
    scope = (found["scope"] or "user").lower() if found else ""
    if (
        found is None
        or found["unit"].lower() not in _SECONDS
        or scope not in ("user", "session", "everybody")
    ):
        raise SettingsError(
            say(
                f"'{text}' is not a rate: write something like '10/minute', '100/hour;1000/day' or '3/minute/session' "
                "(per user, session or everybody)",
                f"“{text}”不是频率：请写成例如 '10/minute'、'100/hour;1000/day' 或 '3/minute/session'"
                "（可按 user、session 或 everybody 计算）",
            )
        )
    if int(found["count"]) < 1 or int(found["many"] or 1) < 1:
        raise SettingsError(
            say(
                f"'{text}' allows nothing: a rate has at least 1 call in at least 1 second",
                f"“{text}”不允许任何调用：频率至少为 1 秒 1 次",
            )
        )
    seconds = _SECONDS[found["unit"].lower()] * int(found["many"] or 1)
    return Rate(count=int(found["count"]), seconds=seconds, scope=cast("Scope", scope))
