"""The list of sessions, and what a search finds."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.core.markup import Markup, element
from toolhand.page.forms import moment, short, shown
from toolhand.page.frame import Around, chip, link, nothing, page
from toolhand.page.looking import MOST_LISTED
from toolhand.sessions.entries import Hit, Summary

_MOST_TITLE = 120


def state_of(summary: Summary) -> str:
    """How a session stands, in one word."""
    return "running" if summary.in_use else summary.state or "finished"


def state_chip(state: str, around: Around) -> Markup | None:
    """A label for it; none where all is as it should be."""
    return None if state == "finished" else chip(around.word(f"state_{state}"), state)


def sessions_page(
    around: Around,
    listed: Sequence[Summary],
    hits: Sequence[Hit] | None,
    *,
    text: str = "",
    user: str | None = None,
    is_first: bool = True,
    live: str = "",
) -> str:
    """The list of sessions.

    Args:
        around: the request's.
        listed: the sessions.
        hits: what a search found, or None where nothing was looked for.
        text: what was looked for.
        user: whose sessions; None for everybody's.
        is_first: whether it is the newest part of the list.
        live: the address that tells of changes; "" where it does not change.
    """
    if hits is not None:
        rows = [_hit(hit, around) for hit in hits]
        body = (
            element("ul", *rows, class_="cards")
            if rows
            else nothing(around.word("nothing_found"), around.word("nothing_found_words"))
        )
    elif listed:
        body = element("ul", *(_row(one, around) for one in listed), class_="cards")
    else:
        body = nothing(around.word("no_sessions"), around.word("no_sessions_words"))
    return page(
        around,
        around.word("sessions"),
        element("h1", around.word("sessions")),
        _search(around, text, user),
        body,
        None if hits is not None else _paging(around, listed, user, is_first=is_first),
        place="sessions",
        live=live,
    )


def _search(around: Around, text: str, user: str | None) -> Markup:
    words = around.word("search_words")
    return element(
        "form",
        element("input", type="search", name="q", value=shown(text), placeholder=words, aria_label=words),
        element(
            "input",
            type="text",
            name="user",
            value=shown(user or ""),
            placeholder=around.word("user"),
            aria_label=around.word("user"),
            class_="narrow",
        ),
        element("button", around.word("search")),
        method="get",
        action="/",
        role="search",
        class_="search",
    )


def _row(summary: Summary, around: Around) -> Markup:
    title = short(summary.title, _MOST_TITLE) or around.word("untitled")
    return element(
        "li",
        element(
            "div",
            element("a", title, href=link("/session", id=summary.id), class_="title"),
            state_chip(state_of(summary), around),
            class_="line",
        ),
        element(
            "div",
            element("span", short(summary.id, 60), class_="id"),
            element("span", short(summary.owner, 40) or around.word("nobody")),
            element("span", around.word("messages", summary.messages)),
            moment(summary.updated),
            class_="meta",
        ),
    )


def _hit(hit: Hit, around: Around) -> Markup:
    return element(
        "li",
        element(
            "a", short(hit.text, 200), href=link("/session", id=hit.session_id, seq=hit.seq), class_="title"
        ),
        element(
            "div",
            element("span", around.word(f"role_{hit.role}")),
            element("span", short(hit.session_id, 60), class_="id"),
            element("span", short(hit.owner, 40) or around.word("nobody")),
            moment(hit.at),
            class_="meta",
        ),
    )


def _paging(around: Around, listed: Sequence[Summary], user: str | None, *, is_first: bool) -> Markup | None:
    older = None
    if len(listed) == MOST_LISTED:
        last = listed[-1]
        older = element(
            "a", f"{around.word('older')} →", href=link("/", user=user, after=last.id, at=repr(last.updated))
        )
    newest = None if is_first else element("a", f"← {around.word('newest')}", href=link("/", user=user))
    return element("p", newest, older, class_="paging") if newest or older else None
