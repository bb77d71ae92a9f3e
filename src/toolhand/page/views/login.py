"""Logging in, and the pages that say why there is nothing else to see."""

from __future__ import annotations

from toolhand.core.markup import element
from toolhand.page.frame import Around, form, notice, page


def login_page(around: Around, *, wanted: str, problem: str = "") -> str:
    """Asks for the token.

    Args:
        around: the request's.
        wanted: the address that is shown afterwards.
        problem: why the last try failed.
    """
    token, name = around.word("token"), around.word("your_name")
    return page(
        around,
        around.word("login"),
        element("h1", around.word("login")),
        notice(problem, "bad") if problem else None,
        element("p", around.word("login_words"), class_="dim"),
        form(
            around,
            "/login",
            element("label", name, for_="name"),
            element(
                "input",
                type="text",
                name="name",
                id="name",
                autocomplete="username",
                maxlength=60,
                required=True,
            ),
            element("label", token, for_="token"),
            element(
                "input",
                type="password",
                name="token",
                id="token",
                autocomplete="current-password",
                required=True,
            ),
            element("button", around.word("login"), class_="good"),
            class_="login",
            wanted=wanted,
        ),
        place="login",
        kind="small",
    )


def message_page(around: Around, title: str, text: str) -> str:
    """A page that only says something."""
    return page(
        around,
        title,
        element("h1", title),
        element("p", text),
        element("p", element("a", f"← {around.word('sessions')}", href="/")),
        kind="small",
    )
