"""Masks passwords that stand in the options of well-known commands: `curl -u ann:…`, `mysql -p…`, `sshpass -p …`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolhand.core.lazily import lazy_pattern
from toolhand.policies.redaction.masks import SECRET

_USER: Final = lazy_pattern(
    r"(?<=\s)(?:-[A-Za-z]{0,5}[uU]|--user|--proxy-user|-a|--auth)(?:\s{1,3}|=)?(?P<quote>[\"']?)"
    r"[^\s:\"'\[]{0,128}:(?P<secret>(?:(?<=\":)|(?<=':))?[^\s\"'\[]{1,256})"
)
_GLUED: Final = lazy_pattern(r"(?<=\s)-p[\"']?(?P<secret>[^\s\"'\[]{1,256})")
_NEXT: Final = lazy_pattern(
    r"(?<=\s)(?:-p|--password|-a|-w)(?:\s{0,3}|=)[\"']?(?P<secret>[^\s\"'\[\-][^\s\"']{0,255})"
)

_OPTIONS: Final[Mapping[str, re.Pattern[str]]] = {
    "curl": _USER, "http": _USER, "https": _USER, "mysql": _GLUED, "mysqldump": _GLUED, "mysqladmin": _GLUED, "mariadb": _GLUED,
    "sshpass": _NEXT, "redis-cli": _NEXT, "docker login": _NEXT, "podman login": _NEXT, "ldapsearch": _NEXT,
}  # fmt: skip
"""Commands by name, and what of theirs holds a password."""

_COMMAND: Final = lazy_pattern(
    rf"(?<![\w.\-/])(?:/[\w./]{{1,80}}/)?({'|'.join(sorted(_OPTIONS, key=len, reverse=True))})(?=\s)"
)
_LINE: Final = lazy_pattern(r"(?:[^\n|\\]|\\[\s\S]){0,4096}")
"""The rest of a command: to the end of its line, and on where that ends in a backslash."""


def runs_a_command(text: str) -> bool:
    """Whether a text has the name of such a command in it."""
    return any(name in text for name in _OPTIONS)


def without_command_secrets(text: str, label: str = "") -> str:
    """The text with passwords masked that stand in the options of commands; users, hosts and the rest stay."""
    del label
    if " -" not in text or not runs_a_command(text):
        return text
    pieces: list[str] = []
    kept = 0
    commands = list(_COMMAND.finditer(text))
    if not commands:
        return text
    begins = [command.start() for command in commands[1:]]
    for command, following in zip(commands, (*begins, len(text)), strict=True):
        rest = _LINE.match(text, command.end(), following)
        end = command.end() if rest is None else rest.end()
        for option in _OPTIONS[command[1]].finditer(text, command.end(), end):
            start, stop = option.span("secret")
            if not text.startswith(("$", "<", "{"), start):  # a variable or a placeholder
                pieces += (text[kept:start], SECRET)
                kept = stop
    return "".join((*pieces, text[kept:])) if pieces else text
