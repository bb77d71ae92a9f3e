"""Closes this process in and lets a program take it over: Monty's interpreter, which has no walls of the system itself."""

from __future__ import annotations

import os

from toolhand.jails import landlock, namespaces
from toolhand.jails.kernel import Room


def main(jail: str, place: str, *words: str) -> None:
    """Goes inside and runs the room's program; nothing but its standard input and output is open.

    Args:
        jail: which one.
        place: an empty folder for what the jail puts up.
        words: the room's six, then the program's arguments.
    """
    os.dup2(os.open("/dev/null", os.O_WRONLY), 2)  # the host's own is none of its business
    os.closerange(3, 4096)
    walls = Room.of(words[:6])
    if jail == "namespaces":
        namespaces.enter(walls, place)
    else:
        landlock.enter(walls)
    os.execve(walls.program, [walls.program, *words[6:]], {})  # noqa: S606 - no shell is wanted
