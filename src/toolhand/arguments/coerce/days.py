"""A day as people write it, in digits, Chinese and English, against today.

Conventions, where usage has one: a week begins on Monday; 下周五 and "next Friday" are the Friday of the week after this
one; 月底 is the month's last day; a date without a year is this year's if it is still to come. Where usage has none (a bare
weekday that has passed, 03/04/2026, a lunar date) nothing is guessed.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final, TypeAlias

from toolhand.arguments.coerce.hours import NUMERAL, Unclear, whole
from toolhand.core.lazily import lazy_pattern

Day: TypeAlias = "date | Unclear | None"

_RELATIVE: Final = {
    "大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "今天": 0, "今日": 0, "今儿": 0, "当天": 0,
    "明天": 1, "明日": 1, "明儿": 1, "后天": 2, "後天": 2, "后日": 2, "大后天": 3, "大後天": 3,
    "today": 0, "tomorrow": 1, "tmr": 1, "tmrw": 1, "yesterday": -1,
    "the day after tomorrow": 2, "day after tomorrow": 2, "the day before yesterday": -2, "day before yesterday": -2,
}  # fmt: skip
_HOLIDAYS: Final = {
    "元旦": (1, 1), "元旦节": (1, 1), "情人节": (2, 14), "劳动节": (5, 1), "五一劳动节": (5, 1), "儿童节": (6, 1),
    "国庆": (10, 1), "国庆节": (10, 1), "圣诞": (12, 25), "圣诞节": (12, 25), "平安夜": (12, 24), "new year's day": (1, 1),
    "valentine's day": (2, 14), "christmas": (12, 25), "christmas day": (12, 25), "christmas eve": (12, 24),
    "new year's eve": (12, 31),
}  # fmt: skip
_SHORT: Final = {"今": 0, "明": 1, "昨": -1, "后": 2}

_WEEKDAYS: Final = {letter: index for index, letter in enumerate("一二三四五六日")} | {"天": 6} | {
    str(number): number - 1 for number in range(1, 8)
}  # fmt: skip
_ENGLISH_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = {name.lower(): index for index, name in enumerate(calendar.month_name) if name} | {
    name.lower(): index for index, name in enumerate(calendar.month_abbr) if name
} | {"sept": 9}  # fmt: skip
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WEEKDAY: Final = "|".join([*_ENGLISH_DAYS, "mon", "tues?", "wed", "thurs?", "thu", "fri", "sat", "sun"])
_COUNT: Final = rf"{NUMERAL}|\d{{1,4}}|[a-z]+(?:-[a-z]+)?"
_LUNAR: Final = lazy_pattern(
    "农历|阴历|旧历|初[一二三四五六七八九十]|正月|腊月|冬月|闰月|春节|除夕|大年|元宵|清明|端午|中秋|重阳|七夕|腊八|小年|"
    "lunar|chinese new year"
)
_ENGLISH_NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_YEARS: Final = {"今": 0, "本": 0, "明": 1, "后": 2, "去": -1, "前": -2}
_WEEKS: Final = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}


def read_day(text: str, today: date | None) -> Day:
    """The day that a text is.

    Args:
        text: folded: half-width, lower case, single blanks.
        today: the present day, or None where it is not known.

    Returns:
        the day; `Unclear` where the words leave two readings or need today; None where it is no day.
    """
    if _LUNAR.search(text):
        return Unclear("lunar")
    text = text.removeprefix("on ").strip(" ,，")
    named = _WEEKDAY_BEFORE.fullmatch(text)
    if named is not None:
        day = read_day(named[2], today)
        agrees = isinstance(day, date) and _ENGLISH_DAYS[day.weekday()].startswith(named[1][:3])
        return day if agrees or isinstance(day, Unclear) else None
    compact = text.replace(" ", "") if not text.isascii() else text
    for form, reader in _FORMS:
        match = form.fullmatch(compact)
        if match is not None:
            try:
                return reader(match, today)
            except (ValueError, OverflowError):  # the 31st of February, the year 12000
                return None
    return None


def _relative(match: re.Match[str], today: date | None) -> Day:
    word = match[0]
    offset = _RELATIVE.get(word, _SHORT.get(word, 0))
    return today + timedelta(days=offset) if today is not None else Unclear("no_clock")


def _holiday(match: re.Match[str], today: date | None) -> Day:
    """A holiday of the solar calendar, as a month and a day."""
    if today is None:
        return Unclear("which_day")
    found = date(today.year, *_HOLIDAYS[match[0]])
    return found if found >= today else Unclear("which_day")


def _counted(match: re.Match[str], today: date | None) -> Day:
    groups = match.groupdict()
    number, unit = groups["n"], groups["unit"]
    count = _ENGLISH_NUMBERS.get(number, -1) if number.isascii() and number.isalpha() else whole(number)
    if count < 0:
        return None
    if today is None:
        return Unclear("no_clock")
    if groups["back"]:
        count = -count
    if unit.startswith(("天", "日", "day")):
        return today + timedelta(days=count)
    if unit.startswith(("周", "星期", "礼拜", "week")):
        return today + timedelta(weeks=count)
    return _months_later(today, count * (12 if unit.startswith(("年", "year")) else 1))


def _months_later(day: date, months: int) -> Day:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if day.day > calendar.monthrange(year, month + 1)[1]:
        return Unclear("which_day")
    return date(year, month + 1, day.day)


def _of_week(match: re.Match[str], today: date | None) -> Day:
    """下周三: of a week that is named."""
    if today is None:
        return Unclear("no_clock")
    monday = today - timedelta(days=today.weekday())
    return monday + timedelta(weeks=_WEEKS[match[1]], days=_WEEKDAYS[match[2]])


def _weekday(match: re.Match[str], today: date | None) -> Day:
    return _still_to_come(_WEEKDAYS[match[1]], today)


def _still_to_come(weekday: int, today: date | None) -> Day:
    """A bare weekday: the one of this week, if it lies ahead; else it may be the last or the next."""
    if today is None:
        return Unclear("no_clock")
    ahead = weekday - today.weekday()
    return today + timedelta(days=ahead) if ahead > 0 else Unclear("which_day")


def _english_weekday(match: re.Match[str], today: date | None) -> Day:
    which, name = (match[1] or "").strip(), match[2]
    weekday = next(index for index, full in enumerate(_ENGLISH_DAYS) if full.startswith(name[:3]))
    if not which:
        return _still_to_come(weekday, today)
    if today is None:
        return Unclear("no_clock")
    this = today + timedelta(days=weekday - today.weekday())
    if which == "next":
        return this + timedelta(weeks=1)
    if which == "this":
        return this if this >= today else Unclear("which_day")
    if which == "last":
        # On a Sunday, "last Friday" may be two days or nine days ago.
        return this - timedelta(weeks=1) if this >= today else Unclear("which_day")
    return this if this > today else this + timedelta(weeks=1)  # "this coming"


def _full(match: re.Match[str], today: date | None) -> Day:
    del today
    year = match["y"]
    digits = (
        year
        if year.isascii()
        else "".join(str("〇一二三四五六七八九".index(c if c != "零" else "〇")) for c in year)
    )
    return date(int(digits), whole(match["m"]), whole(match["d"]))


def _eight_digits(match: re.Match[str], today: date | None) -> Day:
    del today
    return date(int(match[0][:4]), int(match[0][4:6]), int(match[0][6:]))


def _slashed(match: re.Match[str], today: date | None) -> Day:
    """03/04/2026: one way in one country, the other in another."""
    del today
    first, second, year = int(match[1]), int(match[2]), int(match[3])
    if first == second or second > 12:
        return date(year, first, second)
    return date(year, second, first) if first > 12 else Unclear("day_or_month")


def _two_numbers(match: re.Match[str], today: date | None) -> Day:
    del match, today
    return Unclear("day_or_month")


def _month_day(match: re.Match[str], today: date | None) -> Day:
    day = _month_and_day(match, today)
    weekday = match.groupdict().get("w")
    if weekday and isinstance(day, date) and day.weekday() != _WEEKDAYS[weekday]:
        return Unclear("which_day")
    return day


def _month_and_day(match: re.Match[str], today: date | None) -> Day:
    groups = match.groupdict()
    month = _MONTHS.get(groups["m"]) or whole(groups["m"])
    day = whole(groups["d"])
    if groups.get("y"):
        return date(int(groups["y"]), month, day)
    named = groups.get("year")
    if today is None:
        date(2024, month, day)
        return Unclear("no_clock" if named else "which_day")
    if named:
        return date(today.year + _YEARS[named], month, day)
    found = date(today.year, month, day)
    return found if found >= today else Unclear("which_day")


def _day_of_month(match: re.Match[str], today: date | None) -> Day:
    day = whole(match["d"])
    if today is None:
        return Unclear("no_clock")
    which = match.groupdict().get("month")
    if which:
        first = _first_of_month(today, _WEEKS[which])
        return first.replace(day=day)
    found = today.replace(day=day)
    return found if found >= today else Unclear("which_day")


def _first_of_month(today: date, months: int) -> date:
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return date(year, month + 1, 1)


def _month_edge(match: re.Match[str], today: date | None) -> Day:
    """月底, 下月初, the end of next month."""
    if today is None:
        return Unclear("no_clock")
    groups = match.groupdict()
    which = {"next": "下", "this": "这", "the": "这"}.get(groups["month"] or "", groups["month"])
    if groups["edge"] in ("初", "月初"):
        return _first_of_month(today, _WEEKS[which]) if which else Unclear("which_day")
    first = _first_of_month(today, _WEEKS[which or "这"])
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


def _year_end(match: re.Match[str], today: date | None) -> Day:
    if today is None:
        return Unclear("no_clock")
    named = match.groupdict().get("year")
    return date(today.year + _YEARS[named or "今"], 12, 31)


_WEEKDAY_BEFORE: Final = lazy_pattern(rf"({_WEEKDAY}),? (.*\d.*)")
_WEEKDAY_BEHIND: Final = r"(?:\(?(?:周|星期|礼拜)(?P<w>[一二三四五六日天])\)?)?"
_ORDINAL: Final = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"

_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date | None], Day]], ...]] = tuple(
    (lazy_pattern(form), reader)
    for form, reader in (
        ("|".join(sorted(_HOLIDAYS, key=len, reverse=True)), _holiday),
        ("|".join(sorted([*_RELATIVE, *_SHORT], key=len, reverse=True)), _relative),
        (
            r"(?P<y>\d{4}|[〇零一二三四五六七八九]{4})[-/.年](?P<m>"
            + NUMERAL
            + r")[-/.月](?P<d>"
            + NUMERAL
            + r")[日号]?",
            _full,
        ),
        (r"(?:19|20)\d{6}", _eight_digits),
        (r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})", _slashed),
        (r"\d{1,2}[-/.]\d{1,2}", _two_numbers),
        (
            rf"(?P<n>{_COUNT})(?P<unit>天|日|个?周|周|个?星期|个?礼拜|个月|年)(?:之|以)?(?:后|後|(?P<back>前))",
            _counted,
        ),
        (rf"in (?P<n>{_COUNT}) (?P<unit>day|week|month|year)s?(?:'? time)?(?P<back>\b\B)?", _counted),
        (
            rf"(?P<n>{_COUNT}) (?P<unit>day|week|month|year)s? (?:(?P<back>ago)|from (?:now|today)|later|from today)",
            _counted,
        ),
        (r"(上上|下下|上|下|这|本)个?(?:周|星期|礼拜)([一二三四五六日天1-7])", _of_week),
        (r"(?:周|星期|礼拜)([一二三四五六日天])", _weekday),
        (rf"(next |this |last |this coming |coming |upcoming )?({_WEEKDAY})", _english_weekday),
        (
            rf"(?:(?P<year>[今明后去前])年)?(?P<m>{NUMERAL})月(?P<d>{NUMERAL})[日号]?" + _WEEKDAY_BEHIND,
            _month_day,
        ),
        (rf"(?P<m>{_MONTH})\.? {_ORDINAL}(?:,? (?P<y>\d{{4}}))?", _month_day),
        (rf"(?:the )?{_ORDINAL}(?: of)? (?P<m>{_MONTH})\.?(?:,? (?P<y>\d{{4}}))?", _month_day),
        (rf"(?:(?P<month>[上这本下])个?月)?(?P<d>{NUMERAL})[日号]", _day_of_month),
        (r"the (?P<d>\d{1,2})(?:st|nd|rd|th)", _day_of_month),
        (r"(?:(?P<month>[上这本下])个?)?月(?P<edge>底|末|初)", _month_edge),
        (r"(?:the )?(?P<edge>end) of (?P<month>the|this|next) month", _month_edge),
        (r"(?:(?P<year>[今明后去])年)?年?(?:底|末)", _year_end),
        (r"(?:the )?end of (?:the|this) year", _year_end),
    )
)
