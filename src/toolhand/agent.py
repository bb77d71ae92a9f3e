"""The loop: render the history, ask the model, read its reply, run its calls, until there is an answer.

Only this file knows all the stages. It knows no protocol's text, no provider's field names and no tool's types.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolhand.arguments.feedback import feedback
from toolhand.core import plugins
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import (
    Event,
    LimitReached,
    ModelReplied,
    ReadingMended,
    RunFinished,
    TextDelta,
    TurnStarted,
)
from toolhand.core.language import Language, language_of
from toolhand.core.messages import (
    Message,
    ModelOutput,
    ModelRequest,
    Note,
    Reply,
    Sampling,
    Text,
    ToolCall,
    ToolResult,
    system,
)
from toolhand.core.messages import (
    user as user_message,
)
from toolhand.core.tools import ToolChoice
from toolhand.execution.running import run_blocking
from toolhand.models import Model
from toolhand.models.resolve import resolve
from toolhand.protocols import ModelProtocol, Reader
from toolhand.run import WORDS, Limits, Progress, Run, Stopped
from toolhand.sessions.session import MemoryStore, Session
from toolhand.toolset import Toolset


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
        **options: Any,
    ) -> None:
        self.tools = tools if isinstance(tools, Toolset) else Toolset(tools)
        self.model = resolve(model, **options)
        self.instructions = instructions
        self.protocol = _protocol(protocol, self.model)
        self.tool_choice = _choice(tool_choice, self.tools)
        self.limits = limits or Limits()
        self.language = language
        self.sampling = sampling or Sampling()
        self._store = MemoryStore()

    def session(self, id: str, *, user: str = "") -> Session:  # noqa: A002 - the field's word
        """The session that runs with this name use."""
        return self._store.open(id, user=user)

    async def run(self, text: str, **options: Any) -> Run:
        """Answers one message.

        Args:
            text: what the user says.
            options: as for `stream`.

        Raises:
            ModelError: when the model's server fails.
        """
        return await _Conversation(self, text, streams=False, **options).drive()

    def run_sync(self, text: str, **options: Any) -> Run:
        """`run` for code that is not async."""
        return run_blocking(self.run(text, **options))

    async def stream(self, text: str, **options: Any) -> AsyncIterator[Event]:
        """The same run as events while they happen; the last is `RunFinished`.

        Args:
            text: what the user says.
            options: any of these.
            session: a name or a `Session`; a fresh one by default.
            user: who asks; sessions of different users never meet.
            tool_choice: instead of the agent's.
            limits: instead of the agent's.
            facts: values for `Injected` parameters.
            on_event: called with every event, too.

        Raises:
            ModelError: when the model's server fails.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        listen = options.pop("on_event", None)

        def emit(event: Event) -> None:
            events.put_nowait(event)
            if listen is not None:
                listen(event)

        task = asyncio.ensure_future(
            _Conversation(self, text, streams=True, on_event=emit, **options).drive()
        )
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


def _protocol(protocol: str | ModelProtocol, model: Model) -> ModelProtocol:
    if not isinstance(protocol, str):
        return protocol
    name = getattr(model, "protocol", "native") if protocol == "auto" else protocol
    found: ModelProtocol = plugins.load("protocols", name).PROTOCOL
    return found


def _choice(choice: str | Sequence[str] | ToolChoice, tools: Toolset) -> ToolChoice:
    made = ToolChoice.of(choice if isinstance(choice, str | ToolChoice) else tuple(choice))
    for name in made.names:
        tools[name]  # an unknown name is the programmer's mistake
    return made


def _ignore(event: Event) -> None:
    """Nobody listens."""


