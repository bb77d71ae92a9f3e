"""Dates and times as people write them, where the schema declares `format: date`, `date-time` or `time`."""

from __future__ import annotations

from typing import Any

from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import Trouble
from toolhand.arguments.shape import Shape


def read_moment(sent: str, shape: Shape, path: str, walk: Walk) -> Any:
    """The date or time in its written form, or `Refused`."""
    return refuse(Trouble.TYPE, shape, path, sent)
