"""Requests that are part of a session: the run goes by an `Agent`, its history is kept, and the page shows it."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from toolhand.agent import Agent
from toolhand.core.approvals import Decision
from toolhand.core.errors import SessionError, SettingsError, StoreError
from toolhand.core.events import RunFinished, TextDelta
from toolhand.core.language import say
from toolhand.core.messages import FinishReason, Message
from toolhand.core.tools import ToolChoice
from toolhand.gateway.admission import Caller
from toolhand.gateway.fronts import Answered
from toolhand.gateway.refusals import Refusal, invalid
from toolhand.gateway.settings import GatewaySettings
from toolhand.gateway.upstreams import Reached, told
from toolhand.gateway.wanted import Wanted
from toolhand.observability import Sink
from toolhand.options import RunOptions
from toolhand.run import Limits, Run
from toolhand.sessions.store import SessionStore, open_store
from toolhand.toolset import Toolset

MOST_AGENTS: Final = 100

_WAITS: Final = ("A person has to agree to this first: {names}.", "需要先由人同意：{names}。")


class Sessions:
    """The runs that are part of sessions.

    Args:
        settings: where sessions are kept.
        sinks: who hears of every event.
    """

    def __init__(self, settings: GatewaySettings, sinks: Sequence[Sink] = ()) -> None:
        self._settings, self._sinks = settings, tuple(sinks)
        self._store: SessionStore | None = None
        self._agents: OrderedDict[tuple[Any, ...], Agent[str]] = OrderedDict()
        self._last: OrderedDict[str, tuple[Agent[str], Caller]] = OrderedDict()

    @property
    def store(self) -> SessionStore:
        """Where sessions are kept; opened when it is first needed."""
        if self._store is None:
            self._store = open_store(self._settings.store or None)
        return self._store

    async def answer(
        self,
        wanted: Wanted,
        reached: Reached,
        tools: Toolset,
        caller: Caller,
        show: Callable[[str], None] | None,
    ) -> Answered:
        """Has a request answered as the next message of its session.

        Raises:
            Refusal: when it ends with no user's message or asks for JSON, or the session is somebody else's.
            ModelError: when the model's server fails.
        """
        text, earlier = last_message(wanted.messages)
        if wanted.shape is not None:
            raise invalid(
                "response_format",
                "a run in a session answers in words: leave it out, or the session",
                "会话中的运行以文字回答：请去掉它，或不使用会话",
                code="unsupported_parameter",
            )
        agent = self._agent(wanted, reached, tools)
        options: RunOptions = {
            "session": wanted.session,
            "user": caller.user_of(wanted.end_user),
            "tool_choice": _choice(wanted.choice),
        }
        if caller.key is not None:
            options["permissions"], options["roles"] = caller.key.permissions, caller.key.roles
        with as_refusals():
            if earlier and await self.store.find(wanted.session) is None:
                options["message_history"] = earlier
            self._remember(wanted.session, agent, caller)
            run = await _run(agent, text, options, show)
        return answered(run, agent.model.name, getattr(agent.setup.protocol, "name", ""), show)

    def knows(self, session: str) -> bool:
        """Whether a session's last run came by this gateway since it was started."""
        return session in self._last

    async def resume(self, session: str, user: str, decisions: Mapping[str, Decision]) -> object:
        """Goes on with a run that waited for a person.

        Raises:
            SettingsError: when it did not come by this gateway since it was started.
        """
        known = self._last.get(session)
        if known is None:
            raise SettingsError(
                say(
                    f"the gateway does not know how session '{session}' was run: send its next message first",
                    f"网关不知道会话“{session}”是如何运行的：请先发送下一条消息",
                )
            )
        agent, caller = known
        key = caller.key
        held = () if key is None else key.permissions
        roles = () if key is None else key.roles
        return await agent.resume(session, decisions, user=user, permissions=held, roles=roles)

    def _agent(self, wanted: Wanted, reached: Reached, tools: Toolset) -> Agent[str]:
        # The agent that is kept keeps its model, whose id is nobody else's meanwhile.
        mark = (
            id(reached.model),
            tools,
            wanted.sampling,
            wanted.stop,
            json.dumps(wanted.extra, sort_keys=True),
        )
        agent = self._agents.get(mark)
        if agent is None:
            agent = self._agents[mark] = Agent(
                told(reached.model, wanted.stop, wanted.extra),
                tools,
                limits=Limits(repairs=max(1, self._settings.rounds)),
                protocol=reached.protocol,
                sampling=wanted.sampling,
                sinks=self._sinks,
                store=self.store,
            )
            while len(self._agents) > MOST_AGENTS:
                self._agents.popitem(last=False)
        self._agents.move_to_end(mark)
        return agent

    def _remember(self, session: str, agent: Agent[str], caller: Caller) -> None:
        self._last[session] = (agent, caller)
        self._last.move_to_end(session)
        while len(self._last) > MOST_AGENTS:
            self._last.popitem(last=False)


async def _run(
    agent: Agent[str], text: str, options: RunOptions, show: Callable[[str], None] | None
) -> Run[str]:
    if show is None:
        return await agent.run(text, **options)
    run: Run[str] | None = None
    async for event in agent.stream(text, **options):
        if isinstance(event, TextDelta):
            show(event.text)
        elif isinstance(event, RunFinished):
            run = event.run
    if run is None:
        raise asyncio.CancelledError
    return run


@contextmanager
def as_refusals() -> Iterator[None]:
    """What a client is told whose session is somebody else's or in use, while the store is away, or of a wrong setting."""
    try:
        yield
    except SessionError as error:
        raise Refusal(
            403, str(error), kind="permission_error", code="session_refused", param="toolhand.session"
        ) from None
    except StoreError:
        said = say("sessions cannot be kept at the moment", "暂时无法保存会话")
        raise Refusal(503, said, kind="server_error", retry_after=5) from None
    except SettingsError as error:
        raise invalid("toolhand", str(error), str(error)) from None


def answered(
    run: Run[str], model: str, protocol: str, show: Callable[[str], None] | None, *, run_id: str = ""
) -> Answered:
    """What a client is given of a run.

    Args:
        run: the run.
        model: what made it.
        protocol: how that was asked to write calls down.
        show: takes words that were not told as they came.
        run_id: the run's name, where a worker made it.
    """
    text, notes = run.text, dict[str, Any](run=run_id) if run_id else {}
    if run.pending:
        notes["pending"] = [pending.to_json() for pending in run.pending]
        waits = say(*_WAITS).format(names=", ".join(pending.name for pending in run.pending))
        more = f"\n\n{waits}" if text else waits
        text += more
        if show is not None:
            show(more)
    finish: FinishReason = "length" if run.stopped in ("token_limit", "time_limit") else "stop"
    return Answered(
        text=text,
        finish_reason=finish,
        usage=run.usage,
        spent=run.usage,
        model=model,
        protocol=protocol,
        notes={**notes, "session": run.session_id, "stopped": run.stopped, "trace": run.trace_id},
    )


def last_message(messages: Sequence[Message]) -> tuple[str, tuple[Message, ...]]:
    """What the user says, and what was said before.

    Raises:
        Refusal: when the last message is no user's.
    """
    if messages[-1].role != "user" or not messages[-1].text.strip():
        raise invalid("messages", "a session goes on with a user's message", "会话须以用户消息继续")
    return messages[-1].text, tuple(messages[:-1])


def _choice(choice: ToolChoice) -> ToolChoice | None:
    return None if choice == ToolChoice() else choice
