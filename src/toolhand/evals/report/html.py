"""The report as one HTML page: no script, no outside address, charts as inline SVG, light and dark, English or Chinese."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from toolhand.core.language import Language
from toolhand.core.markup import Child, Markup, element, joined, raw
from toolhand.evals.format import EXPECTATION
from toolhand.evals.report.charts import Bar, bars, forest, rate_bar
from toolhand.evals.report.terminal import sentences
from toolhand.evals.report.words import money, number, percent, points, word
from toolhand.evals.results import Attempt, Evaluation, Exchange
from toolhand.evals.spots import shown
from toolhand.evals.statistics import Interval
from toolhand.evals.summary import Comparison, Figures, by_tag, figures
from toolhand.evals.writing import yaml_text

_NO_REQUESTS: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""The page may load nothing at all; only its own style sheet counts."""

_MARKS: Final = {"passed": "✓", "failed": "✗", "error": "!", "no_record": "–"}

_MOST_FAILURES: Final = 500


@cache
def style() -> str:
    """The page's style sheet."""
    return files("toolhand.evals.report").joinpath("style.css").read_text("utf-8")


def page(evaluation: Evaluation, comparisons: Sequence[Comparison], language: Language) -> str:
    """The whole page.

    Args:
        evaluation: what is reported.
        comparisons: with others; none where it stands alone.
        language: of the words.
    """
    title = _title(evaluation, language)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_NO_REQUESTS),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", raw(style())),
    )
    body = element("body", content(evaluation, comparisons, language))
    tag = "zh-CN" if language == "zh" else "en"
    return f"<!doctype html>\n{element('html', head, body, lang=tag)}\n"


def _title(evaluation: Evaluation, language: Language) -> str:
    return f"{word('title', language)} {evaluation.suite}"


def content(evaluation: Evaluation, comparisons: Sequence[Comparison], language: Language) -> Markup:
    """What stands on the page, for a page of another's; it looks as it should with `style`.

    Args:
        evaluation: what is reported.
        comparisons: with others; none where it stands alone.
        language: of the words.
    """
    told = [figures(evaluation, subject) for subject in evaluation.subjects]
    return joined(
        element("h1", _title(evaluation, language)),
        element("p", _meta(evaluation, language), class_="meta"),
        _figures(told, language),
        _charts(told, language),
        _comparisons(comparisons, language),
        _tags(evaluation, language),
        _matrix(evaluation, language),
        _mended(told, language),
        _failures(evaluation, language),
    )


def _meta(evaluation: Evaluation, language: Language) -> str:
    parts = [
        evaluation.id,
        evaluation.started,
        f"{len(evaluation.cases)} {word('cases', language)}",
        f"{len(evaluation.attempts)} {word('attempts', language)}",
        word(f"state_{evaluation.state}", language),
        evaluation.note,
    ]
    return " · ".join(filter(None, parts))


def _table(heads: Sequence[Child], rows: Iterable[Sequence[Markup]]) -> Markup:
    top = element("thead", element("tr", *(element("th", head, scope="col") for head in heads)))
    lines = [element("tr", *row) for row in rows]
    return element("div", element("table", top, element("tbody", *lines)), class_="wide", tabindex=0)


def _cell(*children: Child, class_: str | None = None) -> Markup:
    return element("td", *children, class_=class_)


def _row_head(text: str) -> Markup:
    return element("th", text, scope="row")


def _rate(rate: Interval | None) -> Markup:
    if rate is None:
        return _cell("–")
    between = element("span", f" ({100 * rate.low:.0f}–{100 * rate.high:.0f})", class_="small")
    return _cell(percent(rate.value), between)


