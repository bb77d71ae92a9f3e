"""Dates and times as people write them, where the schema declares `format: date`, `date-time` or `time`.

Own code, because the published parsers guess: a bare weekday becomes some past one, 03/04 one of two days. Relative words
are read against the clock that the caller gave; without one they are refused with a request for YYYY-MM-DD.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from toolhand.arguments.coerce.days import read_day
from toolhand.arguments.coerce.hours import MIDNIGHT_WORDS, Unclear, read_time
from toolhand.arguments.coerce.numerals import read_number
from toolhand.arguments.coerce.units import take_parts, take_suffix
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import Trouble
from toolhand.arguments.iso import is_iso
from toolhand.arguments.shape import Shape
from toolhand.core.lazily import lazy_pattern

_LONGEST: Final = 60
_NOW: Final = frozenset(("now", "right now", "现在", "此刻", "当前", "立刻", "马上"))
_LATER: Final = lazy_pattern(
    r"(?:in (?P<in>.+)|(?P<later>.+?)(?: from now| later|之后|以后|后|後)|(?P<ago>.+?)(?: ago|之前|以前|前))"
)
_JOINT: Final = lazy_pattern(r"[\s,，的]*(?:t(?=\d))?")
_TONIGHT: Final = {"tonight": "today", "this evening": "today"}
_EVENING_ALONE: Final = frozenset((*_TONIGHT, "今晚", "今夜"))
_PART_OF_DAY: Final = lazy_pattern(
    r"(?:的?(?:大?清早|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|凌晨|早|晚)| (?:morning|afternoon|evening|night))$"
)
_OFFSET: Final = lazy_pattern(r"(z|[+-]\d{2}:?\d{2})$")


def read_moment(sent: str, shape: Shape, path: str, walk: Walk) -> Any:
    """The date or time in its written form, or `Refused`.

    Args:
        sent: what came, not in the written form yet.
        shape: what is declared; its `format` says which form.
        path: where it stands.
        walk: takes the liberties down and holds the clock.
    """
    form = str(shape.raw["format"])
    text = " ".join(unicodedata.normalize("NFKC", sent).lower().split()).rstrip("。.")
    if not text or len(text) > _LONGEST:
        return refuse(Trouble.TYPE, shape, path, sent)
    clock = walk.settings.clock
    now = clock() if clock is not None else None
    reader = {"date": _date, "time": _time, "date-time": _date_time}[form]
    found, kinds = reader(text, now)
    if isinstance(found, Unclear):
        return refuse(
            Trouble.AMBIGUOUS if found.note in _OPEN else Trouble.TYPE, shape, path, sent, note=found.note
        )
    if found is None:
        return refuse(Trouble.TYPE, shape, path, sent)
    for kind in kinds:
        walk.note(kind, path, sent, found)
    return found


_OPEN: Final = frozenset(("day_or_month", "which_day", "am_or_pm"))


def _kind(text: str) -> str:
    """A matter of form where all is in digits, of language otherwise."""
    return "date_form" if re.fullmatch(r"[\d\s:/.年月日号时点分秒t+z-]+", text) else "spoken_date"


def _date(text: str, now: datetime | None) -> tuple[str | Unclear | None, tuple[str, ...]]:
    today = None if now is None else now.date()
    if text in _NOW:
        return (Unclear("no_clock") if today is None else today.isoformat()), ("spoken_date",)
    if text in _EVENING_ALONE:
        return (Unclear("no_clock") if today is None else today.isoformat()), ("spoken_date", "time_dropped")
    if is_iso(text, "date-time"):
        return _day_of_iso(text, now), ("time_dropped",)
    day = read_day(text, today)
    if day is not None:
        return (day if isinstance(day, Unclear) else day.isoformat()), (_kind(text),)
    part = read_day(_without_part_of_day(text), today)
    if part is not None:
        return (part if isinstance(part, Unclear) else part.isoformat()), (_kind(text), "time_dropped")
    for part, moment in _splits(text, today):
        if isinstance(part, Unclear):
            return part, ()
        if isinstance(part, date) and isinstance(moment, time):
            return part.isoformat(), (_kind(text), "time_dropped")
    return None, ()


def _day_of_iso(text: str, now: datetime | None) -> str | Unclear:
    """The day of a written moment; open where it is another day in the user's time zone."""
    moment = datetime.fromisoformat(text.upper())
    if moment.tzinfo is not None and moment.time() != time(0):
        here = moment.astimezone(now.tzinfo) if now is not None else None
        if here is None or here.date() != moment.date():
            return Unclear("which_day")
    return text[:10]


