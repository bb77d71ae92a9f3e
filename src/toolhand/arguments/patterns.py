"""Patterns of schemas that strangers wrote, matched in a time that no pattern can make long.

Python's matcher tries one way after another where a repeat stands in a repeat: for `(a+)+$` some 30 characters last for minutes,
and nothing else of the process runs meanwhile. Such a pattern is followed in all its ways at once instead, in a time that grows
with the length (Thompson's construction). Where that cannot be, as with references to groups, the pattern is not looked at.

Source: Thompson, Regular expression search algorithm (1968); OWASP, regular expression denial of service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from re import _parser  # the only reader of Python's own dialect
from typing import Any, Final

MOST_STEPS: Final = 2_000_000
"""How many steps a match may take at most, by an estimate. A longer text counts as fitting."""

MOST_CHARACTERS: Final = 2_000
"""Of a pattern."""

MOST_STATES: Final = 4_000

_REPEATS: Final = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_SINGLE: Final = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip
_WORD: Final = re.compile(r"\w")

Test = Callable[[str], bool]
"""Of one character."""

Place = Callable[[str, int], bool]
"""Of a position in a text."""


class _Beyond(Exception):  # noqa: N818 - the end of a try, not a fault
    """What cannot be followed in all its ways at once."""


def matcher(pattern: str) -> Callable[[str], bool] | None:
    """Whether a text holds what a pattern says; None where that cannot be told in a bounded time, or by Python at all.

    Args:
        pattern: a regular expression, from anybody.
    """
    if len(pattern) > MOST_CHARACTERS:
        return None
    try:
        tokens, search = _parser.parse(pattern), re.compile(pattern).search
    except (re.error, RecursionError, OverflowError):
        return None
    repeats, is_ambiguous = _read(tokens)
    try:
        every_way = _Machine(tokens).finds
    except _Beyond:
        if is_ambiguous:
            return None
        every_way = _any
    if is_ambiguous:
        return every_way
    # The search begins at each character, and each repeat may end at each.
    quick = int(MOST_STEPS ** (1 / (repeats + 1)))
    return lambda text: search(text) is not None if len(text) <= quick else every_way(text)


def _any(text: str) -> bool:
    del text
    return True


# ---------------------------------------------------------------------- what may take long


def _read(tokens: Iterable[Any]) -> tuple[int, bool]:
    """How many repeats there are, and whether one of them holds what can match in several ways."""
    repeats, is_ambiguous = 0, False
    for operation, argument in tokens:
        is_repeat = str(operation) in _REPEATS and argument[0] != argument[1]
        for inner in _inner(argument):
            within, inner_is = _read(inner)
            repeats, is_ambiguous = repeats + within, is_ambiguous or inner_is
        if str(operation) in _REPEATS and int(argument[1]) > 1:
            is_ambiguous = is_ambiguous or _varies(argument[2])
        repeats += is_repeat
    return repeats, is_ambiguous


def _varies(tokens: Iterable[Any]) -> bool:
    """Whether a piece can match in several ways."""
    for operation, argument in tokens:
        name = str(operation)
        if name in _REPEATS and argument[0] != argument[1]:
            return True
        if name in ("BRANCH", "GROUPREF", "GROUPREF_EXISTS") or any(map(_varies, _inner(argument))):
            return True
    return False


def _inner(argument: Any) -> Iterator[Any]:
    """The pieces within a token."""
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for part in argument:
            yield from _inner(part)


# ---------------------------------------------------------------------- all ways at once


class _Machine:
    """States and what leads from one to another: a character, nothing, or a place in the text."""

    def __init__(self, tokens: Any) -> None:
        if tokens.state.flags & ~re.UNICODE.value:
            raise _Beyond
        self._steps: list[list[tuple[Test, int]]] = []
        self._leaps: list[list[tuple[Place | None, int]]] = []
        self._end = self._build(tokens, self._state())

    def finds(self, text: str) -> bool:
        """Whether the pattern fits somewhere in the text."""
        if len(text) * len(self._steps) > MOST_STEPS:
            return True
        reached: set[int] = set()
        for at in range(len(text) + 1):
            here = self._closed({*reached, 0}, text, at)
            if self._end in here:
                return True
            if at < len(text):
                reached = {to for state in here for test, to in self._steps[state] if test(text[at])}
        return False

    def _closed(self, states: set[int], text: str, at: int) -> set[int]:
        found, left = set(states), list(states)
        while left:
            for place, to in self._leaps[left.pop()]:
                if to not in found and (place is None or place(text, at)):
                    found.add(to)
                    left.append(to)
        return found

    def _state(self) -> int:
        if len(self._steps) >= MOST_STATES:
            raise _Beyond
        self._steps.append([])
        self._leaps.append([])
        return len(self._steps) - 1

    def _build(self, tokens: Iterable[Any], start: int) -> int:
        """Adds pieces behind a state; gives the state behind them."""
        for operation, argument in tokens:
            name, end = str(operation), self._state()
            if name in _SINGLE:
                self._steps[start].append((_test(name, argument), end))
            elif name == "AT":
                self._leaps[start].append((_place(str(argument)), end))
            elif name == "BRANCH":
                for way in argument[1]:
                    self._leaps[self._build(way, start)].append((None, end))
            elif name == "SUBPATTERN" and not argument[1] and not argument[2]:
                self._leaps[self._build(argument[3], start)].append((None, end))
            elif name in _REPEATS[:2]:
                self._leaps[self._repeat(argument, start)].append((None, end))
            else:
                raise _Beyond
            start = end
        return start

    def _repeat(self, argument: Any, start: int) -> int:
        least, most, inner = argument
        for _ in range(least):
            start = self._build(inner, start)
        end = self._state()
        self._leaps[start].append((None, end))
        if most == _parser.MAXREPEAT:
            self._leaps[self._build(inner, end)].append((None, end))
            return end
        for _ in range(most - least):
            start = self._build(inner, start)
            self._leaps[start].append((None, end))
        return end


def _test(name: str, argument: Any) -> Test:
    if name == "ANY":
        return lambda character: character != "\n"
    if name == "LITERAL":
        literal = chr(argument)
        return lambda character: character == literal
    if name == "NOT_LITERAL":
        literal = chr(argument)
        return lambda character: character != literal
    tests: list[Test] = []
    is_negated = False
    for kind, value in argument:
        match str(kind):
            case "NEGATE":
                is_negated = True
            case "RANGE":
                tests.append(_within(*map(chr, value)))
            case "CATEGORY" if (category := _CATEGORIES.get(str(value))) is not None:
                tests.append(_of_category(re.compile(category)))
            case "LITERAL" | "NOT_LITERAL" as one:
                tests.append(_test(one, value))
            case _:
                raise _Beyond
    return lambda character: any(test(character) for test in tests) != is_negated


def _within(low: str, high: str) -> Test:
    return lambda character: low <= character <= high


def _of_category(pattern: re.Pattern[str]) -> Test:
    return lambda character: pattern.match(character) is not None


def _place(name: str) -> Place:
    match name:
        case "AT_BEGINNING" | "AT_BEGINNING_STRING":
            return lambda _, at: at == 0
        case "AT_END":
            return lambda text, at: at == len(text) or (at == len(text) - 1 and text[at] == "\n")
        case "AT_END_STRING":
            return lambda text, at: at == len(text)
        case "AT_BOUNDARY":
            return _is_boundary
        case "AT_NON_BOUNDARY":
            return lambda text, at: not _is_boundary(text, at)
    raise _Beyond


def _is_boundary(text: str, at: int) -> bool:
    before = at > 0 and _WORD.match(text[at - 1]) is not None
    after = at < len(text) and _WORD.match(text[at]) is not None
    return before != after
