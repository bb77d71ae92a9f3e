"""How a line of the log is made: `key=value`, or JSON, one object a line."""

from __future__ import annotations

import datetime as dt
import json
import logging
from typing import Any, Final

from toolhand.core.context import RunContext
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


def write(
    logger: logging.Logger,
    level: int,
    what: str,
    context: RunContext,
    *,
    traceback: str = "",
    **fields: Any,
) -> None:
    """Logs one line.

    The traceback goes where formatters look for a finished one, so that none writes the exception's own text.
    """
    facts = {
        "trace_id": context.trace_id,
        "session_id": context.session_id,
        "user": context.user,
        "turn": context.turn,
        **fields,
    }
    text = " ".join((what, *(f"{key}={_plain(value)}" for key, value in facts.items())))
    record = logger.makeRecord(
        logger.name, level, "(toolhand)", 0, "%s", (text,), None, extra={"event": what, **facts}
    )
    record.exc_text = traceback or None
    logger.handle(record)


def _plain(value: Any) -> str:
    """A value in `key=value`: bare where that is one word, else as JSON, which keeps a line one line."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if text and text.isprintable() and not any(mark in text for mark in ' "='):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    # JSON leaves a few characters as they are that end a line for some readers.
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in quoted)
