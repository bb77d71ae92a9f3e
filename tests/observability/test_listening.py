"""Sinks behind a context: who hears what, and what a sink that raises does to a run."""

from __future__ import annotations

import logging
from dataclasses import replace

from toolhand import RunContext, Toolset, tool
from toolhand.core.events import CallFinished, CallStarted, LimitReached
from toolhand.observability import listening

from .events import logged


def heard_by(sinks, **options):
    return listening(RunContext(**options), sinks)


def test_every_sink_hears_every_event_with_its_context():
    heard = []
    context = heard_by(
        [lambda e, c: heard.append((1, e, c)), lambda e, c: heard.append((2, e, c))], user="ann", turn=3
    )
    event = LimitReached(limit="turn_limit")
    context.emit(event)
    assert [(number, e) for number, e, _ in heard] == [(1, event), (2, event)]
    assert all(c is context for _, _, c in heard)
    assert context.turn == 3


def test_whoever_listened_before_still_does():
    before, after = [], []
    context = listening(RunContext(emit=before.append), [lambda event, _: after.append(event)])
    context.emit(LimitReached(limit="x"))
    assert before == after == [LimitReached(limit="x")]


def test_without_sinks_nothing_changes():
    context = RunContext()
    assert listening(context, []) is context


def test_the_facts_of_the_context_are_kept():
    context = RunContext(user="ann", memory={"k": 1})
    heard = listening(context, [lambda *_: None])
    assert replace(heard, emit=context.emit) == context
    assert heard.memory is context.memory


async def test_a_sink_that_raises_is_reported_once_and_the_run_goes_on():
    heard = []

    def broken(event, context):
        raise RuntimeError("no disk for password=hunter2hunter2")

    @tool
    def ping() -> str:
        """Answers."""
        return "pong"

    context = heard_by([broken, lambda event, _: heard.append(type(event))])
    with logged(logging.ERROR) as lines:
        result = await Toolset([ping]).call("ping", context=context)
        await Toolset([ping]).call("ping", context=context)
    assert result.data == "pong"
    assert heard.count(CallStarted) == heard.count(CallFinished) == 2
    assert len(lines.lines) == 1
    assert "broken" in lines.text
    assert "no disk" in lines.text
    assert "hunter2hunter2" not in lines.text


def test_sinks_that_cannot_be_hashed_are_reported_once_too():
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, event, context):
            raise ValueError("no")

    context = heard_by([Unhashable()])
    with logged(logging.ERROR) as lines:
        context.emit(LimitReached(limit="x"))
        context.emit(LimitReached(limit="x"))
    assert len(lines.lines) == 1
