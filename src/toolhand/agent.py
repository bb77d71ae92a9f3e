"""`Agent`: a model with tools, for one run or for many users' conversations. The loop itself is in `conversation.py`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar, Unpack, cast, overload

from toolhand.choosing.choose import Choose
from toolhand.choosing.chooser import Chooser
from toolhand.conversation import Conversation
from toolhand.core import plugins
from toolhand.core.approvals import Decision
from toolhand.core.errors import SettingsError
from toolhand.core.events import Event
from toolhand.core.language import Language, say
from toolhand.core.messages import Sampling
from toolhand.core.tools import ToolChoice
from toolhand.execution.running import run_blocking
from toolhand.ladder import Ladder, profile_of
from toolhand.models import Model
from toolhand.models.facts import facts
from toolhand.models.resolve import resolve
from toolhand.observability import Sink
from toolhand.options import ResumeOptions, RunOptions, check_values, refuse_misspelt, refuse_unknown
from toolhand.output import Validator, output_type
from toolhand.policies import Policy
from toolhand.protocols import ModelProtocol
from toolhand.run import Limits, Output, Run
from toolhand.sessions.cache import SessionCache
from toolhand.sessions.session import Session
from toolhand.sessions.store import SessionStore, open_store
from toolhand.sessions.trimming import History
from toolhand.setup import Asked, Setup
from toolhand.submitting import Submits
from toolhand.toolset import LiveToolset, Toolset

Typed = TypeVar("Typed")


class Agent(Submits[Output]):
    """A model with tools. It keeps no conversation itself: histories live in sessions, so it may serve many users at once.

    Args:
        model: "local", "openai:gpt-…", "anthropic:…", "ollama:…", "http://…/v1#model", or a `Model`. Of several, each is asked
            when those before it failed.
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
        store: where sessions with a name are kept: "memory", a file's path or "sqlite:///path", "postgresql://…", or a
            `SessionStore`. By default what `TOOLHAND_STORE` says, or else a file in the user's data folder. A run without a
            session is not kept.
        output: the type of the answer: a pydantic model, dataclass, TypedDict, `list[…]`, `Literal`, union, or a plain type.
            None for text.
        output_validator: one function or several that look at an answer of that type and give None or True when it is right,
            else False or a sentence for the model; may be async.
        fallbacks: the models that are asked when the first one failed.
        choose: of many tools, how many each message brings the model (a number, or a `Choose`); None to show it all.
        options: further options for the first model's adapter, such as `base_url` and `api_key`.

    Raises:
        SettingsError: when the model or the protocol is unknown.
        ToolDefinitionError: when a function cannot be described.
    """

    @overload
    def __init__(
        self: Agent[str],
        model: str | Model | Sequence[str | Model],
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
        output: None = None,
        store: str | os.PathLike[str] | SessionStore | None = None,
        fallbacks: Sequence[str | Model] = (),
        choose: int | Choose | None = None,
        **options: Any,
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[Typed | None],
        model: str | Model | Sequence[str | Model],
        tools: Any = (),
        *,
        output: type[Typed],
        **options: Any,
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[Any],
        model: str | Model | Sequence[str | Model],
        tools: Any = (),
        *,
        output: object,
        **options: Any,
    ) -> None: ...
    def __init__(
        self,
        model: str | Model | Sequence[str | Model],
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
        output: Any = None,
        output_validator: Validator | Sequence[Validator] = (),
        store: str | os.PathLike[str] | SessionStore | None = None,
        fallbacks: Sequence[str | Model] = (),
        choose: int | Choose | None = None,
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
            choose=choose,
        )
        self.tools = _toolset(tools, policies)
        self.model = resolve(model, fallbacks, **options)
        self.tool_choice, self.limits = _choice(tool_choice, self.tools), limits or Limits()
        self.setup = Setup(
            model=self.model,
            tools=self.tools,
            protocol=_protocol(protocol, self.model),
            instructions=instructions,
            language=language,
            sampling=sampling or Sampling(),
            sinks=tuple(sinks),
            history=history or History(),
            output=output_type(output, output_validator),
            chooser=_chooser(choose, self.tools),
        )
        self._cache = None if store is None else SessionCache(open_store(store))

    @property
    def store(self) -> SessionStore:
        """Where named sessions are kept."""
        return self._sessions.store

    @property
    def _sessions(self) -> SessionCache:
        if self._cache is None:  # the default one is opened when it is first needed
            self._cache = SessionCache(open_store())
        return self._cache

    def session(self, id: str, *, user: str | None = None) -> Session:  # noqa: A002 - the field's word
        """The session that runs with this name use, with its history as it is now.

        Args:
            id: its name.
            user: who asks; None for a program that may see everybody's.

        Raises:
            SessionError: when it is another user's.
            StoreError: when the store cannot be used.
        """
        return self._sessions.look(id, user)

    @overload
    async def run(self, text: str, **options: Unpack[RunOptions]) -> Run[Output]: ...
    @overload
    async def run(
        self, text: str, *, output: type[Typed], **options: Unpack[RunOptions]
    ) -> Run[Typed | None]: ...
    @overload
    async def run(self, text: str, *, output: object, **options: Unpack[RunOptions]) -> Run[Any]: ...
    async def run(self, text: str, *, output: Any = None, **options: Unpack[RunOptions]) -> Run[Any]:
        """Answers one message.

        Args:
            text: what the user says.
            output: the type of the answer, instead of the agent's.
            options: see `RunOptions`.

        Raises:
            ModelError: when the model's server fails.
            SessionError: when the session is another user's, or in use for too long.
            StoreError: when the session cannot be kept.
            HistoryError: when `history` cannot be mended.
        """
        return await Conversation(self.setup, self._asked(text or "", options, output=output)).drive()

    @overload
    def run_sync(self, text: str, **options: Unpack[RunOptions]) -> Run[Output]: ...
    @overload
    def run_sync(
        self, text: str, *, output: type[Typed], **options: Unpack[RunOptions]
    ) -> Run[Typed | None]: ...
    @overload
    def run_sync(self, text: str, *, output: object, **options: Unpack[RunOptions]) -> Run[Any]: ...
    def run_sync(self, text: str, *, output: Any = None, **options: Unpack[RunOptions]) -> Run[Any]:
        """`run` for code that is not async."""
        return run_blocking(self.run(text, output=output, **options))

    async def resume(
        self,
        session: str | Session,
        decisions: Mapping[str, Decision] | None = None,
        *,
        output: Any = None,
        **options: Unpack[ResumeOptions],
    ) -> Run[Output]:
        """Goes on with a session whose last run did not come to its end: a person had to decide, or its process died.

        Results that are there are used, calls that never started run, and so do those that may run twice without harm. A
        call that may have had its effect is not run again: the model is told, or a person asked where the tool needs approval.

        Args:
            session: its name or the `Session` itself.
            decisions: `Approve()`, `Deny(reason)` or `Edit(arguments)` by `PendingCall.approval_id` or call id. A call
                without a decision stops the run again.
            output: the type of the answer, where the interrupted run was given one of its own.
            options: see `ResumeOptions`; give the same user, and the permissions and roles again: they are not kept.

        Raises:
            SessionError: when there is no such session, or it is another user's.
            SettingsError: when its last run has come to its end; when a decision is none or is about no call of it; when a call
                waits that the user may not make with these permissions. The run waits on then.
            StoreError: when the store cannot be used.
            ModelError: when the model's server fails.
        """
        asked = self._asked(
            None, cast("RunOptions", {**options, "session": session}), decisions, output=output
        )
        return await Conversation(self.setup, asked).drive()

    def resume_sync(
        self,
        session: str | Session,
        decisions: Mapping[str, Decision] | None = None,
        *,
        output: Any = None,
        **options: Unpack[ResumeOptions],
    ) -> Run[Output]:
        """`resume` for code that is not async."""
        return run_blocking(self.resume(session, decisions, output=output, **options))

    async def stream(
        self, text: str, *, output: Any = None, **options: Unpack[RunOptions]
    ) -> AsyncIterator[Event]:
        """The same run as `run`, as events while they happen; the last is `RunFinished`.

        Where the answer has a type, its words do not come in pieces: half a value is of no use.

        Args:
            text: what the user says.
            output: the type of the answer, instead of the agent's.
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
        asked = self._asked(text or "", options, output=output, streams=True)
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
        output: Any = None,
        streams: bool = False,
    ) -> Asked:
        if not options.keys() <= RunOptions.__optional_keys__:
            refuse_unknown("Agent.run", options, RunOptions.__optional_keys__)
        check_values("Agent.run", **({} if text is None else {"text": text}), **options)
        session, user, choice = options.get("session"), options.get("user", ""), options.get("tool_choice")
        if isinstance(session, str):
            session = self._sessions.get(session, user)
        elif session is None:
            session = Session(user=user)
        elif user:
            session.check_owner(user)
        else:
            user = session.user
        limits = options.get("limits") or self.limits
        if limits.cost is not None and facts(self.model).price is None:
            raise SettingsError(
                say(
                    f"Limits(cost=…) needs the price of '{self.model.name}', which is not known: write it into your facts.toml",
                    f"Limits(cost=…) 需要“{self.model.name}”的价格，但它未知：请写进你的 facts.toml",
                )
            )
        return Asked(
            text=text,
            session=session,
            choice=self.tool_choice if choice is None else _choice(choice, self.tools),
            limits=limits,
            user=user,
            permissions=frozenset(options.get("permissions", ())),
            roles=frozenset(options.get("roles", ())),
            facts=options.get("facts", {}),
            decisions=decisions or {},
            streams=streams,
            on_event=options.get("on_event"),
            output=None if output is None else output_type(output),
            history=tuple(options.get("message_history", ())),
        )


