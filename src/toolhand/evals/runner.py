"""Runs a suite over subjects: every case, every repeat, some of them at once; each attempt is handed on as it ends."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolhand.core import plugins
from toolhand.core.errors import ModelError, SettingsError
from toolhand.core.language import say
from toolhand.evals.attempt import Conditions, attempt
from toolhand.evals.case import Case, Suite
from toolhand.evals.results import Attempt, Evaluation, Subject
from toolhand.evals.store import Store
from toolhand.models import Model
from toolhand.models.resolve import resolve

ALL: Final = "all"

MOST_ERRORS_IN_A_ROW: Final = 5
"""After so many failures of a model's server at the start nothing is learnt from more of them."""


def subjects_of(models: Sequence[str], protocols: Sequence[str]) -> tuple[Subject, ...]:
    """Every model with every protocol.

    Args:
        models: names as for `Agent`.
        protocols: names; "all" for every one there is.

    Raises:
        SettingsError: when there is no such protocol.
    """
    known = plugins.members("protocols", "PROTOCOL")
    wanted: list[str] = []
    for name in protocols or ("auto",):
        wanted += known if name == ALL else (name,)
    for name in wanted:
        if name != "auto" and name.replace("-", "_") not in known and name not in known:
            there = plugins.listed("protocols", "PROTOCOL", "auto", ALL)
            raise SettingsError(
                say(f"there is no protocol '{name}'; there is: {there}", f"没有协议“{name}”；可用：{there}")
            )
    pairs = ((model, protocol) for model in models for protocol in wanted)
    return tuple(dict.fromkeys(Subject(model=model, protocol=protocol) for model, protocol in pairs))


class _Row:
    """Counts failures in a row before the first success."""

    def __init__(self) -> None:
        self.failures = 0
        self.is_answering = False

    def note(self, done: Attempt) -> None:
        self.is_answering = self.is_answering or done.outcome != "error"
        self.failures += done.outcome == "error"

    @property
    def is_hopeless(self) -> bool:
        return not self.is_answering and self.failures >= MOST_ERRORS_IN_A_ROW


async def evaluate(
    suite: Suite,
    subjects: Sequence[Subject],
    *,
    repeat: int = 1,
    concurrency: int = 1,
    conditions: Conditions | None = None,
    on_attempt: Callable[[Attempt], None] | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[Attempt]:
    """Tries every case with every subject.

    Args:
        suite: the cases.
        subjects: who tries them, one after the other, so that only one embedded model is in memory.
        repeat: how often each case is tried.
        concurrency: how many attempts run at once.
        conditions: how.
        on_attempt: called with each attempt as it ends; what was handed on is not lost when the rest is stopped.
        options: for the models' adapters.

    Raises:
        SettingsError: when a model does not exist, or a tape does not hold it.
    """
    conditions = conditions or Conditions()
    done: list[Attempt] = []

    def keep(ended: Attempt) -> None:
        done.append(ended)
        if on_attempt is not None:
            on_attempt(ended)

    models = {subject.model: _model(subject.model, conditions, options or {}) for subject in subjects}
    try:
        for number, subject in enumerate(subjects):
            model = models[subject.model]
            work = [(case, turn) for turn in range(1, repeat + 1) for case in suite.cases]
            here = _with_clock(conditions, subject, model)
            await _try_all(work, subject, model, here, concurrency=concurrency, keep=keep)
            if model is not None and subject.model not in {later.model for later in subjects[number + 1 :]}:
                await model.close()
    finally:
        for model in models.values():
            if model is not None:
                await model.close()
    return done


def _model(spec: str, conditions: Conditions, options: Mapping[str, Any]) -> Model | None:
    return None if conditions.plays_only else resolve(spec, **options)


def _with_clock(conditions: Conditions, subject: Subject, model: Model | None) -> Conditions:
    """In a replay the present is that of the recording: "tomorrow" is still the same day."""
    tape = conditions.tape
    if tape is None or not tape.plays:
        return conditions
    moment = dt.datetime.fromisoformat(tape.about(subject.model, model)["time"])
    return replace(conditions, clock=lambda: moment)


async def _try_all(
    work: Iterable[tuple[Case, int]],
    subject: Subject,
    model: Model | None,
    conditions: Conditions,
    *,
    concurrency: int,
    keep: Callable[[Attempt], None],
) -> None:
    queue = iter(list(work))
    row = _Row()

    async def worker() -> None:
        for case, turn in queue:
            ended = await attempt(case, subject, turn, model, conditions)
            keep(ended)
            row.note(ended)
            if row.is_hopeless:
                raise ModelError(
                    say(
                        f"{subject.label} failed {row.failures} times and never answered: {ended.message}",
                        f"{subject.label} 连续失败 {row.failures} 次，从未回答：{ended.message}",
                    )
                )

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, concurrency)):
                group.create_task(worker())
    except* (ModelError, SettingsError) as errors:
        raise errors.exceptions[0] from None


async def run_stored(
    suite: Suite,
    evaluation: Evaluation,
    store: Store,
    *,
    on_attempt: Callable[[Attempt], None] | None = None,
    **options: Any,
) -> Evaluation:
    """As `evaluate`, with every attempt kept in a store as it ends, also when the rest is stopped.

    Args:
        suite: the cases.
        evaluation: as `Store.begin` gave it.
        store: where it is kept.
        on_attempt: called with each attempt after it is kept.
        options: as for `evaluate`.
    """

    def keep(ended: Attempt) -> None:
        store.add(evaluation.id, [ended])
        if on_attempt is not None:
            on_attempt(ended)

    state = "stopped"
    with store.held_open():
        try:
            await evaluate(suite, evaluation.subjects, repeat=evaluation.repeat, on_attempt=keep, **options)
            state = "finished"
        finally:
            store.end(evaluation.id, state)
    return store.load(evaluation.id)
