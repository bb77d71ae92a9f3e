"""Whether an evaluation is good enough, so that CI can judge by the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.evals.report.words import percent, points
from toolhand.evals.results import Evaluation
from toolhand.evals.summary import Comparison, figures

BELOW_THRESHOLD: Final = 4
"""The exit code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """What is asked of an evaluation.

    Args:
        fail_under: the least share of attempts that pass, of every subject.
        max_drop: by how much the share may have fallen against the other evaluation.
        needs_proof: whether it has to be sure that it fell by no more; else it has to be sure that it fell by more.
    """

    fail_under: float | None = None
    max_drop: float | None = None
    needs_proof: bool = False

    def check(self, *, has_comparison: bool) -> None:
        """Refuses thresholds that nothing could be held against.

        Raises:
            SettingsError: when one needs another option.
        """
        if self.max_drop is not None and not has_comparison:
            raise SettingsError(say("--max-drop needs --compare", "--max-drop 需要配合 --compare 使用"))
        if self.needs_proof and self.max_drop is None:
            raise SettingsError(say("--prove needs --max-drop", "--prove 需要配合 --max-drop 使用"))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked."""
        return self.fail_under is None and self.max_drop is None


def complaints(
    evaluation: Evaluation, comparisons: Sequence[Comparison], thresholds: Thresholds
) -> list[str]:
    """Why an evaluation is not good enough, a sentence each; nothing where it is."""
    found: list[str] = []
    for subject in evaluation.subjects:
        told = figures(evaluation, subject)
        if told.passed is None or (told.no_record and not thresholds.is_empty):
            found.append(
                say(
                    f"{subject.label}: {told.no_record} attempts have no record, so the result cannot be judged: record them again",
                    f"{subject.label}：{told.no_record} 次没有录制，无法判断：请重新录制",
                )
            )
        elif told.errors and told.errors == told.attempts:
            found.append(
                say(
                    f"{subject.label}: the model gave no answer at all, so nothing can be judged",
                    f"{subject.label}：模型完全没有回答，无法判断",
                )
            )
        elif thresholds.fail_under is not None and told.passed.value < thresholds.fail_under:
            found.append(
                say(
                    f"{subject.label}: {percent(told.passed.value)} passed, below {percent(thresholds.fail_under)}",
                    f"{subject.label}：通过率 {percent(told.passed.value)}，低于 {percent(thresholds.fail_under)}",
                )
            )
    for pair in comparisons if thresholds.max_drop is not None else ():
        sentence = _drop(pair, thresholds.max_drop or 0.0, needs_proof=thresholds.needs_proof)
        if sentence:
            found.append(sentence)
    return found


def _drop(pair: Comparison, most: float, *, needs_proof: bool) -> str:
    told = pair.difference
    between = f"{points(told.value)} ({points(told.low)} … {points(told.high)})"
    if needs_proof and not pair.surely_fell_by_at_most(most):
        return say(
            f"{pair.new.label}: it is not proven that it fell by at most {100 * most:g} points: {between}",
            f"{pair.new.label}：无法证明下降不超过 {100 * most:g} 个百分点：{between}",
        )
    if not needs_proof and pair.surely_fell_by_more_than(most):
        return say(
            f"{pair.new.label}: it fell by more than {100 * most:g} points: {between}",
            f"{pair.new.label}：下降超过 {100 * most:g} 个百分点：{between}",
        )
    return ""
