"""Who listens when a program says nothing: the log, and the drift log where its file is named."""

from __future__ import annotations

import logging
import os
from functools import lru_cache
from typing import Final

from toolhand.observability import Sink
from toolhand.observability.log import CALLS, CIRCUITS, READING, RUNS, EventLog

VARIABLE: Final = "TOOLHAND_DRIFT_LOG"
"""The environment variable that names the drift log's file."""

_LOG: Final = EventLog()
_LOGGERS: Final = (logging.root, logging.getLogger("toolhand"), RUNS, CALLS, READING, CIRCUITS)


def default_sinks() -> tuple[Sink, ...]:
    """The sinks that are always there: none where no handler would write what they say, as in a program without logging."""
    handlers = (handler for logger in _LOGGERS for handler in logger.handlers)
    log = (_LOG,) if any(not isinstance(handler, logging.NullHandler) for handler in handlers) else ()
    path = os.environ.get(VARIABLE, "").strip()
    return (*log, _drift_log(path)) if path else log


@lru_cache(maxsize=8)
def _drift_log(path: str) -> Sink:
    from toolhand.observability.drift import DriftLog  # noqa: PLC0415 - loaded for those who keep one

    return DriftLog(path)
