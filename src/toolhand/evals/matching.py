"""From a value in a case file to its matcher: plain values are compared as they are, `{regex: …}` says what is accepted.

What each key means to people is in `MATCHER_DOCS` in `format.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from toolhand.evals.matchers import (
    TYPES,
    AllOf,
    Anything,
    Between,
    Day,
    Equal,
    Fields,
    Items,
    Kind,
    Matcher,
    Not,
    OneOf,
    Optional,
    Pattern,
    Words,
    moment_of,
    today,
)
from toolhand.evals.spots import Spot


def compiled(spot: Spot) -> Matcher:
    """The matcher that a value in a case file stands for.

    Raises:
        CaseFileError: when a matcher's own value cannot be used.
    """
    value = spot.value
    if isinstance(value, Mapping):
        name = next(iter(value)) if len(value) == 1 else ""
        if name in MATCHERS:
            return MATCHERS[name](spot.child(name))
        return Fields({key: compiled(item) for key, item in spot.items()})
    if isinstance(value, list):
        return Items([compiled(item) for item in spot.list()])
    return Equal(value)


def compiled_text(spot: Spot) -> Matcher:
    """The same for an answer's text, where a plain text is to be contained."""
    return Words("contains", spot.text()) if isinstance(spot.value, str) else compiled(spot)


def _words(kind: str) -> Callable[[Spot], Matcher]:
    def make(spot: Spot) -> Matcher:
        parts = [Words(kind, text) for text in spot.texts()]
        return parts[0] if len(parts) == 1 else AllOf(parts)

    return make


def _regex(spot: Spot) -> Matcher:
    try:
        return Pattern(re.compile(spot.text()))
    except re.error as error:
        spot.fail(f"this is not a regular expression: {error}", f"不是有效的正则表达式：{error}")


def _close(spot: Spot) -> Matcher:
    if not isinstance(spot.value, Mapping):
        number = spot.number()
        within = max(abs(number) * 1e-6, 1e-9)
        return Between(number - within, number + within, f"close to {number:g}")
    spot.keys(("to", "within"), "close", "close ")
    for key in ("to", "within"):
        if key not in spot.value:
            spot.fail(f"close needs '{key}'", f"close 需要“{key}”")
    number, within = spot.child("to").number(), spot.child("within").number(0)
    return Between(number - within, number + within, f"{number:g} ± {within:g}")


def _between(spot: Spot) -> Matcher:
    ends = spot.list()
    if len(ends) != 2 or ends[0].number() > ends[1].number():
        spot.fail("between takes two numbers, the lower one first", "between 需要两个数字，小的在前")
    low, high = ends[0].number(), ends[1].number()
    return Between(low, high, f"{low:g} to {high:g}")


def _date(spot: Spot) -> Matcher:
    text = spot.text()
    if moment_of(text, today()) is None:
        spot.fail(
            f"'{text}' is no date: write 2025-03-01, 2025-03-01T15:00, today or today+1",
            f"“{text}”不是日期：请写成 2025-03-01、2025-03-01T15:00、today 或 today+1",
        )
    return Day(text)


def _true(matcher: Matcher) -> Callable[[Spot], Matcher]:
    def make(spot: Spot) -> Matcher:
        if spot.value is not True:
            spot.fail("write true behind it", "后面请写 true")
        return matcher

    return make


def _items(*, is_open: bool) -> Callable[[Spot], Matcher]:
    return lambda spot: Items([compiled(item) for item in spot.list()], in_order=False, is_open=is_open)


MATCHERS: dict[str, Callable[[Spot], Matcher]] = {
    "equal": lambda spot: Equal(spot.value),
    "one_of": lambda spot: OneOf([compiled(item) for item in spot.list()]),
    "all_of": lambda spot: AllOf([compiled(item) for item in spot.list()]),
    "not": lambda spot: Not(compiled(spot)),
    "like": _words("like"),
    "contains": _words("contains"),
    "regex": _regex,
    "close": _close,
    "between": _between,
    "date": _date,
    "unordered": _items(is_open=False),
    "includes": _items(is_open=True),
    "fields": lambda spot: Fields({key: compiled(item) for key, item in spot.items()}, is_open=True),
    "type": lambda spot: Kind(spot.choice(*TYPES)),
    "any": _true(Anything()),
    "absent": _true(Optional(None)),
    "optional": lambda spot: Optional(compiled(spot)),
}
"""From a matcher's key to what makes it. A file that adds one (such as `bfcl_rules.py`) puts it in here."""
