"""Who listens when a program says nothing: the log, and the drift log where its file is named."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Final

from toolhand.observability import Sink
from toolhand.observability.drift import VARIABLE, DriftLog
from toolhand.observability.log import EventLog

_LOG: Final = EventLog()


def default_sinks() -> tuple[Sink, ...]:
    """The sinks that are always there. The log costs next to nothing while no handler wants its levels."""
    path = os.environ.get(VARIABLE, "").strip()
    return (_LOG, _drift_log(path)) if path else (_LOG,)


@lru_cache(maxsize=8)
def _drift_log(path: str) -> DriftLog:
    return DriftLog(path)
