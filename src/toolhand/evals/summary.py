"""The figures of an evaluation: per subject, per tag, and against another evaluation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.evals.results import Attempt, Evaluation, Subject
from toolhand.evals.statistics import (
    DEFAULT_SEED,
    Interval,
    difference_interval,
    mcnemar,
    median,
    quantile,
    rate_interval,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a subject's attempts come to.

    Args:
        subject: whose.
        passed: the share of attempts that passed, over cases; None where nothing could be judged.
        calls: the same for cases that need a call.
        silence: the same for cases where nothing may be called.
        cases: how many cases were judged.
        attempts: how many attempts count.
        errors: how many of them ended because the model's server failed.
        no_record: how many had nothing to replay, and do not count.
        wrong_calls: calls that ran and should not have, per 100 attempts.
        tokens: the median of prompt and reply tokens of an attempt.
        seconds: the median of the model's time.
        slow_seconds: the time that one attempt in twenty exceeds.
        cost: of all attempts together; None where no price is known.
        currency: of the cost.
        fixes: the liberties taken in reading, by kind.
        problems: the error codes.
    """

    subject: Subject
    passed: Interval | None
    calls: Interval | None
    silence: Interval | None
    cases: int
    attempts: int
    errors: int
    no_record: int
    wrong_calls: float
    tokens: float | None
    seconds: float | None
    slow_seconds: float | None
    cost: float | None = None
    currency: str = ""
    fixes: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)


def scores(attempts: Sequence[Attempt]) -> dict[str, float]:
    """For each case how often it passed, from 0 to 1, in the order in which the cases come."""
    found: dict[str, list[bool]] = defaultdict(list)
    for attempt in attempts:
        if attempt.counts:
            found[attempt.case].append(attempt.passes)
    return {case: sum(passes) / len(passes) for case, passes in found.items()}


def figures(evaluation: Evaluation, subject: Subject, *, seed: int = DEFAULT_SEED) -> Figures:
    """One subject's figures."""
    everything = evaluation.of(subject)
    counted = [attempt for attempt in everything if attempt.counts]
    answered = [attempt for attempt in counted if attempt.outcome != "error"]
    costs = [attempt.cost for attempt in counted if attempt.cost is not None]

    def rate(kind: str | None = None) -> Interval | None:
        kept = [attempt for attempt in counted if kind is None or attempt.kind == kind]
        return rate_interval(list(scores(kept).values()), seed=seed)

    return Figures(
        subject=subject,
        passed=rate(),
        calls=rate("calls"),
        silence=rate("silence"),
        cases=len({attempt.case for attempt in counted}),
        attempts=len(counted),
        errors=len(counted) - len(answered),
        no_record=len(everything) - len(counted),
        wrong_calls=100 * sum(a.wrong_calls for a in answered) / len(answered) if answered else 0.0,
        tokens=median([attempt.tokens for attempt in answered]),
        seconds=median([attempt.seconds for attempt in answered]),
        slow_seconds=quantile([attempt.seconds for attempt in answered], 0.95),
        cost=sum(costs) if costs else None,
        currency=next((attempt.currency for attempt in counted if attempt.currency), ""),
        fixes=sum((Counter(attempt.fixes) for attempt in counted), Counter()),
        problems=sum((Counter(attempt.problems) for attempt in counted), Counter()),
    )


def by_tag(evaluation: Evaluation, subject: Subject) -> dict[str, tuple[float, int]]:
    """For each tag the share of attempts that passed, over cases, and how many cases there are."""
    groups: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in evaluation.of(subject):
        for tag in attempt.tags:
            groups[tag].append(attempt)
    found = {}
    for tag, attempts in groups.items():
        values = list(scores(attempts).values())
        if values:
            found[tag] = (sum(values) / len(values), len(values))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a subject did against another on the same cases.

    Args:
        old: the one that is compared with.
        new: the one that is judged.
        difference: of the shares that passed, new minus old, with its interval.
        won: the cases that the new one passes more often.
        lost: the cases that it passes less often.
        cases: how many cases both have.
        p: how likely so uneven a split is by chance alone.
        tokens: the ratio of the median tokens, new by old; None where it is not known.
        seconds: the same of the median time.
    """

    old: Subject
    new: Subject
    difference: Interval
    won: tuple[str, ...]
    lost: tuple[str, ...]
    cases: int
    p: float
    tokens: float | None = None
    seconds: float | None = None

    def surely_fell_by_more_than(self, share: float) -> bool:
        """Whether the whole interval lies below a drop of so much."""
        return self.difference.high < -share

    def surely_fell_by_at_most(self, share: float) -> bool:
        """Whether the whole interval lies above a drop of so much."""
        return self.difference.low >= -share


def compared(
    old: Sequence[Attempt],
    new: Sequence[Attempt],
    subjects: tuple[Subject, Subject],
    *,
    seed: int = DEFAULT_SEED,
) -> Comparison | None:
    """Two subjects' attempts, case by case; None where they have no case in common."""
    before, after = scores(old), scores(new)
    shared = [case for case in after if case in before]
    interval = difference_interval([after[case] - before[case] for case in shared], seed=seed)
    if interval is None:
        return None
    won = tuple(case for case in shared if after[case] > before[case])
    lost = tuple(case for case in shared if after[case] < before[case])
    kept = set(shared)
    return Comparison(
        old=subjects[0],
        new=subjects[1],
        difference=interval,
        won=won,
        lost=lost,
        cases=len(shared),
        p=mcnemar(len(won), len(lost)),
        tokens=_ratio([a.tokens for a in new if a.case in kept], [a.tokens for a in old if a.case in kept]),
        seconds=_ratio(
            [a.seconds for a in new if a.case in kept], [a.seconds for a in old if a.case in kept]
        ),
    )


def _ratio(new: Sequence[float], old: Sequence[float]) -> float | None:
    above, below = median(new), median(old)
    return above / below if above is not None and below else None


def inside(evaluation: Evaluation) -> list[Comparison]:
    """Every subject of an evaluation against its first."""
    first, *others = evaluation.subjects or (Subject(model=""),)
    pairs = [compared(evaluation.of(first), evaluation.of(other), (first, other)) for other in others]
    return [pair for pair in pairs if pair is not None]


def against(new: Evaluation, old: Evaluation) -> list[Comparison]:
    """The subjects of an evaluation against those of an older one.

    Each is compared with the same subject; where the older one has only one subject, with that one, so that a new model can
    be judged by the old one's results.

    Raises:
        SettingsError: when there is nothing to compare.
    """
    found = []
    for subject in new.subjects:
        partner = subject if subject in old.subjects else old.subjects[0] if len(old.subjects) == 1 else None
        if partner is not None:
            pair = compared(old.of(partner), new.of(subject), (partner, subject))
            if pair is not None:
                found.append(pair)
    if not found:
        raise SettingsError(
            say(
                f"the evaluations {old.id} and {new.id} cannot be compared: they share no subject or no case",
                f"评测 {old.id} 和 {new.id} 无法比较：没有相同的对象或用例",
            )
        )
    return found
