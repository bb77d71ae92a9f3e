"""Charts as inline SVG. Words stand beside them in HTML, so that they stay readable on a narrow screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolhand.core.markup import Markup, element, joined
from toolhand.evals.statistics import Interval

_HEIGHT = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One row of a chart.

    Args:
        label: what stands before it.
        value: how far the bar goes, on the chart's scale.
        shown: the value in words.
        low: where the interval begins; None for no interval.
        high: where it ends.
        kind: its colour: "good", "bad" or "plain".
    """

    label: str
    value: float
    shown: str
    low: float | None = None
    high: float | None = None
    kind: str = "plain"


def rate_bar(label: str, rate: Interval | None, shown: str) -> Bar:
    """A bar for a share, from 0 to 1."""
    if rate is None:
        return Bar(label=label, value=0.0, shown=shown)
    return Bar(label=label, value=rate.value, shown=shown, low=rate.low, high=rate.high)


def bars(rows: Sequence[Bar], *, top: float = 1.0, title: str) -> Markup:
    """Horizontal bars from 0 to `top`, with whiskers for intervals."""
    top = top if top > 0 else 1.0
    return _chart(title, [(row, _bar(row, top)) for row in rows])


def forest(rows: Sequence[Bar], *, reach: float, title: str) -> Markup:
    """Points with intervals around a line at 0, from -reach to +reach."""
    reach = reach if reach > 0 else 1.0
    return _chart(title, [(row, _point(row, reach)) for row in rows])


def _chart(title: str, rows: Sequence[tuple[Bar, Markup]]) -> Markup:
    lines = [
        element(
            "div",
            element("span", row.label, class_="label"),
            drawing,
            element("span", row.shown, class_="shown"),
            class_="row",
        )
        for row, drawing in rows
    ]
    return element("figure", element("figcaption", title), *lines, class_="chart")


def _drawing(row: Bar, *children: Markup) -> Markup:
    return element(
        "svg",
        element("title", f"{row.label}: {row.shown}"),
        *children,
        viewBox=f"0 0 100 {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )


def _bar(row: Bar, top: float) -> Markup:
    grid = joined(*(_line(x, 0, x, _HEIGHT, "grid") for x in (0, 25, 50, 75, 100)))
    length = 100 * min(max(row.value / top, 0.0), 1.0)
    bar = element("rect", x=0, y=4, width=round(length, 2), height=_HEIGHT - 8, class_=f"bar {row.kind}")
    return _drawing(row, grid, bar, _whisker(row, lambda value: 100 * value / top))


def _point(row: Bar, reach: float) -> Markup:
    def place(value: float) -> float:
        return 50 + 50 * max(-1.0, min(1.0, value / reach))

    middle = _line(50, 0, 50, _HEIGHT, "zero")
    x = place(row.value)
    point = element(
        "rect", x=round(x - 0.7, 2), y=5, width=1.4, height=_HEIGHT - 10, class_=f"bar {row.kind}"
    )
    return _drawing(row, middle, _whisker(row, place), point)


def _whisker(row: Bar, place: object) -> Markup:
    if row.low is None or row.high is None or not callable(place):
        return joined()
    low, high = (round(min(max(place(value), 0.0), 100.0), 2) for value in (row.low, row.high))
    middle = _HEIGHT / 2
    return joined(
        _line(low, middle, high, middle, "whisker"),
        _line(low, middle - 4, low, middle + 4, "whisker"),
        _line(high, middle - 4, high, middle + 4, "whisker"),
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)