def _time(text: str, now: datetime | None) -> tuple[str | Unclear | None, tuple[str, ...]]:
    if text in _NOW or _LATER.fullmatch(text):
        moment = _from_now(text, now)
        if isinstance(moment, datetime):
            return moment.time().isoformat("seconds"), ("spoken_date",)
        if moment is not None:
            return moment, ()
    found = read_time(text)
    if found is None or isinstance(found, Unclear):
        return found, ()
    return found.isoformat("seconds"), (_kind(text),)


def _date_time(text: str, now: datetime | None) -> tuple[str | Unclear | None, tuple[str, ...]]:
    if is_iso(text, "date"):
        return f"{text}T00:00:00", ("midnight_added",)
    moment = _from_now(text, now)
    if moment is not None:
        return (moment if isinstance(moment, Unclear) else moment.isoformat(timespec="seconds")), (
            "spoken_date",
        )
    offset = _OFFSET.search(text) if re.match(r"\d{4}\D", text) and ":" in text else None
    body = text[: offset.start()].strip() if offset else text
    if offset is None and is_iso(text.replace(" ", "t"), "date-time"):
        return text.replace(" ", "T").upper(), ("date_form",)
    today = None if now is None else now.date()
    for day, clock in _splits(body, today):
        for part in (day, clock):
            if isinstance(part, Unclear):
                return part, ()
        if isinstance(day, date) and isinstance(clock, time):
            written = datetime.combine(day, clock)
            if offset:
                return written.isoformat(timespec="seconds") + _colon(offset[1]), (_kind(text),)
            here = written.replace(tzinfo=now.tzinfo) if now is not None else written
            return here.isoformat(timespec="seconds"), (_kind(text),)
    day = read_day(_without_part_of_day(text), today)
    if day is not None:
        return (day if isinstance(day, Unclear) else Unclear("needs_time")), ()
    clock = read_time(text)
    return (Unclear("needs_date") if isinstance(clock, time) else clock), ()


def _without_part_of_day(text: str) -> str:
    """明天上午 is tomorrow, where only the day is asked for."""
    return _PART_OF_DAY.sub("", text)


def _colon(offset: str) -> str:
    return "Z" if offset == "z" else offset if ":" in offset else f"{offset[:3]}:{offset[3:]}"


def _splits(text: str, today: date | None) -> Iterator[tuple[Any, Any]]:
    """Every way of cutting a text into a day and a time of day, either first."""
    for word, day in _TONIGHT.items():
        if text.startswith(word):
            text = f"{day} at {text.removeprefix(word).removeprefix(' at').strip()} in the evening"
    for at in range(1, len(text)):
        head, tail = text[:at], text[at:]
        joint = _JOINT.match(tail)
        rest = tail[joint.end() :] if joint is not None else tail
        for first, second in ((head.rstrip(" ,，"), rest), (rest, head.rstrip(" ,，"))):
            clock = read_time(second) if second else None
            if clock is None:
                continue
            found = read_day(first, today)
            if found is not None:
                yield found, Unclear("which_day") if second in MIDNIGHT_WORDS else clock


def _from_now(text: str, now: datetime | None) -> datetime | Unclear | None:
    """A moment counted from the present: "in 2 hours", "半小时后"."""
    if text in _NOW:
        return now if now is not None else Unclear("no_clock")
    match = _LATER.fullmatch(text)
    if match is None:
        return None
    span = match["in"] or match["later"] or match["ago"]
    seconds = _seconds(span)
    if seconds is None:
        return None
    if now is None:
        return Unclear("no_clock")
    try:
        return now - timedelta(seconds=seconds) if match["ago"] else now + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _seconds(span: str) -> float | None:
    """How long a span is that is counted in hours, minutes or seconds."""
    suffixed = take_suffix(span)
    parts = [suffixed] if suffixed is not None and _count(suffixed[0]) is not None else take_parts(span)
    if parts is None:
        return None
    total = 0.0
    for number, unit in parts:
        count = _count(number)
        if count is None or unit.dimension != "time" or unit.factor > 3600:
            return None
        total += float(count * unit.factor)
    return total


def _count(text: str) -> Any:
    text = text.strip()
    if text in ("a", "an", "half an", "half a"):
        return 1 if text in ("a", "an") else read_number("half")
    if text.endswith("个半"):
        number = read_number(text[:-2])
        return None if number is None else number + read_number("half")  # type: ignore[operator]
    return read_number(text.removesuffix("个"))
