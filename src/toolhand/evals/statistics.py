"""How sure a figure is: seeded bootstrap intervals over cases, paired for a comparison, and the exact McNemar test.

Cases are resampled, not attempts, since repeats of one case are not independent. Before resampling one imaginary success and
one imaginary failure are added (for a difference: one case won and one lost), so that a small suite without a failure or
without a difference is not taken for certainty. Sources: Efron & Tibshirani 1993 (percentile bootstrap); Bonett & Price
2012 (adjusted intervals for paired proportions); McNemar 1947 with the exact binomial distribution.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

RESAMPLES: Final = 2_000

DEFAULT_LEVEL: Final = 0.95

DEFAULT_SEED: Final = 20250101


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and between which two it lies with the level's confidence.

    Args:
        value: the figure itself.
        low: the lower end.
        high: the upper end.
    """

    value: float
    low: float
    high: float


def rate_interval(
    scores: Sequence[float],
    *,
    level: float = DEFAULT_LEVEL,
    seed: int = DEFAULT_SEED,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """A rate over cases with its interval; None where there is no case.

    Args:
        scores: for each case how often it passed, from 0 to 1.
        level: the confidence, such as 0.95.
        seed: of the resampling.
        resamples: how many.
    """
    if not scores:
        return None
    value = sum(scores) / len(scores)
    low, high = _percentiles([*scores, 0.0, 1.0], level, seed, resamples)
    return Interval(value, min(low, value), max(high, value))


def difference_interval(
    differences: Sequence[float],
    *,
    level: float = DEFAULT_LEVEL,
    seed: int = DEFAULT_SEED,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """The mean difference over cases with its interval; None where there is no case.

    Args:
        differences: for each case the new score minus the old one, from -1 to 1.
        level: the confidence.
        seed: of the resampling.
        resamples: how many.
    """
    if not differences:
        return None
    value = sum(differences) / len(differences)
    low, high = _percentiles([*differences, -1.0, 1.0], level, seed, resamples)
    return Interval(value, min(low, value), max(high, value))


def _percentiles(values: Sequence[float], level: float, seed: int, resamples: int) -> tuple[float, float]:
    """The percentile interval of the mean."""
    count = len(values)
    draw = random.Random(seed).choices  # noqa: S311 - statistics, and seeded on purpose
    means = sorted(sum(draw(values, k=count)) / count for _ in range(resamples))
    tail = (1 - level) / 2
    last = resamples - 1
    return means[round(tail * last)], means[round((1 - tail) * last)]


def mcnemar(won: int, lost: int) -> float:
    """How likely so uneven a split of won and lost cases is if neither side is better: the exact two-sided p-value.

    Args:
        won: cases that only the new side passes.
        lost: cases that only the old side passes.
    """
    count = won + lost
    if count == 0:
        return 1.0
    tail = sum(comb(count, number) for number in range(min(won, lost) + 1))
    return min(1.0, float(2 * tail / 2**count))


def median(values: Sequence[float]) -> float | None:
    """The middle value, or None where there is none."""
    return quantile(values, 0.5)


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value below which a share of the values lies, interpolated; None where there is none."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
