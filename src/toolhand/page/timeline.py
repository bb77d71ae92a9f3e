"""A run's timeline: a row for each turn and each call, with its bar in the run's time. What ran at once lies below one another.

Bars are inline SVG in thousandths of the width, so that no style stands in the page. Long spans in which nothing happened, as
while a person was waited for, are shortened: else one of them would press everything else together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from toolhand.core.errors import ErrorCode
from toolhand.core.markup import Child, Markup, element
from toolhand.page.forms import count, short, span
from toolhand.page.frame import Around, chip
from toolhand.page.kinds import code_word
from toolhand.page.runs import CallView, RunView, TurnView

WIDTH: Final = 1000
"""Of a bar's place, in units of its own."""

_GAP_SHARE: Final = 0.15
"""How long nothing may happen, as a share of the busy time, before the span is shortened."""

_GAP_SECONDS: Final = 1.0
_HELD_SECONDS: Final = 0.02
_GAP_WIDTH: Final = 0.05
_LEAST: Final = 4.0
_HEIGHT: Final = 14


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of time: from when, how long, and how wide it is shown."""

    start: float
    seconds: float
    width: float
    is_gap: bool


class Scale:
    """Where moments lie.

    Args:
        spans: when something was at work: from and to, in seconds since 1970.
    """

    def __init__(self, spans: Iterable[tuple[float, float]]) -> None:
        busy = _joined(spans)
        total = sum(end - start for start, end in busy)
        longest = max(_GAP_SECONDS, _GAP_SHARE * total)
        pieces: list[tuple[float, float, bool]] = []
        for place, (start, end) in enumerate(busy):
            if place and (idle := start - busy[place - 1][1]) > 0:
                pieces.append((busy[place - 1][1], idle, idle > longest))
            pieces.append((start, end - start, False))
        gaps = sum(is_gap for _, _, is_gap in pieces)
        told = sum(seconds for _, seconds, is_gap in pieces if not is_gap) or 1.0
        share = WIDTH * (1 - _GAP_WIDTH * gaps) if gaps * _GAP_WIDTH < 0.5 else WIDTH / 2
        gap = (WIDTH - share) / gaps if gaps else 0.0
        self.pieces = [
            _Piece(start, seconds, gap if is_gap else share * seconds / told, is_gap)
            for start, seconds, is_gap in pieces
        ]

    def at(self, moment: float) -> float:
        """Where a moment lies, in thousandths of the width."""
        place = 0.0
        for piece in self.pieces:
            if moment < piece.start + piece.seconds:
                return place + piece.width * max(0.0, moment - piece.start) / piece.seconds
            place += piece.width
        return place

    def gaps(self) -> list[tuple[float, float, float]]:
        """The spans that are shown shorter than they were: from and to in thousandths, and how many seconds."""
        found, place = [], 0.0
        for piece in self.pieces:
            if piece.is_gap:
                found.append((place, place + piece.width, piece.seconds))
            place += piece.width
        return found


def _joined(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans that do not touch, in order."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, max(start, end)))
    return found


def timeline(run: RunView, around: Around, now: float, *, path: str = "") -> Markup:
    """The timeline of a run.

    Args:
        run: the run.
        around: the request's.
        now: in seconds since 1970; what is still at work reaches to it.
        path: the address of the page on which turns and calls stand whole, where that is another.
    """
    is_running = run.state == "running"
    calls = run.calls
    spans = [(turn.began, turn.ended) for turn in run.turns]
    spans += [(call.began, _end(call, now, is_running=is_running)) for call in calls if call.began]
    thinks = is_running and not any(_is_at_work(call) for call in calls)
    if thinks:
        spans.append((run.ended, max(now, run.ended)))
    scale = Scale(spans or [(run.began, run.ended)])
    rows: list[Markup] = []
    for turn in run.turns:
        rows.append(_turn_row(turn, scale, around, path))
        for call in turn.calls:
            end = _end(call, now, is_running=is_running)
            rows.append(_call_row(call, scale, around, end, path))
    if thinks:
        bars = [_bar(scale, run.ended, max(now, run.ended), "model running")]
        name = around.word("turn_number", len(run.turns) + 1)
        rows.append(_row(name, [chip(around.word("state_running"), "running")], bars, scale, kind="turn"))
    gaps = element(
        "p",
        "⋯ ",
        ", ".join(
            f"{around.word('pause')} {span(seconds, around.language)}" for _, _, seconds in scale.gaps()
        ),
        class_="gaps",
    )
    return element(
        "figure",
        element("ol", *rows, class_="rows"),
        gaps if scale.gaps() else None,
        _legend(run, around),
        class_="timeline",
        aria_label=around.word("timeline"),
    )


def _is_at_work(call: CallView) -> bool:
    return not call.ended and call.pending is None and call.result is None and call.problem is None


def _was_held(call: CallView) -> bool:
    """Whether something worth showing lay between a call and its tool."""
    return bool(call.reached) and call.reached - call.began >= _HELD_SECONDS


def _end(call: CallView, now: float, *, is_running: bool) -> float:
    if call.ended:
        return max(call.ended, call.began)
    return max(now, call.began) if is_running and _is_at_work(call) else max(call.reached, call.began)


def _turn_row(turn: TurnView, scale: Scale, around: Around, path: str) -> Markup:
    tokens = f"{count(turn.used[0])} + {count(turn.used[1])} {around.word('tokens')}" if turn.used else ""
    bars = [_bar(scale, turn.began, turn.ended, "model")]
    name = around.word("turn_number", turn.number)
    said = [element("span", tokens, class_="dim")] if tokens else []
    took = span(turn.ended - turn.began, around.language)
    return _row(name, said, bars, scale, kind="turn", took=took, href=f"{path}#turn-{turn.number}")


def _call_row(call: CallView, scale: Scale, around: Around, end: float, path: str) -> Markup:
    kind = call_kind(call)
    bars = []
    if _was_held(call):
        bars.append(_bar(scale, call.began, call.reached, "held"))
    bars.append(_bar(scale, call.reached if _was_held(call) else call.began, end, kind))
    said: list[Markup] = []
    record = call.record
    if record is not None and record.attempts > 1:
        said.append(chip(around.word("attempts", record.attempts), "warn"))
    if call.was_lost:
        said.append(lost_chip(call, around))
    if call.fixes:
        said.append(chip(f"{around.word('mended')} {len(call.fixes)}", "warn"))
    if call.pending is not None:
        said.append(chip(around.word("state_waiting"), "waiting"))
    elif call.error is not None:
        said.append(chip(code_word(str(call.error.code), around.language), "bad"))
    took = span(end - call.began, around.language) if call.ended else ""
    name = f"{'↳ ' if call.carrier else ''}{short(call.name or call.id, 60)}"
    return _row(name, said, bars, scale, kind="call", took=took, href=f"{path}#{anchor(call)}")


def lost_chip(call: CallView, around: Around) -> Markup:
    """Says that a process ended in the midst of a call, and whether it was started again."""
    is_again = call.error is None or call.error.code is not ErrorCode.OUTCOME_UNKNOWN
    return chip(around.word("lost_again" if is_again else "lost"), "warn")


def call_kind(call: CallView) -> str:
    """How a call stands, in the word that its bar and its frame are coloured by."""
    if call.pending is not None:
        return "waiting"
    if call.error is not None:
        return "error"
    return "tool" if call.result is not None else "tool running"


def anchor(call: CallView) -> str:
    """The name of a call's place on the page of its run: any id is one, as letters that no address has to escape."""
    return f"call-{call.id.encode('utf-8', 'surrogatepass').hex()}"


