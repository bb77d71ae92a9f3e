"""The report that CI servers read: JUnit XML, a suite for each subject, a test case for each attempt.

Source: https://github.com/testmoapp/junitxml (the common denominator of what servers read).
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from toolhand.core.language import Language
from toolhand.evals.report.terminal import sentences
from toolhand.evals.results import Attempt, Evaluation, Subject

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(evaluation: Evaluation, language: Language) -> str:
    """The whole document."""
    suites = [_suite(evaluation, subject, language) for subject in evaluation.subjects]
    total = len(evaluation.attempts)
    failed = sum(attempt.outcome == "failed" for attempt in evaluation.attempts)
    errors = sum(attempt.outcome == "error" for attempt in evaluation.attempts)
    seconds = sum(attempt.seconds for attempt in evaluation.attempts)
    head = (
        f'<testsuites name={_attribute(evaluation.suite)} tests="{total}" failures="{failed}" '
        f'errors="{errors}" time="{seconds:.3f}">'
    )
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>", ""])


def _suite(evaluation: Evaluation, subject: Subject, language: Language) -> str:
    attempts = evaluation.of(subject)
    counts = {
        outcome: sum(attempt.outcome == outcome for attempt in attempts)
        for outcome in ("failed", "error", "no_record")
    }
    seconds = sum(attempt.seconds for attempt in attempts)
    head = (
        f'  <testsuite name={_attribute(subject.label)} tests="{len(attempts)}" failures="{counts["failed"]}" '
        f'errors="{counts["error"]}" skipped="{counts["no_record"]}" time="{seconds:.3f}" '
        f"timestamp={_attribute(evaluation.started)}>"
    )
    cases = [_case(attempt, evaluation, language) for attempt in attempts]
    return "\n".join([head, *cases, "  </testsuite>"])


def _case(attempt: Attempt, evaluation: Evaluation, language: Language) -> str:
    name = f"{attempt.case} #{attempt.repeat}" if evaluation.repeat > 1 else attempt.case
    head = (
        f"    <testcase name={_attribute(name)} classname={_attribute(f'{evaluation.suite}.{attempt.subject.label}')} "
        f'time="{attempt.seconds:.3f}"'
    )
    if attempt.passes:
        return f"{head}/>"
    told = sentences(attempt, language)
    element = {"failed": "failure", "error": "error", "no_record": "skipped"}[attempt.outcome]
    message = _attribute(told[0] if told else attempt.outcome)
    body = "" if element == "skipped" else _text("\n".join(told))
    inner = f"<{element} message={message}>{body}</{element}>"
    said = _text("\n\n".join("\n".join(exchange.replies) for exchange in attempt.exchanges))
    return f"{head}>\n      {inner}\n      <system-out>{said}</system-out>\n    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", text))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
