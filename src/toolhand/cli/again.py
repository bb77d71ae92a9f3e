"""The command that goes on with a conversation, whole: whoever copies it gets the same user, store, model and tools."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Final

_PASSWORD: Final = re.compile(r"(://[^/@:\s]*):[^/@\s]*@")


def words_given(options: Mapping[str, object]) -> tuple[str, ...]:
    """The options that were given, as they are typed.

    Args:
        options: each option's name with its value: None, "" or nothing in a list for one that was not given. A password in a URL
            is left out: the driver then takes it from where it looks for one.
    """
    found: list[str] = []
    for name, value in options.items():
        values: Iterable[object] = value if isinstance(value, list | tuple) else [value]
        for each in values:
            if each is not None and each != "":
                found += [name, _PASSWORD.sub(r"\1@", str(each))]
    return tuple(found)


def chat_again(session: str, *, user: str, given: Iterable[str]) -> str:
    """`toolhand chat …` for the shell.

    Args:
        session: the conversation.
        user: whose it is.
        given: further words of the command.
    """
    return shlex.join(
        ("toolhand", "chat", *words_given({"--session": session, "--user": user}), *given),
    )
