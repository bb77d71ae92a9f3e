"""What a person decided, carried out: it is written into the session, and its run goes on where an agent is at hand.

The same way as everywhere else: `Agent.resume` with the decision under the call's approval id, or the session's own note of it.
A submitted run is told as `SubmittedRun.decide` tells it, and a worker goes on with it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolhand.core.approvals import Approve, Decision, Deny, Edit
from toolhand.core.errors import ToolhandError
from toolhand.durable import inside
from toolhand.durable.rows import RunRow
from toolhand.observability.excerpts import PLAIN
from toolhand.page.frame import Around
from toolhand.page.looking import Looking, WaitingView
from toolhand.page.settings import Resume

LOCAL: Final = "local"
"""Who decided, where nobody has to log in."""

_LOGGER: Final = logging.getLogger("toolhand.page")
_FIRST_SECONDS: Final = 1.0
"""How long a page waits for a run to say that it cannot go on."""

_MOST_FAILURES: Final = 100
_MOST_SAID: Final = 500


class NotDecided(Exception):  # noqa: N818 - what is said to the person
    """A decision that cannot be; its text says why."""


class Deciding:
    """Carries out decisions.

    Args:
        looking: into the store.
        resume: goes on with a run; None where there is no agent.
        knows: whether it can with a session; None for every one.
    """

    def __init__(
        self, looking: Looking, resume: Resume | None, knows: Callable[[str], bool] | None = None
    ) -> None:
        self._looking, self._resume, self._knows = looking, resume, knows
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._failures: OrderedDict[str, str] = OrderedDict()

    def can_go_on(self, session_id: str, submitted: RunRow | None) -> bool:
        """Whether a session's run, submitted or not, can be gone on with from here: by an agent at hand, or by workers."""
        return submitted is not None or self._is_at_hand(session_id)

    def _is_at_hand(self, session_id: str) -> bool:
        return self._resume is not None and (self._knows is None or self._knows(session_id))

    async def _submitted(self, session_id: str) -> RunRow | None:
        return await inside.submitted_in(self._looking.store, session_id)

    def failure(self, session_id: str, submitted: RunRow | None) -> str:
        """Why the last try to go on with a session failed, its submitted run or one from here; "" where it did not."""
        if submitted is not None and submitted.state in ("waiting", "failed", "dead") and submitted.error:
            return PLAIN.text(submitted.error, _MOST_SAID)
        return self._failures.get(session_id, "")

    async def decide(self, fields: Mapping[str, str], around: Around) -> str:
        """Carries a form out; gives the key of the words that are said about it.

        Args:
            fields: of the form.
            around: the request's.

        Raises:
            NotDecided: when it cannot be.
            ToolhandError: when the store or the run refuses it.
        """
        session_id, approval = fields.get("session", ""), fields.get("approval", "")
        waiting = await self._looking.waiting_in(session_id)
        found = next((one for one in waiting if one.pending.approval_id == approval), None)
        if found is None or session_id in self._tasks:
            raise NotDecided(around.word("gone"))
        decisions = {approval: _decision(fields, found, around)}
        if (row := await self._submitted(session_id)) is not None and not row.has_ended:
            if approval not in {call.approval_id for call in row.pending}:
                raise NotDecided(around.word("gone"))
            await inside.decide_in(self._looking.store, row, decisions)
            return "worker_goes_on"
        if not self._is_at_hand(session_id):
            await self._looking.archive.decide(session_id, decisions)
            return "noted"
        await self._go_on(session_id, found.summary.owner, decisions)
        return "decided"

    async def go_on(self, session_id: str, around: Around) -> str:
        """Goes on with a run that was interrupted; gives the key of the words that are said about it.

        Raises:
            NotDecided: when there is no agent for it here.
            ToolhandError: when the store or the run refuses it.
        """
        if (row := await self._submitted(session_id)) is not None:
            await inside.go_on_in(self._looking.store, row)
            return "worker_goes_on"
        if not self._is_at_hand(session_id):
            raise NotDecided(around.word("elsewhere"))
        summary = await self._looking.archive.summary(session_id)
        if session_id not in self._tasks:
            await self._go_on(session_id, summary.owner, {})
        return "going_on"

    async def _go_on(self, session_id: str, user: str, decisions: Mapping[str, Decision]) -> None:
        """Starts it, and waits a moment for what can be said against it."""
        if self._resume is None:
            return
        self._failures.pop(session_id, None)
        task = self._tasks[session_id] = asyncio.ensure_future(
            _awaited(self._resume, session_id, user, decisions)
        )
        task.add_done_callback(lambda done: self._ended(session_id, done))
        await asyncio.wait({task}, timeout=_FIRST_SECONDS)
        if task.done() and (error := task.exception()) is not None:
            raise error

    def _ended(self, session_id: str, task: asyncio.Task[object]) -> None:
        self._tasks.pop(session_id, None)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        said = (
            PLAIN.exception(error, _MOST_SAID) if isinstance(error, ToolhandError) else type(error).__name__
        )
        self._failures[session_id] = said
        if len(self._failures) > _MOST_FAILURES:
            self._failures.popitem(last=False)
        _LOGGER.warning("a run could not go on: %s", said)


async def _awaited(resume: Resume, session_id: str, user: str, decisions: Mapping[str, Decision]) -> object:
    return await resume(session_id, user, decisions)


def _decision(fields: Mapping[str, str], found: WaitingView, around: Around) -> Decision:
    by = around.who or LOCAL
    match fields.get("decision"):
        case "approve":
            return Approve(by=by)
        case "deny":
            return Deny(fields.get("reason", "").strip()[:_MOST_SAID], by=by)
        case "edit":
            edited = _arguments(fields.get("arguments", ""), around)
            return Edit(unmasked(edited, dict(found.call.arguments), dict(found.pending.arguments)), by=by)
        case _:
            raise NotDecided(around.word("refused"))


def _arguments(text: str, around: Around) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotDecided(around.word("not_json_at", error.lineno, error.colno)) from None
    except (ValueError, RecursionError) as error:
        raise NotDecided(around.word("not_json", error)) from None
    if not isinstance(value, dict):
        raise NotDecided(around.word("not_json", type(value).__name__))
    return value


def unmasked(edited: Any, shown: Any, real: Any) -> Any:
    """What a person made of arguments that were shown to them masked: where they changed nothing, the real value counts.

    Args:
        edited: what came back.
        shown: what they saw.
        real: what was behind it.
    """
    if edited == shown:
        return real
    if isinstance(edited, dict) and isinstance(shown, dict) and isinstance(real, dict):
        return {
            name: unmasked(value, shown[name], real[name]) if name in shown and name in real else value
            for name, value in edited.items()
        }
    if (
        isinstance(edited, list)
        and isinstance(shown, list)
        and isinstance(real, list)
        and len(shown) == len(real)
    ):
        return [
            unmasked(value, shown[place], real[place]) if place < len(real) else value
            for place, value in enumerate(edited)
        ]
    return edited
