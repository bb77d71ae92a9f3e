"""One run in a worker: begun or gone on with, and how it ends, whatever happens to it."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from toolhand.agent import Agent
from toolhand.arguments.settings import DEFAULT
from toolhand.core.approvals import Decision, decision_from_json
from toolhand.core.errors import ModelError, SessionError, SettingsError, StoreError, ToolError, ToolhandError
from toolhand.core.events import RunFinished
from toolhand.core.jsonable import jsonable
from toolhand.core.language import say
from toolhand.core.messages import Usage
from toolhand.durable.ledger import RunLedger
from toolhand.durable.rows import Claim, RunState
from toolhand.durable.telling import Telling
from toolhand.options import ResumeOptions
from toolhand.policies.redaction import redacted_text
from toolhand.run import Limits, Run
from toolhand.sessions.cache import SessionCache
from toolhand.sessions.stored import StoredSession

_LOG: Final = logging.getLogger("toolhand.worker")

_FIRST_DELAY, _LONGEST_DELAY = 1.0, 60.0


class Taken:
    """A run that a worker has taken.

    Args:
        claim: under which it was.
        until: until when the lease is surely the worker's, on the clock of `moments.moment`.
    """

    def __init__(self, claim: Claim, until: float) -> None:
        self.claim, self.assured_until = claim, until
        self.task: asyncio.Task[None] | None = None
        self.session: StoredSession | None = None
        self.drive: asyncio.Future[Run[Any]] | None = None
        self.end: RunState = "queued"
        self.is_lost = self.is_settling = False

    def keep(self, until: float) -> None:
        """Its lease was kept up."""
        self.assured_until = until
        if self.session is not None:
            self.session.assured_until = until

    def cancel(self) -> None:
        """Somebody wants it to end."""
        self._stop("cancelled")

    def hand_over(self) -> None:
        """The worker stops: another is to go on with it."""
        self._stop("queued")

    def lose(self) -> None:
        """Another worker has it by now."""
        self.is_lost = True
        self._stop("queued")

    def _stop(self, end: RunState) -> None:
        self.end = end
        if self.drive is not None and not self.is_settling:
            self.drive.cancel()


class Advancing:
    """Makes runs with agents.

    Args:
        ledger: where they stand.
        agents: by name.
        most_attempts: after so many failures of a passing kind a run has failed.
    """

    def __init__(self, ledger: RunLedger, agents: Mapping[str, Agent[Any]], *, most_attempts: int) -> None:
        self._ledger, self._agents, self._most_attempts = ledger, agents, most_attempts
        self._sessions = SessionCache(ledger.store)

    async def advance(self, taken: Taken) -> RunState | None:
        """Makes a run, or goes on with it, until it has ended, waits, or cannot go on here.

        Returns:
            how it stands now; None where another worker has it.
        """
        claim = taken.claim
        session = self._sessions.get(claim.row.session_id, claim.row.user)
        taken.session, session.grant, session.assured_until = session, claim.lease, taken.assured_until
        taken.drive = asyncio.ensure_future(self._drive(claim, session))
        try:
            await asyncio.wait([taken.drive])
        finally:
            if session.grant is claim.lease:  # it was not used
                session.grant = None
        taken.is_settling = True
        if taken.is_lost:
            return None
        try:
            return await self._settled(taken, session)
        except StoreError as error:  # the lease runs out, and another worker goes on
            _LOG.warning("how run %s ended could not be written down: %s", claim.row.id, error)
            return None

    async def _drive(self, claim: Claim, session: StoredSession) -> Run[Any]:
        """The run itself, by the agent's own ways: it does not know that a worker makes it."""
        row = claim.row
        agent = self._agents.get(row.agent) or (self._agents.get("") if not row.agent else None)
        if agent is None:
            raise _Elsewhere
        asked, options = row.asked, _options(row.asked, row.user)
        agent = _sampled(agent, asked.get("sampling"))
        if not claim.is_new:
            await session.load()
            said = session.said_since(claim.first_seq)
            if said > 1:
                raise _Overtaken
            if said:
                if not session.is_under_way:
                    return _recovered(session, claim, agent)
                return await agent.resume(session, _decisions(row.decisions), **options)
        text, choice = str(asked.get("text", "")), asked.get("tool_choice")
        if not row.streams:
            return await agent.run(text, session=session, tool_choice=choice, **options)
        telling = Telling(self._ledger, row.id)
        run: Run[Any] | None = None
        try:
            async for event in agent.stream(text, session=session, tool_choice=choice, **options):
                telling.hear(event)
                if isinstance(event, RunFinished):
                    run = event.run
        finally:
            await telling.close()
        assert run is not None  # noqa: S101 - a stream that ends without raising has had its last event
        return run

    async def _settled(self, taken: Taken, session: StoredSession) -> RunState | None:
        """Writes down how it ended."""
        claim, drive = taken.claim, taken.drive
        assert drive is not None  # noqa: S101 - for the type checker
        state, error, delay = taken.end, "", 0.0
        outcome: Mapping[str, Any] | None = None
        if not drive.cancelled():
            failure = drive.exception()
            if failure is None:
                run = drive.result()
                state, outcome = ("waiting" if run.pending else "finished"), _outcome(run)
            else:
                state, error, delay = self._failed(claim, failure)
                if state == "waiting":
                    outcome = claim.row.outcome
                elif isinstance(failure, _Overtaken):
                    outcome = {"overtaken": True}
        settled = await self._ledger.settle(
            claim,
            state,
            outcome=outcome,
            error=error,
            title=session.title,
            messages=session.count or None,
            delay=delay,
        )
        if state == "waiting":  # for hours, it may be, and another worker may go on with it
            self._sessions.forget(claim.row.session_id)
        return state if settled else None

    def _failed(self, claim: Claim, error: BaseException) -> tuple[RunState, str, float]:
        """How a run stands that raised, the reason for people, and after how many seconds it is tried again."""
        said = redacted_text(str(error)) if isinstance(error, ToolhandError) else _named(error)
        match error:
            case _Elsewhere():
                name = claim.row.agent
                _LOG.warning(
                    "run %s is for the agent '%s', which this worker does not have", claim.row.id, name
                )
                return "queued", "", 5.0
            case _Overtaken():
                return (
                    "cancelled",
                    say("its session went on without it", "它的会话已在没有它的情况下继续"),
                    0.0,
                )
            case SettingsError() if claim.row.decisions and not isinstance(error, SessionError):
                return "waiting", said, 0.0
            case StoreError() if claim.attempt < self._most_attempts:
                return "queued", said, _FIRST_DELAY
            case ModelError(retryable=True) if claim.attempt < self._most_attempts:
                delay = error.retry_after or min(_LONGEST_DELAY, _FIRST_DELAY * 2**claim.attempt)
                return "queued", said, delay
            case _:
                _LOG.error("run %s failed: %s", claim.row.id, said)
                return "failed", said, 0.0


