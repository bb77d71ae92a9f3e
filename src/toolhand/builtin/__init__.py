"""The real tools that come with the package, one file a kind: each file's `offer(settings)` gives its tools.

A further built-in tool is one new file here with an `offer`, or another package's entry point in `toolhand.builtin`. Every
tool is bounded by construction: what it may reach, and how much time, memory and text one call can take.
"""

from __future__ import annotations

import os
from pathlib import Path

from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.plugins import load, names
from toolhand.core.tools import Tool

__all__ = ["BuiltinSettings", "builtin_tools", "offered"]


def builtin_tools(
    database: str | os.PathLike[str] | None = None, root: str | os.PathLike[str] | None = None
) -> list[Tool]:
    """The built-in tools: time and calculator always, SQL with a database, files with a root folder.

    Args:
        database: a SQLite file; it is only ever read.
        root: a folder; nothing outside of it can be reached.

    Raises:
        SettingsError: when the file is not a SQLite database or the folder is not a folder.
    """
    return offered(
        BuiltinSettings(
            database=None if database is None else Path(database),
            root=None if root is None else Path(root),
        )
    )


def offered(settings: BuiltinSettings) -> list[Tool]:
    """The tools that every file of this folder, and every entry point, offers for these settings.

    Raises:
        SettingsError: when a setting cannot be used.
    """
    tools: list[Tool] = []
    for name in names("builtin"):
        offer = getattr(load("builtin", name), "offer", None)
        if offer is not None:  # settings and sample data live here too
            tools.extend(offer(settings))
    return tools
