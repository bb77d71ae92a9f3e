"""When a value is the expected one. A matcher gives None where a value fits, or the finding that says what does not.

Which of them a value in a case file stands for is in `matching.py`.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolhand.arguments.coerce.days import read_day
from toolhand.arguments.coerce.hours import read_time
from toolhand.core.canonical import canonical
from toolhand.evals.findings import Finding
from toolhand.evals.pairing import paired
from toolhand.evals.spots import shown


def today() -> dt.date:
    """The day in the machine's own time zone."""
    return dt.datetime.now().astimezone().date()


class _Absent:
    """What stands for an argument that was not sent."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT: Final = _Absent()

_PUNCTUATION: Final = re.compile(r"[\s\-_.,;:!?'\"()\[\]，。；：！？、“”‘’（）·]+")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Look:
    """What a matcher knows beside the value.

    Args:
        path: where the value stands.
        today: the day that "today" is.
    """

    path: str = ""
    today: dt.date = field(default_factory=today)

    def at(self, key: str | int) -> Look:
        """The same one level deeper."""
        step = f"[{key}]" if isinstance(key, int) else f".{key}" if self.path else key
        return replace(self, path=f"{self.path}{step}")


class Matcher(ABC):
    """Says whether a value is the expected one."""

    takes_absent = False
    """Whether it wants to judge an argument that was not sent; for any other that is a `missing_argument`."""

    @abstractmethod
    def __str__(self) -> str:
        """What is expected, in short."""

    @abstractmethod
    def _fits(self, value: Any, look: Look) -> bool | Finding:
        """True, or False for a plain "not this value", or a finding that says more."""

    def finding(self, value: Any, look: Look) -> Finding | None:
        """None where the value fits."""
        if value is ABSENT and not self.takes_absent:
            return Finding(code="missing_argument", path=look.path, expected=str(self))
        found = self._fits(value, look)
        if isinstance(found, Finding):
            return found
        if found:
            return None
        if value is ABSENT:
            return Finding(code="missing_argument", path=look.path, expected=str(self))
        return Finding(code="value", path=look.path, expected=str(self), actual=shown(value))

    def is_met(self, value: Any, look: Look) -> bool:
        """Whether the value fits."""
        return self.finding(value, look) is None


def folded(text: str) -> str:
    """A text without case and width, without commas between thousands, with single blanks."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_THOUSANDS.sub("", text).split())


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; 1 is 1.0, and true is not 1."""
    return canonical(one) == canonical(other)


@dataclass(frozen=True, slots=True)
class Equal(Matcher):
    """The value itself."""

    expected: Any

    def __str__(self) -> str:
        return shown(self.expected)

    def _fits(self, value: Any, look: Look) -> bool:
        del look
        return same(value, self.expected)


@dataclass(frozen=True, slots=True)
class Fields(Matcher):
    """An object with matchers for its fields, and no others unless `is_open`."""

    fields: Mapping[str, Matcher]
    is_open: bool = False

    def __str__(self) -> str:
        inner = ", ".join(f"{name}: {matcher}" for name, matcher in self.fields.items())
        return f"{{{inner}{', …' if self.is_open else ''}}}"

    def _fits(self, value: Any, look: Look) -> bool | Finding:
        if not isinstance(value, Mapping):
            return False
        for name, matcher in self.fields.items():
            finding = matcher.finding(value.get(name, ABSENT), look.at(name))
            if finding is not None:
                return finding
        for name, sent in value.items():
            if name not in self.fields and not self.is_open:
                return Finding(code="unexpected_argument", path=look.at(name).path, actual=shown(sent))
        return True


@dataclass(frozen=True, slots=True)
class Items(Matcher):
    """A list, item by item: in order, in any order, or as part of a longer one."""

    items: Sequence[Matcher]
    in_order: bool = True
    is_open: bool = False

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.items))
        word = "" if self.in_order else "includes " if self.is_open else "unordered "
        return f"{word}[{inner}]"

    def _fits(self, value: Any, look: Look) -> bool | Finding:
        if not isinstance(value, list | tuple):
            return False
        if not self.is_open and len(value) != len(self.items):
            return False
        if self.in_order:
            pairs = zip(self.items, value, strict=True)
            findings = (m.finding(item, look.at(number)) for number, (m, item) in enumerate(pairs))
            return next((finding for finding in findings if finding is not None), True)
        fitting = [[m.is_met(item, look) for item in value] for m in self.items]
        return None not in paired(fitting)


@dataclass(frozen=True, slots=True)
class OneOf(Matcher):
    """Any of several."""

    choices: Sequence[Matcher]

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.choices))}"

    def _fits(self, value: Any, look: Look) -> bool:
        return any(choice.is_met(value, look) for choice in self.choices)


@dataclass(frozen=True, slots=True)
class AllOf(Matcher):
    """Each of several."""

    parts: Sequence[Matcher]

    def __str__(self) -> str:
        return " and ".join(map(str, self.parts))

    def _fits(self, value: Any, look: Look) -> bool:
        return all(part.is_met(value, look) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not(Matcher):
    """Anything but this."""

    inner: Matcher

    def __str__(self) -> str:
        return f"not {self.inner}"

    def _fits(self, value: Any, look: Look) -> bool:
        return not self.inner.is_met(value, look)


@dataclass(frozen=True, slots=True)
class Words(Matcher):
    """A text, compared in one of the ways that ignore what does not matter."""

    kind: str
    expected: str

    def __str__(self) -> str:
        return f"{self.kind} {shown(self.expected)}"

    def _fits(self, value: Any, look: Look) -> bool:
        del look
        if not isinstance(value, str):
            return False
        if self.kind == "contains":
            return folded(self.expected) in folded(value)
        return _bare(self.expected) == _bare(value)


def _bare(text: str) -> str:
    return _PUNCTUATION.sub("", folded(text))


@dataclass(frozen=True, slots=True)
class Pattern(Matcher):
    """A regular expression, found anywhere in the text."""

    pattern: re.Pattern[str]

    def __str__(self) -> str:
        return f"/{self.pattern.pattern}/"

    def _fits(self, value: Any, look: Look) -> bool:
        del look
        return isinstance(value, str) and self.pattern.search(value) is not None


@dataclass(frozen=True, slots=True)
class Between(Matcher):
    """A number between two, both included."""

    low: float
    high: float
    words: str

    def __str__(self) -> str:
        return self.words

    def _fits(self, value: Any, look: Look) -> bool:
        del look
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high
        )


@dataclass(frozen=True, slots=True)
class Day(Matcher):
    """A date, with a time where one is expected, however it is written."""

    expected: str

    def __str__(self) -> str:
        return f"date {self.expected}"

    def _fits(self, value: Any, look: Look) -> bool:
        wanted = moment_of(self.expected, look.today)
        found = moment_of(value, look.today) if isinstance(value, str) else None
        if wanted is None or found is None:
            return False
        return found[0] == wanted[0] and (wanted[1] is None or found[1] == wanted[1])


def moment_of(text: str, today: dt.date) -> tuple[dt.date, dt.time | None] | None:
    """The day, and the time of day where there is one, that a text means; None where it means none."""
    text = unicodedata.normalize("NFKC", text).strip()
    counted = re.fullmatch(r"today\s*([+-]\s*\d{1,5})", text)
    if counted:
        return today + dt.timedelta(days=int(counted[1].replace(" ", ""))), None
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        has_time = len(text) > len("2025-01-01")
        return moment.date(), moment.time().replace(second=0, microsecond=0) if has_time else None
    lower = " ".join(text.lower().split())
    day = read_day(lower, today)
    if isinstance(day, dt.date):
        return day, None
    for joint in (" at ", " "):
        head, _, tail = lower.rpartition(joint) if joint == " " else lower.partition(joint)
        day, clock = (read_day(head, today), read_time(tail)) if head and tail else (None, None)
        if isinstance(day, dt.date) and isinstance(clock, dt.time):
            return day, clock.replace(second=0, microsecond=0)
    return None


TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class Kind(Matcher):
    """Any value of a JSON type."""

    type: str

    def __str__(self) -> str:
        return f"type {self.type}"

    def _fits(self, value: Any, look: Look) -> bool:
        del look
        if isinstance(value, bool):
            return self.type == "boolean"
        return isinstance(value, TYPES[self.type]) or (
            self.type == "integer" and isinstance(value, float) and value.is_integer()
        )


@dataclass(frozen=True, slots=True)
class Anything(Matcher):
    """Any value, as long as one was sent."""

    def __str__(self) -> str:
        return "anything"

    def _fits(self, value: Any, look: Look) -> bool:
        del value, look
        return True


@dataclass(frozen=True, slots=True)
class Optional(Matcher):
    """Absent, or what the inner matcher accepts; without one only absent."""

    inner: Matcher | None
    takes_absent = True

    def __str__(self) -> str:
        return "absent" if self.inner is None else f"absent or {self.inner}"

    def _fits(self, value: Any, look: Look) -> bool | Finding:
        if value is ABSENT:
            return True
        if self.inner is None:
            return Finding(code="unexpected_argument", path=look.path, actual=shown(value))
        return self.inner.finding(value, look) or True
