"""What is wrong with one argument, as a value; its words for a model are made in `feedback`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Final

from toolhand.arguments.shape import Shape


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
"""Stands where nothing was sent, which is not the same as null."""


class Trouble(StrEnum):
    """The ways in which an argument can be wrong."""

    MISSING = "missing"
    """It is required and was not sent."""
    TYPE = "type"
    """It cannot be read as the declared type."""
    VALUE = "value"
    """It has the type and not one of the allowed values, or breaks a limit."""
    EXTRA = "extra"
    """The tool does not declare it."""
    CLASH = "clash"
    """One parameter was sent twice with different values."""
    AMBIGUOUS = "ambiguous"
    """It can be read in more than one way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong.

    Args:
        trouble: in which way.
        path: where, as a JSON path from `$`.
        name: the parameter's name, or the item's as `tags[0]`.
        shape: what is declared there.
        sent: what came, or `ABSENT`.
        closest: the nearest allowed value or name, or "".
        note: what else the model should know, a key of `words.NOTES`, or "".
        others: the names of further keys that are concerned.
    """

    trouble: Trouble
    path: str
    name: str
    shape: Shape
    sent: Any = ABSENT
    closest: str = ""
    note: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """What a coercion gives where it has no value to give: all that is wrong."""

    faults: tuple[Fault, ...]
