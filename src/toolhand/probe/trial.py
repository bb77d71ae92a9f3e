"""What one task on one rung gave."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolhand.core.messages import Usage
from toolhand.probe.suite import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One task on one rung.

    Args:
        task: the task.
        rung: the protocol's name.
        is_right: whether all calls were the wanted ones, in both steps where there are two.
        calls: how many calls were ready to run.
        wrong_calls: how many of these were not wanted.
        usage: tokens.
        seconds: how long it took.
        fixes: the kinds of liberties that were taken in reading.
        problems: the codes of what could not be read or bound.
        sure: how sure it was that its calls were meant, where that was doubtful; calls of other trials are not held back.
        failure: what the server said, where it refused.
    """

    task: Task
    rung: str
    is_right: bool
    calls: int = 0
    wrong_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    fixes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    sure: float | None = None
    failure: str = ""
