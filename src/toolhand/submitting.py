"""What an agent offers where its runs are made by workers on other machines; what does it is in `toolhand.durable`.

It is loaded when the first run is submitted: an agent that answers by itself pays nothing for it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from importlib import import_module
from typing import Any, Generic, Protocol, TypedDict, Unpack

from toolhand.core.approvals import Decision
from toolhand.core.events import Event
from toolhand.run import Limits, Output, Run


class SubmitOptions(TypedDict, total=False):
    """What a submitted run may be given. All of it is written down, as a worker has to know it.

    Args:
        session: a session's name; a fresh one by default.
        user: who asks. A session belongs to the user who began it, and is refused to all others.
        permissions: what the user holds, such as "orders:write".
        roles: what the user is, for access rules.
        limits: instead of the agent's.
        tool_choice: "auto", "required", "none", a tool's name, or a list of allowed names.
        facts: values for `Injected` parameters, such as JSON can hold.
        agent: the name by which workers know the agent, where they have several.
        queue: where it waits; the agent's name by default.
        priority: the higher goes first, among sessions. Within a session the order is that of submitting.
        at: not before this moment; without a time zone it is local time.
        streams: whether the answer's words are told as they come.
        run_id: its name, so that submitting twice is once; a fresh one by default.
    """

    session: str | None
    user: str
    permissions: Collection[str]
    roles: Collection[str]
    limits: Limits | None
    tool_choice: str | Sequence[str] | None
    facts: Mapping[str, Any]
    agent: str
    queue: str
    priority: int
    at: dt.datetime | None
    streams: bool
    run_id: str


class Submitted(Protocol[Output]):
    """A submitted run: `toolhand.durable.SubmittedRun`."""

    id: str

    async def wait(self, seconds: float | None = None) -> Run[Output]:
        """The run, once it has an answer or waits for a person."""
        ...

    def events(self) -> AsyncIterator[Event]:
        """What happens in it, from its beginning."""
        ...

    async def cancel(self) -> bool:
        """Ends it; False where it had ended already."""
        ...

    async def decide(self, decisions: Mapping[str, Decision]) -> None:
        """Tells it what a person decided about the calls that wait."""
        ...

    async def retry(self) -> None:
        """Has it tried again where it failed, was cancelled or was given up."""
        ...


class Submits(Generic[Output]):
    """What of an agent has its runs made elsewhere."""

    async def submit(self, text: str, **options: Unpack[SubmitOptions]) -> Submitted[Output]:
        """Has a worker answer one message (`toolhand worker`); needs a store in PostgreSQL.

        The run is kept when this returns, and is made once whatever happens to workers: runs of a session come one after the
        other, in the order in which they were submitted.

        Args:
            text: what the user says.
            options: see `SubmitOptions`.

        Raises:
            SettingsError: when the store is no PostgreSQL, or an option cannot be written down.
            SessionError: when the session is another user's.
            StoreError: when the store cannot be used.
        """
        submitted: Submitted[Output] = await _durable().submit(self, text, options)
        return submitted

    def submitted(self, run_id: str) -> Submitted[Output]:
        """A run that was submitted before, in whatever process.

        Args:
            run_id: its name.

        Raises:
            SettingsError: when the store is no PostgreSQL.
        """
        found: Submitted[Output] = _durable().submitted(self, run_id)
        return found


def _durable() -> Any:
    return import_module("toolhand.durable.submitting")
