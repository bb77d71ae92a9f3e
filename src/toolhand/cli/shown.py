"""How the command line shows what others wrote: models, tools, users, servers. Nothing of it steers the terminal."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.markup import escape

from toolhand.core.plain import plain


def screen(*, is_err: bool = False, has_colours: bool = True) -> Console:
    """A console on which `:smile:` stays what it is: a text may hold it, and so may a session's name.

    Args:
        is_err: whether it writes to stderr.
        has_colours: whether numbers, paths and the like are coloured.
    """
    return Console(stderr=is_err, soft_wrap=True, emoji=False, highlight=has_colours)


def shown(text: str) -> str:
    """Another's text for a place among our own marks such as "[bold]"."""
    text = plain(text)
    head = text.rstrip("\\")
    if head == text:
        return escape(text)
    # Backslashes at the end would take the mark behind them away, and only a mark makes two of them one.
    return escape(head) + (len(text) - len(head)) * "\\\\" + "[none][/none]"


def tell(text: str, *, is_err: bool = False) -> None:
    """Writes a line that may hold another's text.

    Args:
        text: the line, or several.
        is_err: whether it goes to stderr.
    """
    typer.echo(plain(text), err=is_err)