def _figures(told: Sequence[Figures], language: Language) -> Markup:
    keys = (
        "subject",
        "passed",
        "calls",
        "silence",
        "wrong_calls",
        "tokens",
        "seconds",
        "cost",
        "errors",
        "no_record",
    )
    rows = [
        [
            _row_head(one.subject.label),
            _rate(one.passed),
            _rate(one.calls),
            _rate(one.silence),
            _cell(number(one.wrong_calls, 1)),
            _cell(number(one.tokens)),
            _cell(f"{number(one.seconds, 2)} ({number(one.slow_seconds, 2)})"),
            _cell(money(one.cost, one.currency)),
            _cell(str(one.errors)),
            _cell(str(one.no_record)),
        ]
        for one in told
    ]
    note = f"{word('interval', language)} {word('time_note', language)}"
    return joined(_table([word(key, language) for key in keys], rows), element("p", note, class_="note"))


def _charts(told: Sequence[Figures], language: Language) -> Markup:
    charts = []
    for key in ("passed", "calls", "silence"):
        rates: list[Interval | None] = [getattr(one, key) for one in told]
        rows = [
            rate_bar(one.subject.label, rate, "–" if rate is None else percent(rate.value))
            for one, rate in zip(told, rates, strict=True)
        ]
        if any(rate is not None for rate in rates):
            charts.append(bars(rows, title=word(key, language)))
    for key, digits in (("tokens", 0), ("seconds", 2)):
        values = [getattr(one, key) or 0.0 for one in told]
        rows = [
            Bar(label=one.subject.label, value=value, shown=number(value, digits))
            for one, value in zip(told, values, strict=True)
        ]
        if any(values):
            title = word("median_seconds" if key == "seconds" else key, language)
            charts.append(bars(rows, top=max(values), title=title))
    return joined(*charts)


def _comparisons(comparisons: Sequence[Comparison], language: Language) -> Markup | None:
    if not comparisons:
        return None
    keys = ("new", "old", "cases", "difference", "won", "lost", "p", "ratio_tokens", "ratio_seconds")
    rows, points_ = [], []
    for pair in comparisons:
        told = pair.difference
        between = f"{points(told.value)} ({points(told.low)} … {points(told.high)})"
        rows.append(
            [
                _row_head(pair.new.label),
                _cell(pair.old.label, class_="left"),
                _cell(str(pair.cases)),
                _cell(between),
                _cell(str(len(pair.won))),
                _cell(str(len(pair.lost))),
                _cell(f"{pair.p:.3f}"),
                _cell(number(pair.tokens, 2)),
                _cell(number(pair.seconds, 2)),
            ]
        )
        kind = "bad" if told.high < 0 else "good" if told.low > 0 else "plain"
        label = f"{pair.new.label} − {pair.old.label}"
        points_.append(
            Bar(label=label, value=told.value, shown=between, low=told.low, high=told.high, kind=kind)
        )
    reach = max(max(abs(bar.low or 0), abs(bar.high or 0)) for bar in points_)
    changed = [
        element("p", f"{word(key, language)}: {', '.join(cases)}", class_="note")
        for pair in comparisons
        for key, cases in (("won", pair.won), ("lost", pair.lost))
        if cases
    ]
    return joined(
        element("h2", word("compared", language)),
        _table([word(key, language) for key in keys], rows),
        forest(points_, reach=reach, title=word("difference", language)),
        *changed,
    )


def _tags(evaluation: Evaluation, language: Language) -> Markup | None:
    told = [by_tag(evaluation, subject) for subject in evaluation.subjects]
    tags = list(dict.fromkeys(tag for found in told for tag in found))
    if not tags:
        return None
    rows = []
    for tag in tags:
        count = max(found[tag][1] for found in told if tag in found)
        rates = [_cell(percent(found[tag][0]) if tag in found else "–") for found in told]
        rows.append([_row_head(tag), _cell(str(count)), *rates])
    heads = [word("tag", language), word("cases", language), *(s.label for s in evaluation.subjects)]
    return joined(element("h2", word("by_tag", language)), _table(heads, rows))


def _matrix(evaluation: Evaluation, language: Language) -> Markup:
    found: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in evaluation.attempts:
        found.setdefault((attempt.case, attempt.subject.label), []).append(attempt)
    rows = []
    for case in evaluation.cases:
        cells = [_outcomes(found.get((case, s.label), []), language) for s in evaluation.subjects]
        rows.append([_row_head(case), *cells])
    heads = [word("case", language), *(subject.label for subject in evaluation.subjects)]
    return joined(element("h2", word("every_case", language)), _table(heads, rows))


