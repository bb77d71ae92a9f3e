"""Log records as JSON, one object a line."""

from __future__ import annotations

import datetime as dt
import logging
from typing import Any, Final

from toolhand.observability.jsonl import line_of

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "event"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, event, every field, and the traceback where there is one.

    It writes other libraries' records as well. Put it on a handler of yours:

        handler.setFormatter(JsonFormatter())
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        moment = dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": moment, "level": record.levelname, "logger": record.name}
        line["event"] = getattr(record, "event", None) or record.getMessage()
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        traceback = record.exc_text or (self.formatException(record.exc_info) if record.exc_info else "")
        if traceback:
            line["traceback"] = traceback
        return line_of(line)