class _Elsewhere(Exception):  # noqa: N818 - not this worker's
    """The run is for an agent that this worker does not have."""


class _Overtaken(Exception):  # noqa: N818 - an end
    """The session went on without the run."""


def _named(error: BaseException) -> str:
    return redacted_text(f"{type(error).__name__}: {error}")


def _options(asked: Mapping[str, Any], user: str) -> ResumeOptions:
    options: ResumeOptions = {"user": user}
    if asked.get("permissions"):
        options["permissions"] = asked["permissions"]
    if asked.get("roles"):
        options["roles"] = asked["roles"]
    if asked.get("facts"):
        options["facts"] = asked["facts"]
    if asked.get("limits"):
        options["limits"] = Limits(**asked["limits"])
    return options


def _sampled(agent: Agent[Any], asked: Mapping[str, Any] | None) -> Agent[Any]:
    """The agent, or one like it for a run that says itself how the model picks its words."""
    if not asked:
        return agent
    made = copy.copy(agent)
    made.setup = replace(agent.setup, sampling=replace(agent.setup.sampling, **asked))
    return made


def _decisions(told: Mapping[str, Any]) -> dict[str, Decision]:
    return {name: decision_from_json(decision) for name, decision in told.items()}


def _outcome(run: Run[Any]) -> dict[str, Any]:
    is_typed = not isinstance(run.output, str) or bool(run.said and run.said != run.output)
    found: dict[str, Any] = {
        "stopped": run.stopped,
        "said": run.text,
        "usage": asdict(run.usage),
        "trace_id": run.trace_id,
    }
    if is_typed:
        found |= {"typed": True, "output": json.loads(json.dumps(jsonable(run.output)))}
    if run.pending:
        found["pending"] = [call.to_json() for call in run.pending]
    return found


def _recovered(session: StoredSession, claim: Claim, agent: Agent[Any]) -> Run[Any]:
    """The run as its history tells it, where its worker died between its end and the word of it."""
    said = next((m.text for m in session.newest_first() if m.role == "assistant"), "")
    output: Any = said
    if (typed := agent.setup.output) is not None:
        made = typed.read(said, DEFAULT)
        output = None if isinstance(made, ToolError) else made.value
    return Run(
        output=output,
        stopped="answered" if output is not None else "output_invalid",
        messages=session.messages,
        new_messages=(),
        usage=Usage(),
        session_id=session.id,
        trace_id=f"recovered-{claim.row.id}",
        said=said,
    )
