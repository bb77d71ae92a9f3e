"""What a person decides about a call that waits: agree, decline with a reason, or change its arguments."""

from __future__ import annotations

import json

from toolhand.core.jsonable import jsonable
from toolhand.core.markup import Markup, element
from toolhand.page.forms import shown
from toolhand.page.frame import Around, form
from toolhand.page.runs import CallView
from toolhand.sessions.entries import Summary


def decision_forms(call: CallView, summary: Summary, around: Around) -> Markup | None:
    """The forms for one call."""
    pending = call.pending
    if pending is None:
        return None
    named = {"session": summary.id, "approval": pending.approval_id}
    name = pending.approval_id[:12]
    arguments = json.dumps(jsonable(dict(call.arguments)), ensure_ascii=False, indent=2)
    agree = form(
        around,
        "/decide",
        element("button", around.word("approve"), class_="good"),
        decision="approve",
        **named,
    )
    reason = around.word("reason")
    decline = form(
        around,
        "/decide",
        element("input", type="text", name="reason", placeholder=reason, aria_label=reason, maxlength=500),
        element("button", around.word("deny"), class_="bad"),
        decision="deny",
        class_="deny",
        **named,
    )
    label = around.word("arguments_json")
    edit = element(
        "details",
        element("summary", around.word("edit")),
        form(
            around,
            "/decide",
            element("label", label, for_=f"edit-{name}"),
            element(
                "textarea",
                shown(arguments),
                name="arguments",
                id=f"edit-{name}",
                rows=min(16, arguments.count("\n") + 2),
                spellcheck="false",
            ),
            element("p", around.word("masked_words"), class_="dim"),
            element("button", around.word("approve_edited"), class_="good"),
            decision="edit",
            **named,
        ),
        id=f"details-{name}",
    )
    warning = element("p", around.word("may_have_run"), class_="notice bad") if pending.may_have_run else None
    return element("div", warning, element("div", agree, decline, class_="both"), edit, class_="decide")
