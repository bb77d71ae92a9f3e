"""How moments, spans, numbers and values are written on the page. What others wrote cannot steer how the page reads."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any, Final

from toolhand.core.jsonable import jsonable
from toolhand.core.language import Language
from toolhand.core.markup import Markup, element
from toolhand.core.plain import plain

MOST_SHORT: Final = 160
"""How many characters a title may have."""


def shown(text: str) -> str:
    """Another's text: marks that nobody sees or that turn the direction of writing are spelt out."""
    return plain(text)


def short(text: str, most: int = MOST_SHORT) -> str:
    """Another's text on one line, cut."""
    line = " ".join(shown(text).split())
    return line if len(line) <= most else f"{line[:most]}…"


def value_text(value: Any) -> str:
    """A value as a person reads it: text as it is, everything else as JSON over several lines."""
    if isinstance(value, str):
        return shown(value)
    return shown(json.dumps(jsonable(value), ensure_ascii=False, indent=2))


def moment(seconds: float) -> Markup:
    """A moment; its exact form for programs."""
    at = dt.datetime.fromtimestamp(seconds).astimezone()
    return element("time", f"{at:%Y-%m-%d %H:%M:%S}", datetime=at.isoformat(timespec="seconds"))


def span(seconds: float, language: Language) -> str:
    """A span of time in the unit that suits it."""
    if seconds < 0.9995:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, left = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {left} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} 天" if language == "zh" else f"{hours // 24} days"


def money(cost: float, currency: str) -> str:
    """An amount with as many decimals as say something."""
    return f"{cost:.4f} {currency}".strip() if cost < 1 else f"{cost:.2f} {currency}".strip()


def count(number: float) -> str:
    """A whole number with its thousands apart."""
    return f"{number:,.0f}"
