"""A run whole: its timeline, and of each turn and call all that is known, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolhand.core.errors import ErrorCode
from toolhand.core.jsonable import jsonable
from toolhand.core.markup import Child, Markup, element
from toolhand.page.forms import count, money, short, shown, span, value_text
from toolhand.page.frame import Around, block, chip, link, notice, page, panel
from toolhand.page.kinds import code_word, fix_word
from toolhand.page.runs import CallView, RunView, TurnView
from toolhand.page.timeline import anchor, call_kind, lost_chip, timeline
from toolhand.page.views.deciding import decision_forms
from toolhand.page.views.session import answer_of, decisions_of, go_on, run_facts
from toolhand.page.views.sessions import state_chip
from toolhand.sessions.entries import Summary


def run_page(
    around: Around,
    summary: Summary,
    run: RunView,
    *,
    now: float,
    live: str,
    can_go_on: bool,
    told: str = "",
    failed: bool = False,
) -> str:
    """A run.

    Args:
        around: the request's.
        summary: its session.
        run: the run.
        now: in seconds since 1970.
        live: the address that tells of changes.
        can_go_on: whether this process can go on with it.
        told: a sentence about what was just done.
        failed: whether that went wrong.
    """
    back = element("a", f"← {short(summary.title or summary.id, 60)}", href=link("/session", id=summary.id))
    notes = [
        element("p", element("b", around.word("told_model")), " ", shown(note), class_="aside")
        for note in run.notes
    ]
    return page(
        around,
        short(run.words, 80) or around.word("run"),
        notice(told, "bad" if failed else "") if told else None,
        element("p", back, class_="paging"),
        element("header", element("h1", shown(run.words)), state_chip(run.state, around), class_="head"),
        run_facts(run, around),
        timeline(run, around, now) if run.turns else None,
        decisions_of(run, around),
        answer_of(run, around),
        go_on(run, summary, around, can_go_on=can_go_on),
        *(_turn(turn, summary, around) for turn in run.turns),
        *notes,
        place="sessions",
        live=live,
    )


def _turn(turn: TurnView, summary: Summary, around: Around) -> Markup:
    facts = [shown(turn.model), shown(turn.protocol), span(turn.ended - turn.began, around.language)]
    if turn.used:
        facts.append(around.word("tokens_long", count(turn.used[0]), count(turn.used[1])))
        if len(turn.used) > 2 and turn.used[2]:
            facts.append(around.word("cached", count(turn.used[2])))
    if turn.cost is not None:
        facts.append(money(turn.cost, turn.currency))
    if turn.ending:
        facts.append(code_word(turn.ending, around.language))
    notes = [
        element("p", element("b", around.word("told_model")), " ", shown(note), class_="aside")
        for note in turn.notes
    ]
    told = [element("li", _told(one, around)) for one in turn.told]
    return element(
        "section",
        *notes,
        element(
            "h2",
            around.word("turn_number", turn.number),
            element("span", " · ".join(filter(None, facts)), class_="dim"),
        ),
        element("ul", *told, class_="told") if told else None,
        element("p", shown(turn.text), class_="said") if turn.text else None,
        *(call_card(call, summary, around) for call in turn.calls),
        class_="turn",
        id=f"turn-{turn.number}",
    )


def _told(one: Mapping[str, Any], around: Around) -> str:
    gaps = {name: short(str(one.get(name, "")), 80) for name in ("wait", "from", "to")}
    gaps["why"] = short(code_word(str(one.get("why", "")), around.language), 80)
    key = f"told_{one.get('what')}"
    try:
        return around.word(key, **gaps)
    except KeyError:  # of a newer program
        return short(" ".join(f"{name}: {value}" for name, value in one.items()))


def call_card(call: CallView, summary: Summary, around: Around) -> Markup:
    """All that is known of a call, side by side."""
    return element(
        "article",
        element("header", element("h3", shown(call.name)), *_chips(call, around)),
        element("ul", *(element("li", _told(one, around)) for one in call.tried), class_="told")
        if call.tried
        else None,
        element(
            "div",
            _wrote(call, around),
            _understood(call, around),
            _mended(call, around),
            _result(call, around),
            class_="panels",
        ),
        decision_forms(call, summary, around) if call.pending is not None and not summary.in_use else None,
        class_=f"card call {call_kind(call)}",
        id=anchor(call),
        tabindex=-1,
    )


def _chips(call: CallView, around: Around) -> list[Markup]:
    record, found = call.record, list[Markup]()
    if record is not None and record.effect:
        found.append(chip(around.word(f"effect_{record.effect}"), "effect"))
    for one in call.records:
        kind = {"allowed": "", "approved": "good", "edited": "good", "pending": "waiting"}.get(
            one.decision, "bad"
        )
        if one.decision == "pending" and call.pending is None:
            continue  # it was decided since, or waits no more
        by = f" {around.word('by', short(one.decided_by, 40))}" if one.decided_by else ""
        found.append(chip(f"{around.word(f'decision_{one.decision}')}{by}", kind))
    if _was_overtaken(call):
        found.append(chip(around.word("decision_overtaken"), "bad"))
    if call.error is not None:
        found.append(chip(code_word(str(call.error.code), around.language), "bad"))
    elif call.result is not None:
        found.append(chip(around.word("outcome_ok"), "good"))
    if record is not None and record.attempts > 1:
        found.append(chip(around.word("attempts", record.attempts), "warn"))
    if call.was_lost:
        found.append(lost_chip(call, around))
    if record is not None and record.fallback:
        found.append(chip(around.word("fallback", short(record.fallback, 60)), "warn"))
    if record is not None and record.exception:
        found.append(chip(around.word("exception", short(record.exception, 60)), "bad"))
    if call.carrier:
        found.append(chip(around.word("step_of", short(call.carrier, 60))))
    if call.ended:
        found.append(chip(span(call.ended - call.began, around.language)))
    found.append(element("span", shown(call.id), class_="id"))
    return found


def _was_overtaken(call: CallView) -> bool:
    """Whether a call waited when its user said something else, and nothing more was written of it than its end."""
    is_left = call.record is not None and call.record.decision == "pending" and call.pending is None
    return is_left and call.error is not None and call.error.code is ErrorCode.CANCELLED


def _wrote(call: CallView, around: Around) -> Markup:
    record = next((one for one in call.records if one.raw or one.sent is not None), None)
    parts: list[Child] = []
    if record is not None and record.raw:
        parts.append(block(shown(record.raw), around.word("wrote")))
    if record is not None and record.sent is not None:
        parts += [element("h5", around.word("sent")), block(_sent(record.sent), around.word("sent"))]
    return panel(around.word("wrote"), *(parts or [element("p", around.word("not_kept"), class_="dim")]))


def _sent(sent: Any) -> str:
    """Structured calls as they came: the name, and the arguments' own text."""
    told = []
    for one in sent if isinstance(sent, list) else [sent]:
        if not isinstance(one, dict):
            return value_text(sent)
        told.append(f"{shown(str(one.get('name', '')))}\n{value_text(one.get('arguments'))}")
    return "\n\n".join(told)


