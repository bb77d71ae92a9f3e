"""Intervals hold the true value as often as they say, and the tests' p-values are the exact ones."""

from __future__ import annotations

import random

import pytest

from toolhand.evals.statistics import difference_interval, mcnemar, median, quantile, rate_interval

TIMES = 250


def covered(draw, interval, truth, seed=1):
    rng = random.Random(seed)
    hits = 0
    for _ in range(TIMES):
        found = interval(draw(rng), resamples=300)
        hits += found.low <= truth <= found.high
    return hits / TIMES


@pytest.mark.slow
@pytest.mark.parametrize(("count", "rate"), [(15, 0.5), (15, 0.9), (40, 0.8), (100, 0.95), (100, 0.3)])
def test_a_rate_lies_in_its_interval_as_often_as_it_should(count, rate):
    def draw(rng):
        return [float(rng.random() < rate) for _ in range(count)]

    assert 0.92 <= covered(draw, rate_interval, rate) <= 0.995


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "won", "lost"),
    [(20, 0.1, 0.1), (40, 0.2, 0.05), (100, 0.1, 0.02), (100, 0.02, 0.3), (40, 0.0, 0.04)],
)
def test_a_difference_lies_in_its_interval_as_often_as_it_should(count, won, lost):
    def draw(rng):
        return [1.0 if (x := rng.random()) < won else -1.0 if x < won + lost else 0.0 for _ in range(count)]

    assert 0.92 <= covered(draw, difference_interval, won - lost) <= 1.0


@pytest.mark.slow
def test_repeats_of_a_case_do_not_make_it_surer_than_it_is():
    """Cases that always pass or always fail, tried five times each: the interval is that of the cases."""
    rng = random.Random(3)

    def draw(_):
        return [float(rng.random() < 0.7) for _ in range(30)]

    assert 0.91 <= covered(draw, rate_interval, 0.7) <= 0.99


def test_a_small_suite_without_a_failure_is_not_certain():
    found = rate_interval([1.0] * 8)
    assert found.value == 1.0
    assert found.high == 1.0
    assert 0.5 < found.low < 0.9
    same = difference_interval([0.0] * 8)
    assert same.value == 0.0
    assert same.low < -0.1
    assert same.high > 0.1


def test_the_same_numbers_every_time_and_none_for_nothing():
    values = [1.0, 0.0, 0.5, 1.0, 0.25, 0.75, 0.0, 1.0, 0.4, 0.9, 0.6]
    assert rate_interval(values) == rate_interval(values)
    assert rate_interval(values) != rate_interval(values, seed=7)
    assert rate_interval([]) is None
    assert difference_interval([]) is None
    wide, narrow = rate_interval(values * 9, level=0.99), rate_interval(values * 9, level=0.5)
    assert wide.high - wide.low > narrow.high - narrow.low


@pytest.mark.parametrize(
    ("won", "lost", "p"),
    # From the binomial distribution with p = 1/2: 2 * P(X <= min).
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 0, 0.0625),
        (0, 6, 0.03125),
        (10, 2, 0.03857421875),
        (3, 3, 1.0),
        (8, 7, 1.0),
    ],
)
def test_the_exact_mcnemar_test(won, lost, p):
    assert mcnemar(won, lost) == pytest.approx(p)
    assert mcnemar(lost, won) == pytest.approx(p)


def test_a_great_many_cases_do_not_overflow():
    assert mcnemar(3000, 2000) < 1e-40


def test_quantiles():
    assert median([3, 1, 2]) == 2
    assert median([1, 2]) == 1.5
    assert median([]) is None
    assert quantile([0, 10], 0.95) == 9.5
