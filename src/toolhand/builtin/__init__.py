"""The real tools that come with the package, one file a kind: each file's `offer(settings)` gives its tools.

A further built-in tool is one new file here with an `offer`, or another package's entry point in `toolhand.builtin`, at its
module or at the function itself. Every tool is bounded by construction: what it may reach, and how much time, memory and text
one call can take.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from toolhand.builtin.settings import BuiltinSettings, MailSettings, Service, WebSettings
from toolhand.core import plugins
from toolhand.core.tools import Tool

__all__ = ["BuiltinSettings", "MailSettings", "Service", "WebSettings", "builtin_tools", "offered"]


def builtin_tools(
    database: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    *,
    web: bool | WebSettings = False,
    services: Sequence[Service | str] = (),
    mail: MailSettings | None = None,
    documents: str | os.PathLike[str] | None = None,
    writes: bool = False,
) -> list[Tool]:
    """The built-in tools: time and calculator always, the others with what they are to reach.

    Args:
        database: a SQLite file, a `.csv` file, or an SQLAlchemy URL (extra "sql").
        root: a folder; nothing outside of it can be reached.
        web: whether weather, search and pages of the public internet may be asked, or how.
        services: HTTP services that may be asked, or only their addresses where nothing but reading is allowed.
        mail: the server that mail is sent by, after a person has agreed.
        documents: a folder whose documents are searched (PDF with the extra "docs-search").
        writes: whether there are tools that change the database's rows and the root's files; without, both are only ever read.

    Raises:
        SettingsError: when the file is not a SQLite database, the folder is not a folder, or another setting cannot be used.
        MissingExtraError: when a tool needs a package that is not installed.
    """
    if web is True:
        web = WebSettings()
    return offered(
        BuiltinSettings(
            database=_place(database),
            root=None if root is None else Path(root),
            web=web or None,
            services=tuple(Service(url=one) if isinstance(one, str) else one for one in services),
            mail=mail,
            documents=None if documents is None else Path(documents),
            writes=writes,
        )
    )


def _place(database: str | os.PathLike[str] | None) -> Path | str | None:
    """A database's file or URL; a path takes one of the slashes of a URL away."""
    if database is None or (isinstance(database, str) and "://" in database):
        return database
    return Path(database)


def offered(settings: BuiltinSettings, only: Collection[str] = ()) -> list[Tool]:
    """The tools that every file of this folder, and every entry point, offers for these settings.

    Args:
        settings: what they are given.
        only: the files that are asked, by name; all of them by default.

    Raises:
        SettingsError: when a setting cannot be used.
        MissingExtraError: when a tool needs a package that is not installed.
    """
    tools: list[Tool] = []
    for name in only or plugins.names("builtin"):
        offer = plugins.found("builtin", name, "offer")
        if offer is not None:  # settings and sample data live here too
            tools.extend(offer(settings))
    return tools