def _outcomes(attempts: Sequence[Attempt], language: Language) -> Markup:
    if not attempts:
        return _cell(element("span", "·", title=word("not_tried", language)), class_="not_tried")
    worst = next(
        (kind for kind in ("error", "failed", "no_record") if any(a.outcome == kind for a in attempts)),
        "passed",
    )
    marks = "".join(_MARKS[attempt.outcome] for attempt in attempts)
    if len(attempts) > 3:
        marks = f"{sum(attempt.passes for attempt in attempts)}/{len(attempts)}"
    told = ", ".join(word(f"outcome_{attempt.outcome}", language) for attempt in attempts)
    return _cell(element("span", marks, title=told, aria_label=told, role="img"), class_=worst)


def _mended(told: Sequence[Figures], language: Language) -> Markup | None:
    parts = []
    for key, name in (("mended", "fixes"), ("problems", "problems")):
        kinds = list(dict.fromkeys(kind for one in told for kind, _ in getattr(one, name).most_common()))
        if kinds:
            heads = ["", *(one.subject.label for one in told)]
            rows = [
                [_row_head(kind), *(_cell(str(getattr(one, name)[kind] or "–")) for one in told)]
                for kind in kinds
            ]
            parts.append(joined(element("h2", word(key, language)), _table(heads, rows)))
    return joined(*parts) if parts else None


def _failures(evaluation: Evaluation, language: Language) -> Markup:
    failed = [attempt for attempt in evaluation.attempts if not attempt.passes]
    if not failed:
        return element("p", word("nothing_failed", language))
    told = [_failure(attempt, evaluation, language) for attempt in failed[:_MOST_FAILURES]]
    more = len(failed) - len(told)
    rest = element("p", word("and_more", language).format(count=more), class_="note") if more > 0 else None
    return joined(element("h2", word("failures", language)), *told, rest)


def _failure(attempt: Attempt, evaluation: Evaluation, language: Language) -> Markup:
    several = f" · {word('repeat', language)} {attempt.repeat}" if evaluation.repeat > 1 else ""
    written = evaluation.written.get(attempt.case, {})
    expected = {key: written[key] for key in EXPECTATION if key in written}
    parts: list[Child] = [
        element("dt", word("expected", language)),
        element("dd", element("pre", yaml_text(expected))),
    ]
    for number_, exchange in enumerate(attempt.exchanges):
        questions = written.get("questions")
        if isinstance(questions, list) and number_ < len(questions):
            inner = {key: value for key, value in questions[number_].items() if key != "question"}
            parts += [
                element("dt", word("expected", language)),
                element("dd", element("pre", yaml_text(inner))),
            ]
        parts += _exchange(exchange, language)
    if "questions" in written:
        parts = parts[2:]
    return element(
        "details",
        element(
            "summary",
            element("strong", attempt.case),
            f" · {attempt.subject.label}{several}",
            element("ul", *(element("li", text) for text in sentences(attempt, language)), class_="findings"),
        ),
        element("dl", *parts),
    )


def _exchange(exchange: Exchange, language: Language) -> list[Child]:
    calls = []
    for call in exchange.calls:
        arguments = ", ".join(f"{name}={shown(value, 400)}" for name, value in call["arguments"].items())
        result = call["error"] or call["result"]
        calls.append(f"{call['name']}({arguments}) → {result}")
    return [
        element("dt", word("question", language)),
        element("dd", element("pre", exchange.question)),
        element("dt", word("made", language)),
        element("dd", element("pre", "\n".join(calls) or word("none", language))),
        element("dt", word("answer", language)),
        element("dd", element("pre", exchange.text or f"({exchange.stopped})")),
        element("dt", word("written", language)),
        element("dd", *(element("pre", reply) for reply in exchange.replies)),
    ]
