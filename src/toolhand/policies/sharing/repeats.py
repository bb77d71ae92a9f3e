"""What a run remembers of its calls, and what it follows for one that comes again. No I/O, no waiting."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from toolhand.core.errors import ErrorCode
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.policies.sharing.turnstile import Turnstile

MOST_FAILURES: Final = 3
"""How often the same call may fail in the same way."""
MOST_EFFECTS: Final = 3
"""How often a run may have the same effect, even with other effects in between."""
MOST_RUNS: Final = 5
"""How often a call that is harmless runs while its result stays the same, however much time goes by."""
RUNS_AT_ONCE: Final = 2
"""How often it runs in quick succession: twice, since one run cannot show whether the result changes."""
MOST_RECALLS: Final = 2
"""How often it is then answered from memory before it is refused."""
FRESH_SECONDS: Final = 60.0
"""How long a result that did not change counts as fresh: well over the time in which a slow model asks three times."""

NOT_RUN: Final = frozenset({
    ErrorCode.RATE_LIMITED, ErrorCode.CIRCUIT_OPEN, ErrorCode.PRECONDITION_FAILED, ErrorCode.INVALID_ARGUMENT,
    ErrorCode.REPEATED_CALL,
})  # fmt: skip
"""Errors with which a call has changed nothing."""

Verdict: TypeAlias = Literal["run", "recall", "unchanged", "failing", "done", "unknown", "inside"]
"""Run it, answer it from memory, or refuse it and why."""


@dataclass(slots=True)
class Errand:
    """A call and all that are the same but for case, blanks and number formats.

    Args:
        results: the last result for each exact way to write the arguments.
        last: the result of the last run.
        times: how often it ran, for each exact way to write the arguments.
        same: how many runs in a row ended in the same way.
        asked: how often it was asked for since its result last changed.
        recalls: in how many turns it was answered from memory since then.
        recalled_in: the last of these turns.
        ran_at: when it last ran, in seconds.
        turn: in which turn.
        era: how many effects the run had had after that.
        step: the number of that run among all runs.
        turnstile: lets one of several at the same time through.
    """

    results: dict[str, ToolResult] = field(default_factory=dict)
    last: ToolResult | None = None
    times: dict[str, int] = field(default_factory=dict)
    same: int = 0
    asked: int = 0
    recalls: int = 0
    recalled_in: int = 0
    ran_at: float = 0.0
    turn: int = 0
    era: int = 0
    step: int = 0
    turnstile: Turnstile = field(default_factory=Turnstile)

    def recalled(self, turn: int) -> None:
        """Takes note of an answer from memory: several in one turn count once, and in that of its run not at all."""
        if not turn or turn not in (self.turn, self.recalled_in):
            self.recalls, self.recalled_in = self.recalls + 1, turn


@dataclass(slots=True)
class Repeats:
    """The memory of one run."""

    errands: dict[tuple[str, str], Errand] = field(default_factory=dict)
    era: int = 0
    steps: int = 0
    refusals: int = 0
    refused_in_turn: int = -1
    trail: deque[str] = field(default_factory=lambda: deque(maxlen=24))

    def judge(self, errand: Errand, exact: str, tool: Tool, *, now: float, turn: int) -> Verdict:
        """What follows for a call that comes again."""
        last = errand.last
        if last is None:
            return "run"
        if last.error is not None:
            if errand.era != self.era and last.error.code is not ErrorCode.OUTCOME_UNKNOWN:
                errand.same = errand.recalls = errand.asked = (
                    0  # something was changed since: it may be mended
                )
                return "run"
            return self._judge_failed(errand, exact, tool, now)
        is_known = exact in errand.results
        if tool.rules.effect != "reads" and not is_known:
            return "run"  # nearly the same is not the same: what changes something is only warned about
        if not _may_repeat(tool):
            return "done" if errand.era == self.era or errand.times[exact] >= MOST_EFFECTS else "run"
        recalled: Verdict = "recall" if is_known and errand.recalls < MOST_RECALLS else "unchanged"
        if tool.rules.effect != "reads":  # harmless to repeat, but a new result would not make it polling
            is_last_effect = errand.era == self.era
            return recalled if is_last_effect or errand.times[exact] >= MOST_RUNS else "run"
        if errand.era != self.era:  # something was changed since: what was read before may be old
            errand.same = errand.recalls = errand.asked = 0
            return "run"
        if is_known and turn > 0 and turn in (errand.turn, errand.recalled_in):
            return "recall"
        if errand.same < RUNS_AT_ONCE or (not is_known and errand.same < MOST_FAILURES):
            return "run"  # also while every run gives something new: that is polling
        if now - errand.ran_at >= FRESH_SECONDS and errand.same < MOST_RUNS:
            return "run"
        return recalled

    def _judge_failed(self, errand: Errand, exact: str, tool: Tool, now: float) -> Verdict:
        error = errand.last.error if errand.last else None
        wait = error.details.get("retry_after") if error else None
        if isinstance(wait, int | float) and now >= errand.ran_at + wait:
            return "run"  # it was told when to come again, and did
        if (
            error
            and error.code is ErrorCode.OUTCOME_UNKNOWN
            and not tool.repeatable
            and exact in errand.results
        ):
            is_much = errand.times[exact] >= MOST_EFFECTS
            return "unknown" if errand.step == self.steps or is_much else "run"
        if tool.rules.effect != "reads" and exact not in errand.results:
            return "run"
        return "run" if errand.same < MOST_FAILURES else "failing"

    def remember(
        self, errand: Errand, exact: str, call: BoundCall, result: ToolResult, *, now: float, turn: int
    ) -> None:
        """Takes note of a run."""
        is_same = errand.last is not None and _alike(errand.last, result)
        errand.same = errand.same + 1 if is_same else 1
        if not is_same:
            errand.recalls, errand.asked = 0, 1
        self.steps += 1
        if not (is_same and result.ok and call.tool.rules.effect == "reads"):
            self.refusals = 0  # another look that shows what is known is no step forward
        if call.tool.rules.effect != "reads" and (result.error is None or result.error.code not in NOT_RUN):
            self.era += 1
        errand.times[exact] = errand.times.get(exact, 0) + 1
        errand.last = errand.results[exact] = result
        errand.ran_at, errand.turn, errand.era, errand.step = now, turn, self.era, self.steps

    def refuse(self, turn: int) -> None:
        """Takes note of a refusal; several in one turn count once."""
        if turn == 0 or turn != self.refused_in_turn:
            self.refusals += 1
        self.refused_in_turn = turn

    @property
    def cycle(self) -> tuple[str, ...]:
        """The tools that are called in turn, when the last calls went round twice; else empty."""
        trail = list(self.trail)
        for length in range(2, len(trail) // 2 + 1):
            if trail[-length:] == trail[-2 * length : -length] and len(set(trail[-length:])) > 1:
                return tuple(step.split("\n", 1)[0] for step in trail[-length:])
        return ()


def is_recalled(result: ToolResult) -> bool:
    """Whether a result was told from memory."""
    return result.ok and "repeat_of" in result.notes


def _may_repeat(tool: Tool) -> bool:
    return tool.repeatable or tool.rules.idempotency_key is not None


def _alike(one: ToolResult, other: ToolResult) -> bool:
    if one.error is not None or other.error is not None:
        return (one.error and (one.error.code, one.error.message)) == (
            other.error and (other.error.code, other.error.message)
        )
    return bool(one.data == other.data)
