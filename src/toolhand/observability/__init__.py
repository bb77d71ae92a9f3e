"""Listening to what happens: one sink a file (log, metrics, OpenTelemetry, audit, drift), each over the same events.

A sink is any function of an event and the context of its run. `listening` puts sinks behind a context: what they raise never
reaches a run. What several sinks need (excerpts that may be kept, files of JSON lines) lives in files of its own.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, Protocol

from toolhand.core.context import RunContext
from toolhand.core.events import Event
from toolhand.policies.redaction import redacted_text

logging.getLogger("toolhand").addHandler(logging.NullHandler())

_LOGGER: Final = logging.getLogger("toolhand.sinks")


class Sink(Protocol):
    """Whoever listens. It is called in the midst of a run, so it is quick and does not wait."""

    def __call__(self, event: Event, context: RunContext) -> None:
        """Takes one event.

        Args:
            event: what happened.
            context: the run in which it did: who asked, in which session, in which turn.
        """
        ...


def listening(context: RunContext, sinks: Iterable[Sink]) -> RunContext:
    """The same context with sinks behind its `emit`; whoever listened before still does, and first.

    A sink that raises is reported once, in the log "toolhand.sinks", and the run goes on.

    Args:
        context: a run's, as it is from now on: every sink is handed what this returns.
        sinks: who listens, in order.
    """
    listeners = tuple(sinks)
    if not listeners:
        return context
    before = context.emit

    def emit(event: Event) -> None:
        before(event)
        for sink in listeners:
            try:
                sink(event, heard)
            except Exception as error:  # noqa: BLE001 - a sink may raise anything, and no run ends for it
                _report(sink, error)

    heard = replace(context, emit=emit)
    return heard


_MOST_REPORTED: Final = 1000
_reported: Final[set[Callable[[Event, RunContext], None] | int]] = set()
"""The sinks that have been complained about, by identity where they cannot be hashed."""


def _report(sink: Sink, error: Exception) -> None:
    mark: Sink | int = sink if getattr(type(sink), "__hash__", None) else id(sink)
    if mark in _reported:
        return
    if len(_reported) >= _MOST_REPORTED:  # sinks made anew for each run must not pile up
        _reported.clear()
    _reported.add(mark)
    where = "".join(traceback.format_exception(error))
    name = getattr(sink, "__qualname__", type(sink).__qualname__)
    _LOGGER.error("the sink %s failed; it will not be reported again\n%s", name, redacted_text(where))
