"""HTML that is escaped by construction: text becomes markup only through `element`, which escapes it."""

from __future__ import annotations

from html import escape
from typing import Final, TypeAlias

_VOID_HTML: Final = frozenset({"meta", "link", "input", "br"})
_VOID: Final = _VOID_HTML | {"line", "rect", "circle", "path"}


class Markup(str):
    """Text that is markup already. Only `element` and `raw` make it."""

    __slots__ = ()


Child: TypeAlias = "str | Markup | None"


def element(tag: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """One element.

    Args:
        tag: its name; the program's own, never data.
        children: texts, which are escaped, and elements.
        attributes: their values are escaped; an underscore at the end of a name is dropped, others become hyphens; None and
            False leave an attribute out, True gives it without a value.
    """
    named = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Markup(f"<{tag}{named}>") if tag in _VOID_HTML else Markup(f"<{tag}{named}/>")
    return Markup(f"<{tag}{named}>{joined(*children)}</{tag}>")


def joined(*children: Child) -> Markup:
    """Several children after one another."""
    return Markup("".join(_child(child) for child in children if child is not None))


def raw(text: str) -> Markup:
    """The program's own text as markup, such as a style sheet. Never data."""
    return Markup(text)


def _child(child: str) -> str:
    return child if isinstance(child, Markup) else escape(_encodable(child), quote=False)


def _attribute(name: str, value: str | float | bool | None) -> str:
    spelt = name.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {spelt}"
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return f' {spelt}="{escape(_encodable(shown))}"'


def _encodable(text: str) -> str:
    """Without lone surrogates, which cannot be written, and without control characters that no page may hold."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c in "\t\n\r" or (c >= " " and c != "\x7f") else "\ufffd" for c in text)
