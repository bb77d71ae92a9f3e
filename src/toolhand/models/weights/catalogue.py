"""The catalogue of embedded models: what there is, and under which names. The facts are in `models/catalogue.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from toolhand.core.errors import SettingsError
from toolhand.core.language import say


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One model.

    Args:
        name: what it is called.
        file: its file's name, in the cache and on the hubs.
        sources: where it can be had, in the order in which they are tried; each a mapping with its `kind`.
        aliases: other names, as users write them.
        about: one line on it, in English.
        about_zh: the same in Chinese.
        license: the weights' licence.
        size_bytes: of the file, or None where only the hub knows it.
        sha256: of the file in hexadecimal, or None where only the hub knows it.
    """

    name: str
    file: str
    sources: tuple[Mapping[str, Any], ...]
    aliases: tuple[str, ...] = ()
    about: str = ""
    about_zh: str = ""
    license: str = ""
    size_bytes: int | None = None
    sha256: str | None = None


def entries_in(text: str) -> tuple[Entry, ...]:
    """The entries of a catalogue file's text (TOML)."""
    return tuple(
        Entry(
            sources=tuple(row.pop("source", ())),
            aliases=tuple(row.pop("aliases", ())),
            **row,
        )
        for row in tomllib.loads(text)["entry"]
    )


@cache
def catalogue() -> tuple[Entry, ...]:
    """All entries, the default one first."""
    return entries_in(files("toolhand.models").joinpath("catalogue.toml").read_text("utf-8"))


def find(name: str) -> Entry:
    """The entry of a name or an alias, with or without "local:" before it.

    Raises:
        SettingsError: when there is none; the message lists what there is.
    """
    wanted = name.strip().casefold()
    for entry in catalogue():
        names = {entry.name, *entry.aliases}
        if wanted in names or f"local:{wanted}" in names or wanted.removeprefix("local:") in names:
            return entry
    known = ", ".join(entry.name for entry in catalogue())
    raise SettingsError(
        say(f"there is no embedded model '{name}'; there is: {known}", f"没有内置模型“{name}”；可用：{known}")
    )
