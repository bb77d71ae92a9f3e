"""From trials to figures: how good each rung is, which is clearly worse than another, and what profile follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

from toolhand.ladder import Profile
from toolhand.probe.trial import Trial

SURE: Final = 0.02
"""How unlikely a rung's defeat must be by chance for it to be left out. It is looked at after each task, so this is strict."""

FEWEST_TASKS: Final = 12
"""No rung is left out before it has tried so many tasks: the first few do not hold every kind."""

_WORTH_CLIMBING: Final = 0.5
"""A rung that makes less than this share of the right calls that the best one makes is no place to step down to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How good a rung is.

    Args:
        rung: the protocol's name.
        tasks: how many it tried.
        right: how many of these it solved.
        needing: how many needed a call, and of these solved, as (solved, of).
        silent: the same for those where nothing was to be called.
        wrong_calls: how many calls would have run that were not wanted.
        tokens: of the median task.
        seconds: of the mean task.
        drift: liberties and problems by kind, with how often they came up.
        least_sure: how sure it had to be that a call is meant; 0 where nothing was doubted.
    """

    rung: str
    tasks: int
    right: int
    needing: tuple[int, int]
    silent: tuple[int, int]
    wrong_calls: int
    tokens: int
    seconds: float
    drift: Mapping[str, int]
    least_sure: float = 0.0

    @property
    def share(self) -> float:
        """The share that was right, 0 to 1."""
        return self.right / self.tasks if self.tasks else 0.0

    @property
    def called(self) -> float:
        """The share of those that needed a call that was right, 0 to 1."""
        return self.needing[0] / self.needing[1] if self.needing[1] else 0.0


def scores(trials: Sequence[Trial]) -> list[Score]:
    """The rungs' scores, the best first. A rung that told how sure it was is scored with the threshold that suits it best."""
    found = [_score(rung, mine) for rung, mine in by_rung(trials).items()]
    return sorted(found, key=lambda score: (-score.share, score.wrong_calls, score.tokens))


def by_rung(trials: Sequence[Trial]) -> Mapping[str, list[Trial]]:
    """Trials by rung, in the order of the rungs' first trials."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.rung, []).append(trial)
    return found


def _score(rung: str, trials: Sequence[Trial]) -> Score:
    threshold = best_threshold(trials)
    judged = [(trial, is_right_at(trial, threshold)) for trial in trials]
    needing = [is_right for trial, is_right in judged if trial.task.calls]
    silent = [is_right for trial, is_right in judged if not trial.task.calls]
    tokens = sorted(trial.usage.input_tokens + trial.usage.output_tokens for trial in trials)
    drift = Counter(kind for trial in trials for kind in (*trial.fixes, *trial.problems))
    return Score(
        rung=rung,
        tasks=len(trials),
        right=sum(is_right for _, is_right in judged),
        needing=(sum(needing), len(needing)),
        silent=(sum(silent), len(silent)),
        wrong_calls=sum(trial.wrong_calls for trial in trials if not _is_held_back(trial, threshold)),
        tokens=tokens[len(tokens) // 2],
        seconds=sum(trial.seconds for trial in trials) / len(trials),
        drift=dict(drift.most_common()),
        least_sure=threshold,
    )


def _is_held_back(trial: Trial, threshold: float) -> bool:
    return trial.sure is not None and trial.sure < threshold and trial.calls > 0


def is_right_at(trial: Trial, threshold: float) -> bool:
    """Whether a trial is right when calls that are less sure than this become answers."""
    return not trial.task.calls if _is_held_back(trial, threshold) else trial.is_right


def best_threshold(trials: Sequence[Trial]) -> float:
    """How sure it must be that a call is meant, so that most trials are right; 0 where it does not tell.

    Of several that are as good the middle of the widest gap between two measured values is taken, as the least chosen by chance.
    """
    sures = sorted({trial.sure for trial in trials if trial.sure is not None and trial.calls})
    if not sures:
        return 0.0
    edges = [0.0, *sures, 1.0]
    gaps = [(edges[at], edges[at + 1]) for at in range(len(edges) - 1)]
    right = [sum(is_right_at(trial, (low + high) / 2) for trial in trials) for low, high in gaps]
    best = max(right)
    low, high = max(
        (gap for gap, count in zip(gaps, right, strict=True) if count == best),
        key=lambda gap: gap[1] - gap[0],
    )
    return round((low + high) / 2, 3)


def clearly_worse(trials: Sequence[Trial], rungs: Sequence[str]) -> list[str]:
    """The rungs that lose against the best one so often that chance does not explain it.

    A one-sided sign test over the tasks that both tried and only one of the two solved.

    Args:
        trials: what was measured so far.
        rungs: those that are still in the race.
    """
    right = {
        rung: {trial.task.id: is_right_at(trial, best_threshold(mine)) for trial in mine}
        for rung, mine in by_rung(trials).items()
        if rung in rungs
    }
    if len(right) < 2 or min(map(len, right.values())) < FEWEST_TASKS:
        return []
    best = max(right, key=lambda rung: sum(right[rung].values()))
    lost = []
    for rung, mine in right.items():
        wins = sum(mine[task] and not right[best][task] for task in mine)
        defeats = sum(right[best][task] and not mine[task] for task in mine)
        if rung != best and _chance(wins, wins + defeats) < SURE:
            lost.append(rung)
    return lost


def _chance(wins: int, of: int) -> float:
    """The probability of so few wins or fewer, if both were as good."""
    return sum(comb(of, k) for k in range(wins + 1)) / float(2**of)


def recommended(found: Sequence[Score], *, remark: str = "") -> Profile | None:
    """The profile that follows from scores: the best rung first, the others to step down to in their order.

    Args:
        found: the scores, the best first.
        remark: where the profile says that it comes from.

    Returns:
        None where no call was right on any rung: nothing follows from that.
    """
    if not any(score.needing[0] for score in found):
        return None
    best = found[0]
    rungs = [score.rung for score in found if score.called >= best.called * _WORTH_CLIMBING]
    fit = next((score.least_sure for score in found if score.least_sure), 0.0)
    return Profile(rungs=tuple(rungs), least_sure=fit, checks_steps=True, drops_idle=True, origin=remark)
