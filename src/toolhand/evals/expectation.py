"""What a case expects of one answer, and what an answer looks like when it is judged."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolhand.core.canonical import canonical
from toolhand.core.errors import ErrorCode
from toolhand.evals.findings import Finding
from toolhand.evals.matchers import ABSENT, Look, Matcher
from toolhand.evals.pairing import paired, paired_in_order
from toolhand.evals.spots import shown

NEVER_RAN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOOL,
        ErrorCode.MISSING_ARGUMENT,
        ErrorCode.INVALID_ARGUMENT,
        ErrorCode.INVALID_JSON,
        ErrorCode.UNPARSEABLE,
        ErrorCode.TRUNCATED,
        ErrorCode.DOUBTFUL,
        ErrorCode.NOT_ALLOWED,
        ErrorCode.NOT_PERMITTED,
        ErrorCode.PRECONDITION_FAILED,
        ErrorCode.REPEATED_CALL,
        ErrorCode.RATE_LIMITED,
        ErrorCode.CIRCUIT_OPEN,
    }
)
"""After these a call had no effect: it counts neither for nor against a case."""

_MOST_TEXT: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A call that a model made.

    Args:
        name: the tool.
        arguments: as they were understood.
        error: the code of what went wrong, or "".
        defaults: what the tool takes for arguments that were not sent.
        result: what came back, in short.
        fixes: the kinds of liberties that were taken in reading it.
        is_harmless: whether making it twice changes no more than making it once.
    """

    name: str
    arguments: Mapping[str, Any]
    error: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    fixes: tuple[str, ...] = ()
    is_harmless: bool = True

    @property
    def ran(self) -> bool:
        """Whether it had an effect, or waits for a person only."""
        return self.error not in NEVER_RAN

    @property
    def signature(self) -> str:
        """One text for equal calls."""
        return canonical([self.name, self.arguments])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one question.

    Args:
        calls: the calls that were made, in order.
        text: the answer.
        stopped: why it ended, as in `Run.stopped`; "cut" where the case goes no further.
    """

    calls: tuple[Made, ...] = ()
    text: str = ""
    stopped: str = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The expected arguments of a call.

    Args:
        fields: a matcher for each named argument.
        is_open: whether others may be sent too.
        whole: a matcher for all of them at once instead.
    """

    fields: Mapping[str, Matcher] = field(default_factory=dict)
    is_open: bool = False
    whole: Matcher | None = None

    def __str__(self) -> str:
        if self.whole is not None:
            return str(self.whole)
        inner = [f"{name}={matcher}" for name, matcher in self.fields.items()]
        return ", ".join([*inner, "…"] if self.is_open else inner)

    def findings(self, call: Made, look: Look) -> list[Finding]:
        """What does not fit."""
        if self.whole is not None:
            finding = self.whole.finding(dict(call.arguments), look)
            return [] if finding is None else [finding]
        found: list[Finding] = []
        for name, matcher in self.fields.items():
            value = call.arguments.get(name, ABSENT)
            at = look.at(name)
            finding = matcher.finding(value, at)
            # A default may be sent or left out: either way the tool gets the same.
            other = call.defaults.get(name, ABSENT) if value is ABSENT else ABSENT
            is_default = name in call.defaults and (value is ABSENT or value == call.defaults[name])
            if finding is not None and not (is_default and matcher.finding(other, at) is None):
                found.append(finding)
        for name, value in call.arguments.items():
            is_default = name in call.defaults and canonical(call.defaults[name]) == canonical(value)
            if name not in self.fields and not self.is_open and not is_default:
                found.append(
                    Finding(code="unexpected_argument", path=look.at(name).path, actual=shown(value))
                )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A call that a case names.

    Args:
        name: the tool.
        arguments: what must be sent; None where that does not matter.
    """

    name: str
    arguments: Arguments | None = None

    def __str__(self) -> str:
        return f"{self.name}({'…' if self.arguments is None else self.arguments})"

    def findings(self, call: Made, today: dt.date) -> list[Finding]:
        """What of this call does not fit; the call is one of this tool."""
        return [] if self.arguments is None else self.arguments.findings(call, Look(self.name, today))

    def fits(self, call: Made, today: dt.date) -> bool:
        """Whether the call is this one."""
        return call.name == self.name and not self.findings(call, today)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How an answer was judged.

    Args:
        findings: what is wrong; none where it passes.
        wrong_calls: how many calls ran that should not have.
    """

    findings: tuple[Finding, ...] = ()
    wrong_calls: int = 0

    @property
    def passes(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What one answer has to be like.

    Args:
        calls: the calls that have to be made, and no others; () for none at all, None where it does not matter.
        orders: the orders in which they may come, as positions in `calls`; () for any order.
        allowed: calls that may be made besides.
        forbidden: calls that may not be made.
        extra_calls: whether any other calls may be made besides.
        repeats: whether the same call may be made again where that does no harm.
        text: what the answer has to be like.
        no_text: what it may not be like.
        any_of: further expectations; where there are some, one of them has to be met.
    """

    calls: tuple[ExpectedCall, ...] | None = None
    orders: tuple[tuple[int, ...], ...] = ()
    allowed: tuple[ExpectedCall, ...] = ()
    forbidden: tuple[ExpectedCall, ...] = ()
    extra_calls: bool = False
    repeats: bool = True
    text: tuple[Matcher, ...] = ()
    no_text: tuple[Matcher, ...] = ()
    any_of: tuple[Expectation, ...] = ()

    @property
    def kind(self) -> str:
        """What it is about: "calls" where calls are needed, "silence" where none may be made, else "text"."""
        kinds = {part.kind for part in self.any_of}
        if self.calls:
            return "calls"
        if self.calls is not None:
            return "silence"
        return kinds.pop() if len(kinds) == 1 else "text"

    @property
    def needs_text(self) -> bool:
        """Whether an answer's text is judged."""
        return bool(self.text or self.no_text) or any(part.needs_text for part in self.any_of)

    def judge(self, answer: Answer, today: dt.date) -> Verdict:
        """What is wrong with an answer.

        Args:
            answer: what came.
            today: the day that "today" is.
        """
        calls, wrong = self._calls(answer, today)
        verdict = Verdict(findings=(*calls, *self._texts(answer, today)), wrong_calls=wrong)
        if not self.any_of:
            return verdict
        best = min(
            (part.judge(answer, today) for part in self.any_of),
            key=lambda v: (len(v.findings), v.wrong_calls),
        )
        return Verdict(
            findings=(*verdict.findings, *best.findings),
            wrong_calls=max(verdict.wrong_calls, best.wrong_calls),
        )

    def _calls(self, answer: Answer, today: dt.date) -> tuple[list[Finding], int]:
        made = [call for call in answer.calls if call.ran]
        banned = [call for call in made if any(f.fits(call, today) for f in self.forbidden)]
        findings = [_about("forbidden_call", call) for call in banned]
        if self.calls is None:
            return findings, len(banned)
        fitting = [[expected.fits(call, today) for call in made] for expected in self.calls]
        pairs = self._paired(fitting)
        is_whole = None not in pairs
        if not is_whole and self.orders:
            loose = paired(fitting)
            if None not in loose:
                findings.append(self._order(loose))
                pairs = loose
        taken = {column for column in pairs if column is not None}
        left = [call for number, call in enumerate(made) if number not in taken]
        left = self._unexcused(left, [made[number] for number in taken], today)
        wrong = len([call for call in left if not self.extra_calls or call in banned])
        missing = [expected for expected, column in zip(self.calls, pairs, strict=True) if column is None]
        for expected in missing:
            findings += self._missing(expected, left, today)
        if not self.extra_calls:
            findings += [_about("unexpected_call", call) for call in left if call not in banned]
        return findings, wrong

    def _paired(self, fitting: Sequence[Sequence[bool]]) -> list[int | None]:
        if not self.orders:
            return paired(fitting)
        best: list[int | None] = [None] * len(fitting)
        for order in self.orders:
            columns = paired_in_order([fitting[row] for row in order])
            found: list[int | None] = [None] * len(fitting)
            for row, column in zip(order, columns, strict=True):
                found[row] = column
            if found.count(None) < best.count(None) or None not in found:
                best = found
        return best

    def _order(self, columns: Sequence[int | None]) -> Finding:
        names = [expected.name for expected in self.calls or ()]
        came = [names[row] for row in sorted(range(len(names)), key=lambda row: columns[row] or 0)]
        wanted = [" → ".join(names[row] for row in order) for order in self.orders]
        return Finding(code="order", expected=" / ".join(wanted), actual=" → ".join(came))

    def _unexcused(self, left: list[Made], matched: list[Made], today: dt.date) -> list[Made]:
        """Without what is allowed besides, and without harmless repeats of any call."""
        known = {call.signature for call in matched}
        kept: list[Made] = []
        for call in left:
            is_repeat = self.repeats and call.is_harmless and call.signature in known
            if not is_repeat and not any(a.fits(call, today) for a in self.allowed):
                kept.append(call)
            known.add(call.signature)
        return kept

    def _missing(self, expected: ExpectedCall, left: list[Made], today: dt.date) -> list[Finding]:
        """Why an expected call is missing: the nearest call of the same tool says it best, and is then used up."""
        near = [(expected.findings(call, today), call) for call in left if call.name == expected.name]
        if not near:
            return [Finding(code="missing_call", path=expected.name, expected=str(expected))]
        findings, call = min(near, key=lambda pair: len(pair[0]))
        left.remove(call)
        return findings

    def _texts(self, answer: Answer, today: dt.date) -> list[Finding]:
        if not (self.text or self.no_text):
            return []
        if not answer.text.strip():
            return [Finding(code="no_answer", actual=answer.stopped)]
        look = Look("text", today)
        actual = shown(answer.text, _MOST_TEXT)
        missing = [m for m in self.text if not m.is_met(answer.text, look)]
        banned = [m for m in self.no_text if m.is_met(answer.text, look)]
        return [
            *(Finding(code="text", expected=str(m), actual=actual) for m in missing),
            *(Finding(code="no_text", expected=str(m), actual=actual) for m in banned),
        ]


def _about(code: str, call: Made) -> Finding:
    inner = ", ".join(f"{name}={shown(value)}" for name, value in call.arguments.items())
    return Finding(code=code, path=call.name, actual=inner)


def asked(findings: Sequence[Finding], question: int) -> tuple[Finding, ...]:
    """The findings with the number of their question."""
    return tuple(replace(finding, question=question) for finding in findings)
