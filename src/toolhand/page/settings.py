"""What the page is told: what it shows, who may see it, and how a run goes on that waited."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from toolhand.core.approvals import Decision
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.sessions.store import SessionStore

SHORTEST_TOKEN: Final = 16
HERE: Final = ("localhost", "127.0.0.1", "[::1]")
"""How a browser on the same machine names a server on its own addresses."""

Resume: TypeAlias = Callable[[str, str, Mapping[str, Decision]], Awaitable[object]]
"""Goes on with a run: the session's id, its user, decisions by approval id. `Agent.resume` behind a line of your own."""


class Stopping:
    """Tells open pages, in whatever loop they are served, that their server stops."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: set[asyncio.Event] = set()

    def set(self) -> None:
        """It stops now; to be called in the server's loop."""
        self._is_set = True
        for event in self._waiting:
            event.set()

    async def within(self, seconds: float) -> bool:
        """Whether it stops in so many seconds; waited for."""
        event = asyncio.Event()
        if self._is_set:
            return True
        self._waiting.add(event)
        try:
            async with asyncio.timeout(seconds):
                return await event.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """What the page is told.

    Args:
        store: where sessions are kept.
        token: what a person logs in with; "" for nobody asks, which is only for a server on this machine's own addresses.
        hosts: the names by which it may be asked for, without a port; others are refused, so that no website can reach it by a
            name that is made to lead here. Empty for any, which needs a token.
        resume: goes on with a run that waited, with what was decided; None where no agent is at hand: decisions are written
            down then and count when the run is gone on with elsewhere.
        knows: whether `resume` can go on with a session; None for every one.
        drift_log: the file of the drift log; None for the one that `TOOLHAND_DRIFT_LOG` names.
        evaluations: the file of evaluations; None for the usual one.
        secret: what marks its forms, the same in every process that serves it.
        stopping: to be set as soon as the server stops, so that it waits for no open page; else these end within a minute.

    Raises:
        SettingsError: when the token could be guessed, or anybody could see the page.
    """

    store: SessionStore
    token: str = field(default="", repr=False)
    hosts: tuple[str, ...] = HERE
    resume: Resume | None = None
    knows: Callable[[str], bool] | None = None
    drift_log: Path | None = None
    evaluations: Path | None = None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    stopping: Stopping = field(default_factory=Stopping, repr=False)

    def __post_init__(self) -> None:
        if self.token and len(self.token) < SHORTEST_TOKEN:
            raise SettingsError(
                say(
                    f"the token has fewer than {SHORTEST_TOKEN} characters and could be guessed: make it longer",
                    f"令牌少于 {SHORTEST_TOKEN} 个字符，容易被猜中：请加长",
                )
            )
        if not self.token and not (self.hosts and set(self.hosts) <= set(HERE)):
            raise SettingsError(
                say(
                    "anybody who reaches the page could read every session: set a token, or leave hosts as it is",
                    "任何能访问网页的人都能看到所有会话：请设置令牌，或不要修改 hosts",
                )
            )