def _toolset(tools: Any, policies: Sequence[Policy] | None) -> Toolset:
    is_ready = isinstance(tools, Toolset) and policies is None
    made: Toolset = tools if is_ready else Toolset(tools, policies=policies)
    _ = made.dispatch  # a tool that cannot be run as it asks is named now
    return made


def _protocol(protocol: str | ModelProtocol, model: Model) -> ModelProtocol:
    if not isinstance(protocol, str):
        return protocol
    if protocol == "auto":
        return Ladder(profile_of(model))
    found: ModelProtocol | None = plugins.found("protocols", protocol, "PROTOCOL")
    if found is None:
        there = plugins.listed("protocols", "PROTOCOL", "auto")
        raise SettingsError(
            say(
                f"there is no protocol '{protocol}'; there is: {there}",
                f"没有“{protocol}”协议；可用：{there}",
            )
        )
    return found


def _chooser(choose: int | Choose | None, tools: Toolset) -> Chooser | None:
    if choose is None:
        return None
    chooser = Chooser(Choose(k=choose) if isinstance(choose, int) else choose)
    if isinstance(tools, LiveToolset) or tools.live or chooser.is_needed(tools):  # a server's list may grow
        chooser.ready(tools.now())
        return chooser
    return None


def _choice(choice: str | Sequence[str] | ToolChoice, tools: Toolset) -> ToolChoice:
    made = ToolChoice.of(choice if isinstance(choice, str | ToolChoice) else tuple(choice))
    for name in made.names:
        tools[name]  # an unknown name is the programmer's mistake
    return made
