"""What built-in tools need to know of the place they run in."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from toolhand.builtin._reach import PUBLIC, USUAL, Guard, HttpLimits
from toolhand.builtin._services import Service
from toolhand.builtin._smtp import MailSettings
from toolhand.parsing.programs.outcomes import Limits

__all__ = ["BuiltinSettings", "Guard", "HttpLimits", "MailSettings", "Service", "WebSettings"]


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """How the tools that read the internet reach it.

    Args:
        search: who searches: "ddgs", "tavily", "searxng", "bocha", or another package's name; an address may follow a
            colon, as in "searxng:http://localhost:8888". By default what `TOOLHAND_SEARCH` says, else "ddgs".
        guard: where pages may be fetched from.
        limits: what fetching a page may take.
        robots: whether a site's robots.txt is obeyed.
        variables: where keys and addresses of services are; the environment by default.
    """

    search: str = ""
    guard: Guard = PUBLIC
    limits: HttpLimits = USUAL
    robots: bool = True
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @property
    def searcher(self) -> str:
        """Who searches, by argument or environment."""
        return self.search or self.variables.get("TOOLHAND_SEARCH", "").strip() or "ddgs"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinSettings:
    """What the built-in tools are given. A tool whose source is not given is not offered.

    Args:
        database: a SQLite file, or the SQLAlchemy URL of a database, to read from.
        root: the folder whose files may be read.
        documents: the folder whose documents are searched.
        writes: whether there are tools that change the database and the files, too.
        now: gives the present as an aware datetime.
        web: how the internet is reached, for weather, search and pages.
        services: other people's HTTP services that may be asked.
        mail: the server that mail is sent by.
        python: how far programs may go that the model writes; None for no such tool.
    """

    database: Path | str | None = None
    root: Path | None = None
    documents: Path | None = None
    writes: bool = False
    now: Callable[[], dt.datetime] = _now
    web: WebSettings | None = None
    services: tuple[Service, ...] = ()
    mail: MailSettings | None = None
    python: Limits | None = None
