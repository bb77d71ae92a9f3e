"""What built-in tools need to know of the place they run in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinSettings:
    """What the built-in tools are given. A tool whose source is not given is not offered.

    Args:
        database: a SQLite file to read from.
        root: the folder whose files may be read.
        now: gives the present as an aware datetime.
    """

    database: Path | None = None
    root: Path | None = None
    now: Callable[[], dt.datetime] = _now