class _Conversation:
    """One run, from the user's message to the answer."""

    def __init__(
        self,
        agent: Agent,
        text: str,
        *,
        streams: bool,
        session: str | Session | None = None,
        user: str = "",
        tool_choice: str | Sequence[str] | ToolChoice | None = None,
        limits: Limits | None = None,
        facts: Mapping[str, Any] | None = None,
        on_event: Callable[[Event], None] = _ignore,
    ) -> None:
        self.agent = agent
        self.text = text
        self.streams = streams
        self.choice = agent.tool_choice if tool_choice is None else _choice(tool_choice, agent.tools)
        self.limits = limits or agent.limits
        self.emit = on_event
        self.session = (
            agent.session(session, user=user) if isinstance(session, str) else session or Session(user=user)
        )
        self.progress = Progress()
        seconds = self.limits.seconds
        self.context = RunContext(
            user=user or self.session.user,
            session_id=self.session.id,
            language=agent.language or language_of(text),
            deadline=None if seconds is None else time.monotonic() + seconds,
            facts=facts or {},
            emit=on_event,
        )
        self.words = WORDS[self.context.language]

    async def drive(self) -> Run:
        async with self.session.turnstile:
            self.start = len(self.session.messages)
            self.session.append(user_message(self.text))
            output: str | None = None
            stopped: Stopped | None = None
            while output is None:
                stopped = self.progress.limit_reached(self.limits, self.context.seconds_left)
                if stopped is not None:
                    output = await self._forced_answer(stopped)
                    break
                output = await self._turn()
            run = self._run(output, stopped or "answered")
        self.emit(RunFinished(run=run))
        return run

    async def _turn(self) -> str | None:
        """One reply and what it asks for; its text if it is the answer."""
        reply = await self._ask(self.choice)
        calls = _asked(reply)
        if calls:
            await self._run_calls(calls, self.choice)
        self.progress.repairs = 0 if reply.calls else self.progress.repairs + 1
        note = self._objection(reply)
        if note is not None:
            self.session.append(Message(role="user", parts=(Note(note),)))
        return None if calls or note is not None else reply.text

    def _objection(self, reply: Reply) -> str | None:
        """What the model is told, beside its calls' results, about what could not be used; None where all was well."""
        answered = {id(call.problem) for call in reply.broken}
        nameless = [problem for problem in reply.problems if id(problem) not in answered]
        if nameless:
            return "\n".join(feedback(problem, None, self.context.language) for problem in nameless)
        if reply.calls or reply.broken:
            return None
        if self.choice.mode == "required" and not self.progress.calls and not self.progress.has_insisted:
            self.progress.has_insisted = True
            return self.words["call"]
        return None if (reply.text or "").strip() else self.words["empty"]

    async def _run_calls(self, calls: Sequence[ToolCall], choice: ToolChoice) -> None:
        """Runs the calls of the reply that ends the history; whatever happens, each gets exactly one result."""
        finished: dict[str, ToolResult] = {}
        try:
            await self.agent.tools.dispatch.each(calls, self.context, choice, finished=finished)
        finally:
            results = [finished.get(call.id) or self._unfinished(call) for call in calls]
            self.session.append(Message(role="tool", parts=tuple(results)))
            self.progress.calls += calls
            self.progress.results += results

    def _unfinished(self, call: ToolCall) -> ToolResult:
        tool = self.agent.tools.lookup(call.name)
        is_safe = tool is None or tool.rules.effect == "reads" or tool.rules.idempotent
        code = ErrorCode.CANCELLED if is_safe else ErrorCode.OUTCOME_UNKNOWN
        error = ToolError(code=code, message=self.words[code], retryable=is_safe)
        return ToolResult(call_id=call.id, name=call.name, outcome=error)

    async def _ask(self, choice: ToolChoice) -> Reply:
        """Asks the model once; its reply is in the history afterwards."""
        self.progress.turns += 1
        turn = self.progress.turns
        self.context = replace(self.context, turn=turn)
        protocol = self.agent.protocol
        self.emit(TurnStarted(turn=turn, protocol=protocol.name))
        history = self.session.recent()
        instructions = self.agent.instructions
        if instructions is None and len(self.agent.tools):
            instructions = self.words["instructions"]
        if instructions:
            history.insert(0, system(instructions))
        request = replace(
            protocol.render(history, self.agent.tools, choice, self.context.language),
            sampling=self.agent.sampling,
        )
        settings = self.agent.tools.dispatch.settings[self.context.language]
        reader = protocol.reader(self.agent.tools, self.session.new_call_id, settings)
        output = await self._output(request, reader)
        sent = {call.id for call in output.calls}
        reply = self._claimed(reader.finish(output.calls, output.finish_reason), sent)
        self.progress.usage += output.usage
        self._show(reply)
        parts = (*((Text(reply.text),) if reply.text else ()), *_asked(reply))
        if reply.problems and not parts:
            parts = (Text(output.text or output.thinking or "…"),)
        self.session.append(Message(role="assistant", parts=parts or (Text(""),)))
        self.emit(ModelReplied(turn=turn, reply=reply, raw=output.text, usage=output.usage))
        if reply.problems or any(call.fixes for call in reply.calls):
            self.emit(
                ReadingMended(raw=output.text, problems=reply.problems, calls=(*reply.calls, *reply.broken))
            )
        return reply

    async def _output(self, request: ModelRequest, reader: Reader) -> ModelOutput:
        """The model's output, fed to the reader as it comes; what is surely for the user is shown at once."""
        self.shown = ""
        if not self.streams:
            output = await self.agent.model.complete(request)
            reader.feed(output.text)
            return output
        output = ModelOutput()
        async for piece in self.agent.model.stream(request):
            if isinstance(piece, ModelOutput):
                output = piece
            elif visible := reader.feed(piece.text):
                self.shown += visible
                self.emit(TextDelta(text=visible))
        return output

    def _show(self, reply: Reply) -> None:
        rest = (reply.text or "").removeprefix(self.shown)
        if self.streams and rest:
            self.emit(TextDelta(text=rest))

    def _claimed(self, reply: Reply, sent: set[str]) -> Reply:
        """The reply with every provider's id (those that were `sent`) made unique in the session."""

        def claimed(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
            return tuple(replace(c, id=self.session.claim(c.id)) if c.id in sent else c for c in calls)

        return replace(reply, calls=claimed(reply.calls), broken=claimed(reply.broken)) if sent else reply

    async def _forced_answer(self, limit: Stopped) -> str:
        """The model's best answer from what it has; what it still asks for is not run."""
        self.emit(LimitReached(limit=limit))
        self.session.append(Message(role="user", parts=(Note(self.words["limit"]),)))
        reply = await self._ask(ToolChoice("none"))
        if calls := _asked(reply):
            await self._run_calls(calls, ToolChoice("none"))
        return reply.text or self.words["no_answer"].format(limit=limit)

    def _run(self, output: str, stopped: Stopped) -> Run:
        messages = self.session.messages
        return Run(
            output=output,
            stopped=stopped,
            messages=messages,
            new_messages=messages[self.start :],
            calls=tuple(self.progress.calls),
            results=tuple(self.progress.results),
            usage=self.progress.usage,
            session_id=self.session.id,
            trace_id=self.context.trace_id,
        )


def _asked(reply: Reply) -> tuple[ToolCall, ...]:
    """Every call of a reply, the broken ones last."""
    return (*reply.calls, *reply.broken)
