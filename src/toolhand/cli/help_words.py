"""The help as typer draws it, with nothing cut, and with typer's own words in Chinese too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from rich.columns import Columns
from rich.table import Table
from rich.text import Text
from typer import rich_utils

from toolhand.cli.words import say

_TITLES: Final = {
    "ARGUMENTS_PANEL_TITLE": ("Arguments", "参数"),
    "OPTIONS_PANEL_TITLE": ("Options", "选项"),
    "COMMANDS_PANEL_TITLE": ("Commands", "命令"),
    "DEFAULT_STRING": ("[default: {}]", "[默认：{}]"),
    "REQUIRED_LONG_STRING": ("[required]", "[必填]"),
}
_USAGE: Final = "Usage: "
_HELP: Final = "Show this message and exit."


def prepare_help() -> None:
    """Has typer fold what does not fit: Chinese has few blanks, and what rich cannot break it cuts."""
    for name, words in _TITLES.items():
        setattr(rich_utils, name, say(*words))
    rich_utils.highlighter = _Highlighter()
    setattr(rich_utils, "Table", _Folding)  # noqa: B010 - typer does not give the name out
    setattr(rich_utils, "Columns", _Words)  # noqa: B010


class _Highlighter(rich_utils.OptionHighlighter):
    """Typer's own, which is handed the line that begins with its word for usage."""

    highlights: ClassVar = [*rich_utils.OptionHighlighter.highlights, "(?P<usage>^用法：)"]

    def __call__(self, text: str | Text) -> Text:
        usage = isinstance(text, str) and text.startswith(_USAGE)
        return super().__call__(say(_USAGE, "用法：") + str(text).removeprefix(_USAGE) if usage else text)


class _Folding(Table):
    """A table that cuts no word."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*cells, **options)
        for column in self.columns:
            column.overflow = "fold"


class _Words(Columns):
    """An option's words, which stand in a table of their own."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(_folding(item) for item in items)


def _folding(item: Any) -> Any:
    if isinstance(item, Text):
        if item.plain == _HELP:
            item = Text(say(_HELP, "显示本帮助并退出。"))
        item.overflow = "fold"
    return item
