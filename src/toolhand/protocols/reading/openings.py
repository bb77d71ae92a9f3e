"""The characters at which a call may begin in a text, and which families begin there, as the families' files say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from toolhand.core import plugins
from toolhand.protocols.reading.family import Family

GROUP: Final = "protocols.reading.families"

# What must follow a bracket for anything to begin there; the rest is passed over at the speed of a regular expression.
_AHEAD = {
    "<": r"<(?=[|｜/]?\w)",
    "[": r"\[(?=\s{0,40}[{｛\w/])",
    "［": r"［(?=\s{0,40}[{｛\w/])",
    "【": r"【(?=\s{0,40}[\w/])",
    "{": r"\{(?=\s{0,200}[^\s{\[,])",
    "｛": r"｛(?=\s{0,200}[^\s｛{\[,])",
}
# What the lines of our families have in them, whatever they begin with.
_IN_LINES = r"[(（✿`◁#*:：]|>>>"


@cache
def families() -> tuple[Family, ...]:
    """Every family, in the order in which they are asked."""
    found: list[Family] = [plugins.member(GROUP, name, "FAMILY") for name in plugins.names(GROUP)]
    return tuple(sorted(found, key=lambda family: family.rank))


@cache
def line_families() -> tuple[Family, ...]:
    """The families that begin a line."""
    return tuple(family for family in families() if "\n" in family.first)


def _firsts() -> str:
    """The characters with which a family may begin that is not bound to a line, as in a character class."""
    return "".join(
        sorted({re.escape(char) for family in families() for char in family.first if char != "\n"})
    )


@cache
def interesting() -> re.Pattern[str]:
    """The characters at which something may begin that is not for the user, or a line."""
    return re.compile(f"[\n`◁{_firsts()}]")


@cache
def holding() -> Mapping[str, tuple[Family, ...]]:
    """Whose opening alone holds text back, by the first character."""
    found: dict[str, tuple[Family, ...]] = {}
    for family in families():
        for char in family.first if family.holds else "":
            found[char] = (*found.get(char, ()), family)
    return found


@cache
def may_ask() -> re.Pattern[str]:
    """What a text must hold for anything in it to be a call."""
    if "\n" in holding():
        return re.compile("")  # any line may be one
    return re.compile(f"[{_firsts()}]|{_IN_LINES}")


@cache
def table() -> tuple[re.Pattern[str], dict[str, tuple[Family, ...]]]:
    """The characters at which something may begin, and who begins there."""
    by_first: dict[str, list[Family]] = {}
    for family in families():
        for char in family.first:
            by_first.setdefault(char, []).append(family)
    ahead = {char: pattern for char, pattern in _AHEAD.items() if char not in holding()}
    plain = [ahead.get(char, re.escape(char)) for char in sorted(by_first) if char != "\n"]
    point = re.compile("|".join([r"\n(?=[^\n])", "[`◁]", *plain]))
    return point, {char: tuple(found) for char, found in by_first.items()}


@cache
def markers_only() -> re.Pattern[str]:
    """The points that are left when values are no longer tried."""
    return re.compile("|".join([r"\n(?=[^\n])", "[`◁]", _AHEAD["<"]]))
