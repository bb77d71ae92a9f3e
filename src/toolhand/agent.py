"""`Agent`: a model with tools, for one run or for many users' conversations. The loop itself is in `conversation.py`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any, TypedDict, Unpack, cast

from toolhand.conversation import Conversation
from toolhand.core import plugins
from toolhand.core.approvals import Decision
from toolhand.core.errors import SettingsError
from toolhand.core.events import Event
from toolhand.core.language import Language
from toolhand.core.messages import Sampling
from toolhand.core.tools import ToolChoice
from toolhand.execution.running import run_blocking
from toolhand.models import Model
from toolhand.models.resolve import resolve
from toolhand.observability import Sink
from toolhand.options import check_values, refuse_misspelt, refuse_unknown
from toolhand.policies import Policy
from toolhand.protocols import ModelProtocol
from toolhand.run import Limits, Run
from toolhand.sessions.session import MemoryStore, Session
from toolhand.sessions.trimming import History
from toolhand.setup import Asked, Setup
from toolhand.toolset import Toolset


class ResumeOptions(TypedDict, total=False):
    """What any run may be given.

    Args:
        user: who asks; sessions of different users never meet.
        permissions: what the user holds, such as "orders:write".
        roles: what the user is, for access rules.
        limits: instead of the agent's.
        facts: values for `Injected` parameters.
        on_event: called with every event.
    """

    user: str
    permissions: Collection[str]
    roles: Collection[str]
    limits: Limits | None
    facts: Mapping[str, Any]
    on_event: Callable[[Event], None] | None


class RunOptions(ResumeOptions, total=False):
    """What a run with a new message may be given, beside `ResumeOptions`.

    Args:
        session: a name or a `Session`; a fresh one by default.
        tool_choice: instead of the agent's.
    """

    session: str | Session | None
    tool_choice: str | Sequence[str] | ToolChoice | None


class Agent:
    """A model with tools. It keeps no conversation itself: histories live in sessions, so it may serve many users at once.

    Args:
        model: "local", "openai:gpt-…", "ollama:…", "http://…/v1#model", or a `Model`.
        tools: functions, `Tool`s, `Toolset`s, OpenAI schemas, or a list of these.
        instructions: what the model is told before everything else; by default one sentence that says to use the tools.
        protocol: how calls are written down; "auto" takes what suits the model.
        tool_choice: "auto", "required", "none", a tool's name, or a list of allowed names.
        limits: how far a run may go.
        language: "en" or "zh" for the words to the model; the language of the user's message by default.
        sampling: temperature and the like; None leaves the model's defaults.
        policies: the layers around each call instead of `default_policies()`.
        sinks: who hears of every event beside the log: metrics, audit, traces.
        history: how much of a conversation the model is shown; by default what there is room for.
        options: further options for the model's adapter, such as `base_url` and `api_key`.

    Raises:
        SettingsError: when the model or the protocol is unknown.
        ToolDefinitionError: when a function cannot be described.
    """

    def __init__(
        self,
        model: str | Model,
        tools: Any = (),
        *,
        instructions: str | None = None,
        protocol: str | ModelProtocol = "auto",
        tool_choice: str | Sequence[str] | ToolChoice = "auto",
        limits: Limits | None = None,
        language: Language | None = None,
        sampling: Sampling | None = None,
        policies: Sequence[Policy] | None = None,
        sinks: Sequence[Sink] = (),
        history: History | None = None,
        **options: Any,
    ) -> None:
        refuse_misspelt("Agent", options, Agent.__init__.__annotations__)
        check_values(
            "Agent",
            tool_choice=tool_choice,
            limits=limits,
            language=language,
            sampling=sampling,
            protocol=protocol,
            policies=policies,
            sinks=sinks,
            history=history,
        )
        is_ready = isinstance(tools, Toolset) and policies is None
        self.tools: Toolset = tools if is_ready else Toolset(tools, policies=policies)
        _ = (
            self.tools.dispatch
        )  # a tool that cannot be run as it asks is named now, and not at its first call
        self.model = resolve(model, **options)
        self.tool_choice = _choice(tool_choice, self.tools)
        self.limits = limits or Limits()
        self.setup = Setup(
            model=self.model,
            tools=self.tools,
            protocol=_protocol(protocol, self.model),
            instructions=instructions,
            language=language,
            sampling=sampling or Sampling(),
            sinks=tuple(sinks),
            history=history or History(),
        )
        self._store = MemoryStore()

    def session(self, id: str, *, user: str = "") -> Session:  # noqa: A002 - the field's word
        """The session that runs with this name use."""
        return self._store.open(id, user=user)

    async def run(self, text: str, **options: Unpack[RunOptions]) -> Run:
        """Answers one message.

        Args:
            text: what the user says.
            options: see `RunOptions`.

        Raises:
            ModelError: when the model's server fails.
        """
        return await Conversation(self.setup, self._asked(text, options)).drive()

    def run_sync(self, text: str, **options: Unpack[RunOptions]) -> Run:
        """`run` for code that is not async."""
        return run_blocking(self.run(text, **options))

    async def resume(
        self,
        session: str | Session,
        decisions: Mapping[str, Decision] | None = None,
        **options: Unpack[ResumeOptions],
    ) -> Run:
        """Goes on with a session whose run stopped with "approval", once a person has decided.

        Args:
            session: its name or the `Session` itself.
            decisions: `Approve()`, `Deny(reason)` or `Edit(arguments)` by `PendingCall.approval_id` or call id. A call
                without a decision stops the run again.
            options: see `ResumeOptions`; give the same user.

        Raises:
            SettingsError: when no call of the session waits.
            ModelError: when the model's server fails.
        """
        asked = self._asked(None, cast("RunOptions", {**options, "session": session}), decisions)
        return await Conversation(self.setup, asked).drive()

    def resume_sync(
        self,
        session: str | Session,
        decisions: Mapping[str, Decision] | None = None,
        **options: Unpack[ResumeOptions],
    ) -> Run:
        """`resume` for code that is not async."""
        return run_blocking(self.resume(session, decisions, **options))

    async def stream(self, text: str, **options: Unpack[RunOptions]) -> AsyncIterator[Event]:
        """The same run as `run`, as events while they happen; the last is `RunFinished`.

        Args:
            text: what the user says.
            options: see `RunOptions`.

        Raises:
            ModelError: when the model's server fails.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        listen = options.get("on_event")

        def emit(event: Event) -> None:
            events.put_nowait(event)
            if listen is not None:
                listen(event)

        options["on_event"] = emit
        asked = self._asked(text, options, streams=True)
        task = asyncio.ensure_future(Conversation(self.setup, asked).drive())
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    async def close(self) -> None:
        """Gives back the model's connections and memory."""
        await self.model.close()

    def _asked(
        self,
        text: str | None,
        options: RunOptions,
        decisions: Mapping[str, Decision] | None = None,
        *,
        streams: bool = False,
    ) -> Asked:
        refuse_unknown("a run", options, RunOptions.__optional_keys__)
        check_values("a run", **({} if text is None else {"text": text}), **options)
        session, user, choice = options.get("session"), options.get("user", ""), options.get("tool_choice")
        if isinstance(session, Session) and user and session.user and session.user != user:
            raise SettingsError(f"the session '{session.id}' belongs to another user than '{user}'")
        return Asked(
            text=text,
            session=self.session(session, user=user)
            if isinstance(session, str)
            else session or Session(user=user),
            choice=self.tool_choice if choice is None else _choice(choice, self.tools),
            limits=options.get("limits") or self.limits,
            user=user,
            permissions=frozenset(options.get("permissions", ())),
            roles=frozenset(options.get("roles", ())),
            facts=options.get("facts", {}),
            decisions=decisions or {},
            streams=streams,
            on_event=options.get("on_event"),
        )


def _protocol(protocol: str | ModelProtocol, model: Model) -> ModelProtocol:
    if not isinstance(protocol, str):
        return protocol
    name = getattr(model, "protocol", "native") if protocol == "auto" else protocol
    found: ModelProtocol | None = plugins.found("protocols", name, "PROTOCOL")
    if found is None:
        there = ", ".join(("auto", *plugins.members("protocols", "PROTOCOL")))
        raise SettingsError(f"there is no protocol '{protocol}'; there is: {there}")
    return found


def _choice(choice: str | Sequence[str] | ToolChoice, tools: Toolset) -> ToolChoice:
    made = ToolChoice.of(choice if isinstance(choice, str | ToolChoice) else tuple(choice))
    for name in made.names:
        tools[name]  # an unknown name is the programmer's mistake
    return made
