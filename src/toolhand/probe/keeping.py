"""What a probe has measured so far, in a file: whoever was stopped goes on where it was. One line a trial, written as it ends."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, Final

from toolhand.core.messages import Usage
from toolhand.ladder.profile import profile_path
from toolhand.models import Model
from toolhand.probe.suite import Task, suite
from toolhand.probe.trial import Trial

_SUITE: Final = "suite"
"""Under this name the first line tells what the trials belong to: another suite or version begins anew."""


class Kept:
    """The trials of one model that are kept until its measurement is whole.

    Args:
        model: the model; the file lies beside its profile.
        version: of the package: prompts of another one are others.
    """

    def __init__(self, model: Model, *, version: str) -> None:
        self._head = json.dumps({_SUITE: f"{version} {_fingerprint()}"})
        self.path = profile_path(model).with_suffix(".trials.jsonl")

    def trials(self) -> list[Trial]:
        """What was measured before; nothing where it was another suite, or cannot be read."""
        try:
            head, *lines = self.path.read_text("utf-8").splitlines()
        except (OSError, ValueError):
            return []
        if head != self._head:
            return []
        tasks = {task.id: task for task in suite()}
        found: dict[tuple[str, str], Trial] = {}
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError):  # a line that broke off
                trial = _read(json.loads(line), tasks)
                found[trial.task.id, trial.rung] = trial
        return list(found.values())

    def begin(self, trials: Iterable[Trial]) -> None:
        """Makes the file anew, with what is gone on with."""
        self.drop()
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """Keeps one more trial. A folder that cannot be written does not end a measurement."""
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                head = "" if file.tell() else f"{self._head}\n"
                file.write(f"{head}{_written(trial)}\n")

    def drop(self) -> None:
        """Forgets all: the measurement is whole."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def _fingerprint() -> str:
    text = files("toolhand.probe").joinpath("suite.json").read_bytes()
    return hashlib.sha256(text).hexdigest()[:16]


def _written(trial: Trial) -> str:
    row = {
        "task": trial.task.id,
        "rung": trial.rung,
        "is_right": trial.is_right,
        "calls": trial.calls,
        "wrong_calls": trial.wrong_calls,
        "tokens": [trial.usage.requests, trial.usage.input_tokens, trial.usage.output_tokens],
        "seconds": round(trial.seconds, 3),
        "fixes": trial.fixes,
        "problems": trial.problems,
        "sure": trial.sure,
        "failure": trial.failure,
    }
    return json.dumps(row, ensure_ascii=False)


def _read(row: Mapping[str, Any], tasks: Mapping[str, Task]) -> Trial:
    requests, input_tokens, output_tokens = row["tokens"]
    return Trial(
        task=tasks[row["task"]],
        rung=str(row["rung"]),
        is_right=bool(row["is_right"]),
        calls=int(row["calls"]),
        wrong_calls=int(row["wrong_calls"]),
        usage=Usage(requests=requests, input_tokens=input_tokens, output_tokens=output_tokens),
        seconds=float(row["seconds"]),
        fixes=tuple(map(str, row["fixes"])),
        problems=tuple(map(str, row["problems"])),
        sure=None if row["sure"] is None else float(row["sure"]),
        failure=str(row["failure"]),
    )
