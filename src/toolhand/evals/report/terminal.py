"""The report for a person at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from toolhand.core.language import Language
from toolhand.core.plain import plain
from toolhand.core.tables import print_table
from toolhand.evals.report.words import money, number, percent, points, word
from toolhand.evals.results import Attempt, Evaluation
from toolhand.evals.statistics import Interval
from toolhand.evals.summary import Comparison, by_tag, figures

MOST_FAILURES = 20

_NONE = "–"


def show(
    evaluation: Evaluation,
    comparisons: Sequence[Comparison],
    console: Console,
    language: Language,
    *,
    most_failures: int = MOST_FAILURES,
) -> None:
    """Prints figures, tags, comparisons and what went wrong.

    Args:
        evaluation: what is reported.
        comparisons: with others; none where it stands alone.
        console: where to.
        language: of the words.
        most_failures: how many failed attempts are told in full.
    """
    state = "" if evaluation.state == "finished" else f" ({word(f'state_{evaluation.state}', language)})"
    console.print(
        f"[bold]{word('title', language)} {_shown(evaluation.suite)}[/] [dim]{evaluation.id}{state}[/]"
    )
    print_table(console, _figures(evaluation, language))
    tags = _tags(evaluation, language)
    if tags.row_count:
        print_table(console, tags)
    if comparisons:
        print_table(console, _comparisons(comparisons, language))
    _failures(evaluation, console, language, most_failures)


def _figures(evaluation: Evaluation, language: Language) -> Table:
    keys = ("subject", "passed", "calls", "silence", "wrong_calls", "tokens", "seconds")
    more = ("cost", "errors", "no_record")  # left out where they tell nothing: a terminal has little room
    rows = []
    for subject in evaluation.subjects:
        told = figures(evaluation, subject)
        rows.append(
            (
                _shown(subject.label),
                f"[bold]{_rate(told.passed)}[/]",
                _rate(told.calls),
                _rate(told.silence),
                number(told.wrong_calls, 1),
                number(told.tokens),
                f"{number(told.seconds, 2)} ({number(told.slow_seconds, 2)})",
                money(told.cost, told.currency),
                str(told.errors or _NONE),
                str(told.no_record or _NONE),
            )
        )
    table = Table(box=None, pad_edge=False)
    columns = [(key, cells) for key, *cells in zip((*keys, *more), *rows, strict=True)]
    columns = [(key, cells) for key, cells in columns if key in keys or set(cells) != {_NONE}]
    for key, _ in columns:
        table.add_column(word(key, language), justify="left" if key == "subject" else "right")
    for row in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*row)
    return table


def _rate(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    return f"{percent(interval.value)} [dim]({100 * interval.low:.0f}–{100 * interval.high:.0f})[/dim]"


def _tags(evaluation: Evaluation, language: Language) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(word("tag", language))
    table.add_column(word("cases", language), justify="right")
    told = [by_tag(evaluation, subject) for subject in evaluation.subjects]
    for subject in evaluation.subjects:
        table.add_column(_shown(subject.label), justify="right")
    for tag in dict.fromkeys(tag for tags in told for tag in tags):
        counts = max(tags[tag][1] for tags in told if tag in tags)
        rates = [percent(tags[tag][0]) if tag in tags else "–" for tags in told]
        table.add_row(_shown(tag), str(counts), *rates)
    return table


def _comparisons(comparisons: Sequence[Comparison], language: Language) -> Table:
    table = Table(box=None, pad_edge=False, title=word("compared", language), title_justify="left")
    keys = ("old", "new", "cases", "difference", "won", "lost", "p", "ratio_tokens", "ratio_seconds")
    for key in keys:
        table.add_column(word(key, language), justify="left" if key in ("old", "new") else "right")
    for pair in comparisons:
        told = pair.difference
        colour = "red" if told.high < 0 else "green" if told.low > 0 else "default"
        table.add_row(
            _shown(pair.old.label),
            _shown(pair.new.label),
            str(pair.cases),
            f"[{colour}]{points(told.value)} ({points(told.low)} … {points(told.high)})[/]",
            str(len(pair.won)),
            str(len(pair.lost)),
            f"{pair.p:.3f}",
            number(pair.tokens, 2),
            number(pair.seconds, 2),
        )
    return table


def _failures(evaluation: Evaluation, console: Console, language: Language, most: int) -> None:
    failed = [attempt for attempt in evaluation.attempts if not attempt.passes]
    if not failed:
        console.print(f"[green]{word('nothing_failed', language)}[/]" if evaluation.attempts else "")
        return
    console.print(f"[bold]{word('failures', language)}[/]")
    for attempt in failed[:most]:
        console.print(f"[red]✗[/] {_shown(_title(attempt, evaluation))}", highlight=False)
        for sentence in sentences(attempt, language):
            console.print(f"    {_shown(sentence)}", highlight=False)
    if len(failed) > most:
        console.print(f"[dim]{word('and_more', language).format(count=len(failed) - most)}[/dim]")


def _title(attempt: Attempt, evaluation: Evaluation) -> str:
    several = f" #{attempt.repeat}" if evaluation.repeat > 1 else ""
    who = f" [{attempt.subject.label}]" if len(evaluation.subjects) > 1 else ""
    return f"{attempt.case}{several}{who}"


def sentences(attempt: Attempt, language: Language) -> list[str]:
    """Why an attempt did not pass."""
    if attempt.outcome in ("error", "no_record"):
        return [f"{word(f'outcome_{attempt.outcome}', language)}: {attempt.message}"]
    several = len(attempt.exchanges) > 1
    return [
        f"{f'{finding.question}. ' if several else ''}{finding.sentence(language)}"
        for finding in attempt.findings
    ]


def _shown(text: str) -> str:
    """A text that others wrote, among our own marks."""
    return escape(plain(text))
