"""The drift log: which replies could be read only with liberties, by pattern, and the newest of them whole."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from toolhand.core.markup import Markup, element, joined
from toolhand.observability.drift import DriftRecord
from toolhand.page.forms import count, moment, short, shown, value_text
from toolhand.page.frame import Around, block, cell, chip, nothing, page, panel, table
from toolhand.page.kinds import code_word, fix_word


def drift_page(
    around: Around, patterns: Sequence[tuple[str, str, int]], newest: Sequence[DriftRecord], live: str
) -> str:
    """The drift log.

    Args:
        around: the request's.
        patterns: pattern, model, how often; the most frequent first.
        newest: the newest replies, the newest first.
        live: the address that tells of changes.
    """
    if not newest:
        body = nothing(around.word("no_drift"), around.word("no_drift_words"))
    else:
        heads = [around.word(key) for key in ("count", "model", "pattern")]
        rows = [
            (
                cell(count(times), kind="number"),
                cell(short(model, 60)),
                cell(element("code", short(pattern, 160))),
            )
            for pattern, model, times in patterns
        ]
        body = joined(
            element("h2", around.word("patterns")),
            table(heads, rows, around.word("patterns")),
            element("h2", around.word("newest_replies")),
            *(_record(one, around) for one in newest),
        )
    return page(
        around, around.word("drift"), element("h1", around.word("drift")), body, place="drift", live=live
    )


def _record(one: DriftRecord, around: Around) -> Markup:
    problems = [element("p", shown(message)) for message in one.messages]
    understood = [{"name": call.get("name"), "arguments": call.get("arguments")} for call in one.calls]
    wrote = one.raw or value_text(list(one.sent))
    return element(
        "details",
        element(
            "summary",
            element("span", short(wrote, 90), class_="title"),
            element(
                "span",
                element("span", short(one.model, 40)),
                element("span", short(one.protocol, 20)),
                _time(one.time),
                *(chip(short(code_word(code, around.language), 40), "bad") for code in one.problems),
                *(chip(short(fix_word(kind, around.language), 40), "warn") for kind in one.fixes),
                class_="meta",
            ),
        ),
        element(
            "div",
            panel(around.word("wrote"), block(shown(wrote), around.word("wrote"))),
            panel(
                around.word("understood"),
                block(value_text(understood), around.word("understood")) if understood else element("p", "–"),
            ),
            panel(around.word("problems"), *problems) if problems else None,
            class_="panels",
        ),
        class_="card",
    )


def _time(text: str) -> Markup:
    try:
        return moment(dt.datetime.fromisoformat(text).timestamp())
    except ValueError:
        return element("span", short(text, 40))