def _understood(call: CallView, around: Around) -> Markup:
    record = call.record
    parts: list[Child] = [arguments_of(call.arguments, around)]
    if record is not None and record.edited is not None:
        parts += [element("h5", around.word("edited")), arguments_of(record.edited, around)]
    if not call.fixes:
        parts.append(element("p", around.word("nothing_mended"), class_="dim"))
    return panel(around.word("understood"), *parts)


def arguments_of(arguments: Mapping[str, Any], around: Around) -> Markup:
    """Arguments as JSON."""
    if not arguments:
        return element("p", around.word("no_arguments"), class_="dim")
    return block(value_text(dict(arguments)), around.word("arguments"))


def _mended(call: CallView, around: Around) -> Markup | None:
    if not call.fixes:
        return None
    return panel(
        around.word("mended"), element("ul", *(_fix(fix, around) for fix in call.fixes), class_="fixes")
    )


def _fix(fix: Mapping[str, Any], around: Around) -> Markup:
    before, after, path = fix.get("before"), fix.get("after"), str(fix.get("path", "$"))
    told: list[Child] = [element("b", short(fix_word(str(fix.get("kind", "")), around.language), 60))]
    if path != "$":
        told += [" ", element("code", short(path, 60), class_="dim")]
    if before is not None or after is not None:
        shorts = [short(json.dumps(jsonable(value), ensure_ascii=False), 200) for value in (before, after)]
        change = element(
            "div",
            element("code", shorts[0], class_="before"),
            " → ",
            element("code", shorts[1], class_="after"),
        )
        told.append(change)
    return element("li", *told)


def _result(call: CallView, around: Around) -> Markup:
    title = around.word("result")
    if call.pending is not None or (call.result is None and call.problem is None):
        return panel(title, element("p", around.word("no_result"), class_="dim"))
    error = call.error
    if error is not None:
        hint = element("p", element("b", around.word("hint")), " ", shown(error.hint)) if error.hint else None
        return panel(title, block(shown(error.message), title, kind="bad"), hint, kind="error")
    result = call.result
    data = None if result is None else result.data
    marks = (
        element("p", chip(around.word("untrusted"), "warn"))
        if result is not None and result.untrusted
        else None
    )
    remark = None
    if result is not None and result.remark:
        remark = element("p", element("b", around.word("remark")), " ", shown(result.remark), class_="aside")
    return panel(title, marks, block(value_text(data), title), remark)
