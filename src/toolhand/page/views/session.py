"""A session: its runs, each with the question, the timeline and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhand.core.markup import Child, Markup, element
from toolhand.page.forms import count, moment, money, short, shown, span
from toolhand.page.frame import Around, facts, form, link, notice, page
from toolhand.page.looking import SessionView
from toolhand.page.runs import RunView
from toolhand.page.timeline import timeline
from toolhand.page.views.sessions import state_chip
from toolhand.page.words import WORDS
from toolhand.sessions.entries import Summary


def session_page(
    around: Around,
    seen: SessionView,
    *,
    now: float,
    live: str,
    can_go_on: bool,
    told: str = "",
    failed: bool = False,
) -> str:
    """A session.

    Args:
        around: the request's.
        seen: what it holds.
        now: in seconds since 1970.
        live: the address that tells of changes; "" where these are not its last runs.
        can_go_on: whether this process can go on with an interrupted run.
        told: a sentence about what was just done.
        failed: whether that went wrong.
    """
    summary = seen.summary
    older = element(
        "a", f"↑ {around.word('older_runs')}", href=link("/session", id=summary.id, before=seen.before)
    )
    newest = element("a", f"↓ {around.word('newest_runs')}", href=link("/session", id=summary.id))
    title = short(summary.title) or short(summary.id)
    return page(
        around,
        title,
        notice(told, "bad" if failed else "") if told else None,
        element("h1", title),
        session_facts(summary, around),
        element("p", older, class_="paging") if seen.before else None,
        *(run_card(run, summary, around, now, can_go_on=can_go_on) for run in seen.runs),
        None if live else element("p", newest, class_="paging"),
        place="sessions",
        live=live,
    )


def session_facts(summary: Summary, around: Around) -> Markup:
    """What is known of a session as a whole."""
    pairs: list[tuple[str, Child]] = [
        ("id", element("span", shown(summary.id), class_="id")),
        (around.word("user"), short(summary.owner, 40) or around.word("nobody")),
        (around.word("message_count"), count(summary.messages)),
        (around.word("began"), moment(summary.created)),
    ]
    return facts(pairs)


def run_card(run: RunView, summary: Summary, around: Around, now: float, *, can_go_on: bool) -> Markup:
    """A run among others."""
    path = link("/run", id=summary.id, seq=run.seq)
    return element(
        "article",
        element(
            "header",
            element("h2", element("a", shown(run.words) or around.word("untitled"), href=path)),
            state_chip(run.state, around),
        ),
        run_facts(run, around),
        timeline(run, around, now, path=path) if run.turns else None,
        answer_of(run, around),
        go_on(run, summary, around, can_go_on=can_go_on),
        class_=f"card run {run.state}",
        id=f"run-{run.seq}",
    )


def run_facts(run: RunView, around: Around) -> Markup:
    """A run in figures."""
    pairs: list[tuple[str, Child]] = [
        (around.word("began"), moment(run.began)),
        (around.word("took"), span(run.ended - run.began, around.language)),
        (around.word("turns"), count(len(run.turns))),
        (around.word("calls"), count(len(run.calls))),
    ]
    if any(run.tokens):
        sent, got = run.tokens
        pairs.append((around.word("tokens"), around.word("tokens_long", count(sent), count(got))))
    pairs += [(around.word("cost"), money(cost, currency)) for currency, cost in run.costs.items()]
    if len(models := dict.fromkeys(turn.model for turn in run.turns if turn.model)):
        pairs.append((around.word("model"), short(", ".join(models))))
    return facts(pairs)


def answer_of(run: RunView, around: Around) -> Markup | None:
    """What the model said in the end."""
    if not run.answer:
        return None
    return element(
        "div",
        element("h3", around.word("answered")),
        element("p", shown(run.answer), class_="said"),
        class_="answer",
    )


def decisions_of(run: RunView, around: Around) -> Markup | None:
    """What persons decided about its calls, and when."""
    if not run.decisions:
        return None
    return element(
        "ul", *(element("li", *_decision(*one, run, around)) for one in run.decisions), class_="decisions"
    )


def _decision(at: float, name: str, told: Mapping[str, Any], run: RunView, around: Around) -> list[Child]:
    call = next((one for one in run.calls if name in (one.id, one.approval_id)), None)
    by, reason = short(str(told.get("by", "")), 60), short(str(told.get("reason", "")), 200)
    key = f"decided_{told.get('decision')}"
    return [
        moment(at),
        " ",
        element("b", short(call.name, 60) if call is not None else short(name, 12)),
        f" {around.word(key) if key in WORDS else ''} ",
        around.word("by", by) if by else None,
        f": {reason}" if reason else None,
    ]


def go_on(run: RunView, summary: Summary, around: Around, *, can_go_on: bool) -> Markup | None:
    """For a run that was interrupted and waits for nobody: a button that goes on with it."""
    if run.state != "unfinished":
        return None
    if not can_go_on:
        return element("p", around.word("go_on_words"), " ", around.word("elsewhere"), class_="aside")
    button = element("button", around.word("go_on"))
    text = element("p", around.word("go_on_words"), class_="aside")
    return form(around, "/go-on", text, button, class_="go-on", session=summary.id)