def _bar(scale: Scale, start: float, end: float, kind: str) -> Markup:
    left, right = scale.at(start), scale.at(end)
    left = min(left, WIDTH - _LEAST)
    return element(
        "rect",
        x=round(left, 2),
        y=0.0,
        width=round(max(right - left, _LEAST), 2),
        height=float(_HEIGHT),
        class_=kind,
    )


def _row(
    name: str,
    said: Sequence[Child],
    bars: Sequence[Markup],
    scale: Scale,
    *,
    kind: str,
    took: str = "",
    href: str = "",
) -> Markup:
    breaks = [
        element(
            "rect", x=round(start, 2), y=0.0, width=round(end - start, 2), height=float(_HEIGHT), class_="gap"
        )
        for start, end, _ in scale.gaps()
    ]
    svg = element(
        "svg",
        *breaks,
        *bars,
        viewBox=f"0 0 {WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        aria_hidden="true",
        focusable="false",
    )
    label = element("a", name, href=href, class_="name") if href else element("span", name, class_="name")
    return element(
        "li",
        element("div", label, *said, class_="label"),
        element("div", svg, class_="track"),
        element("div", took, class_="took"),
        class_=kind,
    )


def _legend(run: RunView, around: Around) -> Markup:
    kinds = {"model": bool(run.turns), "tool": any(call_kind(call).startswith("tool") for call in run.calls)}
    kinds["held"] = any(map(_was_held, run.calls))
    kinds["error"] = any(call_kind(call) == "error" for call in run.calls)
    kinds["waiting"] = any(call.pending is not None for call in run.calls)
    shown = [
        element("span", element("i", class_=f"key {kind}"), around.word(f"legend_{kind}"))
        for kind, is_there in kinds.items()
        if is_there
    ]
    return element("figcaption", *shown, class_="legend")
