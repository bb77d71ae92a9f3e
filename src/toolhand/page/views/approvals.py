"""The calls that wait for a person."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.core.markup import Markup, element
from toolhand.page.forms import moment, short, shown
from toolhand.page.frame import Around, chip, link, nothing, notice, page
from toolhand.page.looking import WaitingView
from toolhand.page.views.deciding import decision_forms
from toolhand.page.views.run import arguments_of


def approvals_page(
    around: Around, waiting: Sequence[WaitingView], *, live: str, told: str = "", failed: bool = False
) -> str:
    """All calls that wait.

    Args:
        around: the request's.
        waiting: the calls.
        live: the address that tells of changes.
        told: a sentence about what was just done.
        failed: whether that went wrong.
    """
    return page(
        around,
        around.word("approvals"),
        notice(told, "bad" if failed else "") if told else None,
        element("h1", around.word("approvals")),
        *(_card(one, around) for one in waiting),
        None if waiting else nothing(around.word("no_approvals"), around.word("no_approvals_words")),
        place="approvals",
        live=live,
    )


def _card(one: WaitingView, around: Around) -> Markup:
    call, summary = one.call, one.summary
    return element(
        "article",
        element(
            "header",
            element("h2", shown(call.name)),
            chip(around.word(f"effect_{one.pending.effect}"), "effect"),
        ),
        element(
            "p",
            element("a", short(one.run.words, 200), href=link("/run", id=summary.id, seq=one.run.seq)),
            class_="asked",
        ),
        element(
            "div",
            element("span", short(summary.owner, 40) or around.word("nobody")),
            element("span", short(summary.id, 60), class_="id"),
            element("span", around.word("waiting_since", ""), moment(one.run.ended)),
            class_="meta",
        ),
        arguments_of(call.arguments, around),
        decision_forms(call, summary, around),
        class_="card waiting",
    )
