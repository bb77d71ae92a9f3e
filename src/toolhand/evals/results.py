"""What an evaluation gives: subjects, attempts, and the whole, as values that the store keeps and the reports show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from toolhand.evals.findings import Finding, finding_of

Outcome = Literal["passed", "failed", "error", "no_record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is judged: a model spoken to in one way.

    Args:
        model: the model's name as for `Agent`.
        protocol: how calls are written down; "auto" for what suits the model.
    """

    model: str
    protocol: str = "auto"

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.model} · {self.protocol}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One question of an attempt, as far as it is kept: masked, and long texts cut.

    Args:
        question: what the user said.
        calls: the calls: name, arguments, error, result, fixes.
        text: the answer.
        stopped: why it ended.
        replies: what the model wrote, a text for each turn.
    """

    question: str
    calls: tuple[Mapping[str, Any], ...] = ()
    text: str = ""
    stopped: str = ""
    replies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One case, tried once by one subject.

    Args:
        subject: who tried.
        case: the case's id.
        kind: what the case is about: "calls", "silence" or "text".
        tags: the case's.
        repeat: which try, from 1.
        outcome: "passed"; "failed"; "error" when the model's server failed; "no_record" when a replay had nothing to replay.
        findings: what was wrong.
        exchanges: what was said.
        message: why there was an error, or what has no record.
        wrong_calls: how many calls ran that should not have.
        seconds: the model's time, in all turns; a replay has that of the record.
        requests: how often the model was asked.
        input_tokens: of all prompts.
        output_tokens: of all replies.
        cost: in `currency`; None where no price is known.
        currency: an ISO 4217 code.
        fixes: how often each kind of liberty was taken in reading.
        problems: how often each error code came up.
    """

    subject: Subject
    case: str
    kind: str
    repeat: int
    outcome: Outcome
    tags: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    message: str = ""
    wrong_calls: int = 0
    seconds: float = 0.0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    currency: str = ""
    fixes: Mapping[str, int] = field(default_factory=dict)
    problems: Mapping[str, int] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """Whether all was as the case expects it."""
        return self.outcome == "passed"

    @property
    def counts(self) -> bool:
        """Whether it says anything about the subject: what could not be replayed does not."""
        return self.outcome != "no_record"

    @property
    def tokens(self) -> int:
        """Of prompts and replies together."""
        return self.input_tokens + self.output_tokens

    def as_json(self) -> dict[str, Any]:
        """For the store."""
        plain = asdict(self)
        plain["findings"] = [finding.as_json() for finding in self.findings]
        return plain


def attempt_of(value: Mapping[str, Any]) -> Attempt:
    """From the store's form."""
    known = {name: value[name] for name in Attempt.__dataclass_fields__ if name in value}
    exchanges = [
        Exchange(**{**item, "calls": tuple(item["calls"]), "replies": tuple(item["replies"])})
        for item in known["exchanges"]
    ]
    return Attempt(
        **{
            **known,
            "subject": Subject(**known["subject"]),
            "tags": tuple(known["tags"]),
            "findings": tuple(map(finding_of, known["findings"])),
            "exchanges": tuple(exchanges),
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A suite, tried by one or more subjects.

    Args:
        id: its name in the store.
        suite: the suite's name.
        started: when, ISO 8601 in UTC.
        subjects: who was judged, in order.
        cases: the cases' ids, in order.
        written: each case as a file would have it, by id.
        attempts: all that was tried so far.
        repeat: how often each case is tried.
        state: "running", "finished" or "stopped".
        note: how it was run, for people.
    """

    id: str
    suite: str
    started: str
    subjects: tuple[Subject, ...]
    cases: tuple[str, ...]
    written: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    attempts: Sequence[Attempt] = ()
    repeat: int = 1
    state: str = "running"
    note: str = ""

    def of(self, subject: Subject) -> list[Attempt]:
        """One subject's attempts."""
        return [attempt for attempt in self.attempts if attempt.subject == subject]
