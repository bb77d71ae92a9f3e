"""Runs the tasks over the rungs, one trial at a time. A rung that is clearly worse than the best is left out of the rest."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Final

from toolhand.asking import Asking
from toolhand.core.context import RunContext
from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.events import AskedAgain, Event
from toolhand.core.messages import Message, Sampling, ToolCall, ToolResult, Value, user
from toolhand.core.tools import ToolChoice
from toolhand.ladder import Ladder, Profile
from toolhand.models import Model
from toolhand.probe.scores import clearly_worse
from toolhand.probe.suite import Task, suite
from toolhand.probe.trial import Trial
from toolhand.sessions.session import Session
from toolhand.setup import Setup

RUNGS: Final = ("native", "constrained_first", "calls_first", "json", "template", "react")
"""What is tried, in this order."""

MORE_RUNGS: Final = ("constrained",)
"""What is tried only where it is named: first turns are the same as on one of the others."""

_OF_THE_TASK: Final = frozenset({ModelFault.CONTEXT_OVERFLOW, ModelFault.CONTENT_FILTER, ModelFault.GARBLED})
"""Failures that say nothing about the next task: a prompt too long or not allowed, a call that the provider could not read."""

_DOUBTS_ALL: Final = 1e-9
"""A threshold that no call falls below: doubts are looked into, and nothing follows from them while measuring."""


class Probe:
    """A measurement of one model. What it has measured stays, whenever it is stopped.

    Args:
        model: the model.
        rungs: protocols by name.
        tasks: the suite by default.
        seconds: after which no further trial is begun; None for no bound.
        clock: tells seconds.
        earlier: what a measurement that was stopped had come to; it is not measured again.
    """

    def __init__(
        self,
        model: Model,
        *,
        rungs: Sequence[str] = RUNGS,
        tasks: Sequence[Task] | None = None,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        earlier: Sequence[Trial] = (),
    ) -> None:
        self.model = model
        self.rungs = tuple(rungs)
        self.tasks = tuple(tasks) if tasks is not None else suite()
        known = {task.id for task in self.tasks}
        self.trials: list[Trial] = [
            trial for trial in earlier if trial.rung in rungs and trial.task.id in known
        ]
        self.dropped: dict[str, str] = {trial.rung: trial.failure for trial in self.trials if trial.failure}
        """Rungs that were left out, with the reason: "worse" or what the server said."""
        self._seconds, self._clock = seconds, clock
        self._begun: float | None = None

    @property
    def left(self) -> tuple[str, ...]:
        """The rungs that are still measured."""
        return tuple(rung for rung in self.rungs if rung not in self.dropped)

    @property
    def trials_left(self) -> int:
        """How many trials are to come, if no more rungs are left out."""
        done = self._done
        return sum((task.id, rung) not in done for task in self.tasks for rung in self.left)

    @property
    def _done(self) -> set[tuple[str, str]]:
        return {(trial.task.id, trial.rung) for trial in self.trials}

    @property
    def seconds_left(self) -> float | None:
        """About how many seconds the rest takes; None before anything is known."""
        if not self.trials:
            return None
        whole = self.trials_left * sum(trial.seconds for trial in self.trials) / len(self.trials)
        return whole if self._seconds is None else max(0.0, min(whole, self._seconds - self._spent()))

    def _spent(self) -> float:
        return 0.0 if self._begun is None else self._clock() - self._begun

    async def run(self) -> AsyncIterator[Trial]:
        """Measures, and gives each trial as it ends.

        Raises:
            ModelError: when the server cannot be reached, or gives nothing that could be judged. What was measured stays.
        """
        self._begun, earlier = self._clock(), self._done
        for task in self.tasks:
            for rung in self.left:
                if (task.id, rung) in earlier:
                    continue
                if self._seconds is not None and self._spent() > self._seconds:
                    return
                trial = await self._trial(task, rung)
                self.trials.append(trial)
                yield trial
                if trial.failure:
                    self.dropped[rung] = trial.failure
            self.dropped |= dict.fromkeys(clearly_worse(self.trials, self.left), "worse")

    async def _trial(self, task: Task, rung: str) -> Trial:
        begun = self._clock()
        asker = _Asker(self.model, task, rung)
        try:
            await asker.first_step()
            if asker.is_right and task.calls_then:
                await asker.second_step()
        except ModelError as error:
            if error.fault in _OF_THE_TASK and self._may_pass():
                problems = (*asker.trial.problems, error.fault.value)
                return replace(asker.trial, problems=problems, seconds=self._clock() - begun)
            if error.fault != ModelFault.REFUSED:
                raise
            return Trial(task=task, rung=rung, is_right=False, failure=str(error))
        seconds = self._clock() - begun
        return replace(asker.trial, is_right=asker.is_right, seconds=seconds)

    def _may_pass(self) -> bool:
        """Whether a task that failed may have been at fault itself: others were answered, or each rung had fewer than two."""
        return len(self.trials) < 2 * len(self.rungs) or any(trial.usage.requests for trial in self.trials)


class _Asker:
    """One task on one rung, turn by turn, over the same way as any run."""

    def __init__(self, model: Model, task: Task, rung: str) -> None:
        self.task = task
        self.is_right = False
        self.trial = Trial(task=task, rung=rung, is_right=False)
        ladder = Ladder(
            Profile(
                rungs=(rung,), least_sure=_DOUBTS_ALL, checks_steps=True, drops_idle=True, origin="the probe"
            )
        )
        setup = Setup(
            model=model,
            tools=task.tools,
            protocol=ladder,
            instructions=None,
            language=task.language,
            sampling=Sampling(temperature=0.0, max_tokens=256),
        )
        self._asking = Asking(setup, Session(), streams=False)
        self._history: list[Message] = [user(task.text)]

    async def first_step(self) -> None:
        """The first turn."""
        calls = await self._turn()
        self.is_right = self.task.is_right(calls, self.task.calls)
        self._count(self.task.wrong(calls, self.task.calls), len(calls))

    async def second_step(self) -> None:
        """The turn after the first call's result."""
        call = self._history[-1].calls[0]
        result = ToolResult(call_id=call.id, name=call.name, outcome=Value(self.task.result))
        self._history.append(Message(role="tool", parts=(result,)))
        calls = await self._turn()
        self.is_right = self.task.is_right(calls, self.task.calls_then)
        self._count(self.task.wrong(calls, self.task.calls_then), len(calls))

    async def _turn(self) -> Sequence[ToolCall]:
        heard: list[Event] = []
        context = RunContext(language=self.task.language, emit=heard.append)
        answer = await self._asking.ask(self._history, self.task.tools, ToolChoice(), context)
        self._history.append(answer.message)
        reply = answer.reply
        fixes = tuple(fix.kind for call in (*reply.calls, *reply.broken) for fix in call.fixes)
        trial = self.trial
        self.trial = replace(
            trial,
            usage=trial.usage + answer.usage,
            fixes=(*trial.fixes, *fixes),
            problems=(*trial.problems, *(str(problem.code) for problem in reply.problems)),
            sure=next((event.sure for event in heard if isinstance(event, AskedAgain)), trial.sure),
        )
        return reply.calls

    def _count(self, wrong: int, calls: int) -> None:
        self.trial = replace(
            self.trial, wrong_calls=self.trial.wrong_calls + wrong, calls=self.trial.calls + calls
        )
