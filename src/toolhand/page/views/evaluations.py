"""The evaluations that were kept, and the report of one: the same as `toolhand eval report` writes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from toolhand.core.language import Language
from toolhand.core.markup import Markup, element
from toolhand.evals.report.html import content
from toolhand.evals.report.words import word
from toolhand.evals.results import Evaluation
from toolhand.evals.summary import Comparison
from toolhand.page.forms import count, moment, short
from toolhand.page.frame import Around, link, nothing, page


def evaluations_page(around: Around, heads: Sequence[tuple[Evaluation, int, int]], live: str) -> str:
    """The list.

    Args:
        around: the request's.
        heads: each evaluation with how many attempts there were and how many passed, the newest first.
        live: the address that tells of changes.
    """
    rows = [_row(evaluation, attempts, passed, around) for evaluation, attempts, passed in heads]
    return page(
        around,
        around.word("evaluations"),
        element("h1", around.word("evaluations")),
        element("ul", *rows, class_="cards")
        if rows
        else nothing(around.word("no_evaluations"), around.word("no_evaluations_words")),
        place="evaluations",
        live=live,
    )


def _row(evaluation: Evaluation, attempts: int, passed: int, around: Around) -> Markup:
    share = f"{100 * passed / attempts:.0f} %" if attempts else "–"
    subjects = ", ".join(subject.label for subject in evaluation.subjects)
    return element(
        "li",
        element(
            "div",
            element("a", short(evaluation.suite), href=link("/evaluation", id=evaluation.id), class_="title"),
            element("span", f"{share} {around.word('passed')}", class_="chip"),
            class_="line",
        ),
        element(
            "div",
            element("span", short(subjects)),
            element("span", f"{count(attempts)} {word('attempts', around.language)}"),
            element("span", word(f"state_{evaluation.state}", around.language)),
            _time(evaluation.started),
            element("span", short(evaluation.id, 40), class_="id"),
            class_="meta",
        ),
    )


def _time(text: str) -> Markup:
    try:
        return moment(dt.datetime.fromisoformat(text).timestamp())
    except ValueError:
        return element("span", short(text, 40))


def evaluation_page(
    around: Around,
    evaluation: Evaluation,
    comparisons: Sequence[Comparison],
    others: Sequence[Evaluation],
    compared: str,
) -> str:
    """The report of one.

    Args:
        around: the request's.
        evaluation: the evaluation.
        comparisons: with another.
        others: those that it may be compared with.
        compared: the id of the one that it is compared with, or "".
    """
    language: Language = around.language
    return page(
        around,
        short(evaluation.suite),
        element("p", element("a", f"← {around.word('evaluations')}", href="/evaluations"), class_="paging"),
        _choice(around, evaluation, others, compared) if others else None,
        element("div", content(evaluation, comparisons, language), class_="report"),
        place="evaluations",
        sheets=("report.css",),
    )


def _choice(around: Around, evaluation: Evaluation, others: Sequence[Evaluation], compared: str) -> Markup:
    options = [element("option", around.word("alone"), value="")]
    options += [
        element(
            "option",
            f"{one.started[:16].replace('T', ' ')} {short(', '.join(s.label for s in one.subjects), 60)}",
            value=one.id,
            selected=one.id == compared,
        )
        for one in others
    ]
    return element(
        "form",
        element("input", type="hidden", name="id", value=evaluation.id),
        element("label", around.word("compare"), for_="with"),
        element("select", *options, name="with", id="with"),
        element("button", around.word("show")),
        method="get",
        action="/evaluation",
        class_="search",
    )
