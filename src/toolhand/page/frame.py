"""What stands around every page: head, navigation, and the few shapes that pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from toolhand.core.language import Language
from toolhand.core.markup import Child, Markup, element
from toolhand.page.words import word

_PLACES: Final = (
    ("sessions", "/"),
    ("approvals", "/approvals"),
    ("drift", "/drift"),
    ("evaluations", "/evaluations"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a page has to know of the request that it answers.

    Args:
        language: of its words.
        path: of the page, with its query.
        who: the person, where they logged in; else "".
        stamp: what its forms carry, so that no other site can send them.
    """

    language: Language
    path: str = "/"
    who: str = ""
    stamp: str = ""

    def word(self, key: str, *values: object, **named: object) -> str:
        """One of the page's words."""
        return word(key, self.language, *values, **named)


def link(path: str, **query: object) -> str:
    """An address of this page's own."""
    told = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(told)}" if told else path


def page(
    around: Around,
    title: str,
    *children: Child,
    place: str = "",
    live: str = "",
    kind: str = "",
    sheets: Iterable[str] = (),
) -> str:
    """A whole page.

    Args:
        around: the request's.
        title: of the page.
        children: what it shows.
        place: which of the navigation's places it belongs to.
        live: the address that tells when it has changed; "" where it does not.
        kind: a class for its body.
        sheets: style sheets of its own.
    """
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} · Toolhand"),
        *(element("link", rel="stylesheet", href=f"/assets/{name}") for name in (*sheets, "page.css")),
        element("link", rel="icon", href="/assets/icon.svg", type="image/svg+xml"),
        element("script", src="/assets/page.js", defer=True),
    )
    body = element(
        "body",
        element("a", around.word("skip"), href="#main", class_="skip"),
        _top(around, place),
        element("main", *children, id="main", tabindex=-1, data_live=live or None),
        element("button", around.word("fresh"), type="button", class_="fresh", id="fresh", hidden=True),
        class_=kind or None,
    )
    tag = "zh-CN" if around.language == "zh" else "en"
    return f"<!doctype html>\n{element('html', head, body, lang=tag)}\n"


def _top(around: Around, place: str) -> Markup:
    links = [
        element("a", around.word(name), href=path, aria_current="page" if name == place else None)
        for name, path in _PLACES
    ]
    other: Language = "en" if around.language == "zh" else "zh"
    separator = "&" if "?" in around.path else "?"
    switch = element(
        "a",
        around.word("other_language"),
        href=f"{around.path}{separator}lang={other}",
        lang="zh-CN" if other == "zh" else "en",
        class_="switch",
    )
    leave = None
    if around.who:
        leave = form(
            around, "/logout", element("button", around.word("logout"), class_="quiet"), class_="leave"
        )
    return element(
        "header",
        element("a", element("span", "⚒", aria_hidden="true"), " Toolhand", href="/", class_="brand"),
        element("nav", *links, aria_label=around.word("pages")) if place != "login" else None,
        element(
            "div",
            element("span", around.who, class_="who") if around.who else None,
            leave,
            switch,
            class_="side",
        ),
        class_="top",
    )


def form(around: Around, action: str, *children: Child, class_: str | None = None, **hidden: str) -> Markup:
    """A form that is sent by POST and carries the page's stamp.

    Args:
        around: the request's.
        action: where it goes.
        children: its fields and buttons.
        class_: its class.
        hidden: further fields that nobody sees.
    """
    fields: Mapping[str, str] = {"stamp": around.stamp, **hidden}
    unseen = [element("input", type="hidden", name=name, value=value) for name, value in fields.items()]
    return element("form", *unseen, *children, method="post", action=action, class_=class_)


def chip(text: str, kind: str = "") -> Markup:
    """A small label."""
    return element("span", text, class_=f"chip {kind}".strip())


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Names and values on one line."""
    told = [element("div", element("dt", name), element("dd", value)) for name, value in pairs]
    return element("dl", *told, class_="facts")


def block(text: str, label: str, *, kind: str = "") -> Markup:
    """A text over several lines, as it is; long ones scroll in themselves, by keyboard too."""
    return element("pre", text, class_=kind or None, tabindex=0, role="region", aria_label=label)


def panel(title: str, *children: Child, kind: str = "") -> Markup:
    """One of several things side by side."""
    return element("section", element("h4", title), *children, class_=f"panel {kind}".strip())


def nothing(title: str, text: str) -> Markup:
    """What stands where there is nothing to show."""
    return element("div", element("h2", title), element("p", text), class_="nothing")


def notice(text: str, kind: str = "") -> Markup:
    """A sentence about what was just done."""
    return element("p", text, class_=f"notice {kind}".strip(), role="status")


def table(heads: Iterable[Child], rows: Iterable[Iterable[Markup]], label: str) -> Markup:
    """A table that scrolls in itself where it is too wide."""
    top = element("thead", element("tr", *(element("th", head, scope="col") for head in heads)))
    lines = [element("tr", *row) for row in rows]
    inner = element("table", top, element("tbody", *lines))
    return element("div", inner, class_="scroll", tabindex=0, role="region", aria_label=label)


def cell(*children: Child, kind: str | None = None) -> Markup:
    """A cell of a table."""
    return element("td", *children, class_=kind)
