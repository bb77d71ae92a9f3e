"""A time of day as people write it, in digits, Chinese and English. Where morning or afternoon is open, it stays open."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import time
from typing import Final

from toolhand.arguments.coerce.chinese import read_chinese
from toolhand.core.lazily import lazy_pattern


@dataclass(frozen=True, slots=True)
class Unclear:
    """Words for a date or time that leave two readings, or need what is not known here.

    Args:
        note: a key of `words.NOTES`.
    """

    note: str


NUMERAL: Final = r"\d{1,2}|[零〇一二三四五六七八九十廿卅两]{1,3}"

_MORNING: Final = ("凌晨", "清晨", "早上", "早晨", "上午", "早", "大清早")
_NOON: Final = ("中午", "正午")
_AFTERNOON: Final = ("下午", "午后", "傍晚")
_EVENING: Final = ("晚上", "晚间", "夜里", "夜晚", "深夜", "半夜", "晚", "夜间")

_PERIODS: Final = "|".join(sorted((*_MORNING, *_NOON, *_AFTERNOON, *_EVENING), key=len, reverse=True))
_CHINESE: Final = lazy_pattern(
    rf"(?:({_PERIODS})的?)?(?:({NUMERAL})(?:[点點时時](?:钟|整|正)?|(?=:))"
    rf"(?:(半)|(一刻|三刻)|[:零]?({NUMERAL})分?|:(\d\d)(?::(\d\d))?)?(?:({NUMERAL})秒)?)"
)
_DIGITAL: Final = lazy_pattern(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.0+)?", re.ASCII)
_ENGLISH: Final = lazy_pattern(
    r"(?:at )?(\d{1,2})(?:[:.](\d{2}))?(?::(\d{2}))? ?"
    r"(am|pm|a\.m\.?|p\.m\.?|o'?clock(?: in the (morning|afternoon|evening))?|in the (morning|afternoon|evening))",
    re.ASCII,
)
_WORDS: Final = {
    "noon": time(12),
    "midday": time(12),
    "at noon": time(12),
    "正午": time(12),
    "中午": time(12),
}
MIDNIGHT_WORDS: Final = ("midnight", "at midnight", "午夜", "子夜")
"""Words for 0:00 that, beside a day, may mean its beginning or its end."""

_MIDNIGHT: Final = (*MIDNIGHT_WORDS, "零点", "零时", "0点", "0时")


def read_time(text: str) -> time | Unclear | None:
    """The time of day that a text is.

    Args:
        text: folded: half-width, lower case, single blanks.

    Returns:
        the time; `Unclear` where morning or afternoon is not said; None where it is no time.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text in _MIDNIGHT:
        return time(0)
    digital = _DIGITAL.fullmatch(text.removeprefix("at "))
    if digital is not None:
        return _time(int(digital[1]), int(digital[2]), int(digital[3] or 0))
    english = _ENGLISH.fullmatch(text)
    if english is not None:
        return _english(english)
    chinese = _CHINESE.fullmatch(text.replace(" ", ""))
    return None if chinese is None else _chinese(chinese)


def whole(text: str | None) -> int:
    """A small whole number in digits or Chinese; -1 for what is none."""
    if text is None:
        return 0
    if text.isascii():
        return int(text)
    value = read_chinese(text)
    return int(value) if value is not None and value.denominator == 1 else -1


def _time(hour: int, minute: int, second: int) -> time | None:
    if 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60:
        return time(hour, minute, second)
    return None


def _english(match: re.Match[str]) -> time | Unclear | None:
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    half = (match[5] or match[6] or match[4]).replace(".", "")
    if half in ("am", "pm", "morning", "afternoon", "evening"):
        if not 1 <= hour <= 12 or (hour == 12 and half == "evening"):
            return None
        is_late = half not in ("am", "morning")
        return _time(hour % 12 + 12 * is_late, minute, second)
    return _time(hour, minute, second) if hour > 12 else Unclear("am_or_pm")


def _chinese(match: re.Match[str]) -> time | Unclear | None:
    period, hour = match[1], whole(match[2])
    minute = 30 if match[3] else {"一刻": 15, "三刻": 45}.get(match[4] or "", 0)
    minute = minute or whole(match[5]) or int(match[6] or 0)
    second = whole(match[8]) or int(match[7] or 0)
    if hour < 0 or minute < 0 or second < 0:
        return None
    found = _hour(period, hour)
    return found if found is None or isinstance(found, Unclear) else _time(found, minute, second)


def _hour(period: str | None, hour: int) -> int | Unclear | None:
    """The hour of 24 that an hour in a part of the day is."""
    if period is None:
        return hour if hour > 12 or hour == 0 else Unclear("am_or_pm")
    if period in _MORNING:
        if hour == 12:
            return 0 if period == "凌晨" else Unclear("am_or_pm")
        return hour if hour < 12 else None
    if period in _NOON:
        return {11: 11, 12: 12, 1: 13, 2: 14, 13: 13, 14: 14}.get(hour)
    if period in _AFTERNOON:
        return hour + 12 if 1 <= hour < 12 else hour if 12 <= hour < 20 else None
    if 5 <= hour < 12:
        return hour + 12
    # Twelve at night begins the next day, and one at night lies in it: which day is meant is open.
    return hour if 17 <= hour < 24 else Unclear("which_day")
