"""What the Python cases of tests/cases/reports are written against: one small face, `h`, over the package's own.

Nothing here knows a case. Every call goes through the default layers of real toolsets and agents; only the model is scripted.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any

from yarl import URL

from tests.builtin.web.places import OUTSIDE, Names, guard
from toolhand import Agent, FatalError, Injected, Limits, RunContext, ToolCall, ToolResult, Toolset, tool
from toolhand.builtin import WebSettings, builtin_tools
from toolhand.builtin._addresses import is_public
from toolhand.core.canonical import canonical
from toolhand.core.events import CallRetried, Event
from toolhand.core.jsonable import result_text
from toolhand.core.messages import Message, ModelOutput, ModelRequest, RawCall
from toolhand.core.tokens import estimate_tokens
from toolhand.core.tools import Breaker, Tool
from toolhand.execution.layers import default_policies
from toolhand.execution.running import run_blocking
from toolhand.observability import listening
from toolhand.observability.audit import AuditList, AuditLog
from toolhand.observability.defaults import default_sinks
from toolhand.observability.log import JsonFormatter
from toolhand.policies import Policy
from toolhand.policies.circuit_breaker import CircuitBreaker
from toolhand.policies.permission import AccessRule
from toolhand.policies.sharing import SYSTEM_CLOCK, Circuit, Clock
from toolhand.policies.sharing.loops import LoopDetector
from toolhand.testing import FakeClock, ScriptedModel

_SESSION: contextvars.ContextVar[str] = contextvars.ContextVar("current_session", default="")

_OPTIONS: Mapping[str, str] = {
    "max_retry_after": "longest_wait", "max_wait": "longest_wait", "retry_after_limit": "longest_wait", "effects": "effect",
    "limit": "rate_limit", "rate": "rate_limit", "max_concurrency": "concurrency", "max_parallel": "concurrency",
    "requires_approval": "approval", "needs_approval": "approval", "max_chars": "max_result", "result_limit": "max_result",
    "polling": "poll", "secret": "sensitive", "secrets": "sensitive", "redact": "sensitive", "group": "upstream",
    "precondition": "before", "preconditions": "before", "postcondition": "after", "key": "idempotency_key",
}  # fmt: skip
"""What the cases call an option → what it is called here."""

_EFFECTS: Mapping[str, str] = {
    "read": "reads",
    "none": "reads",
    "write": "writes",
    "destroy": "destroys",
    "delete": "destroys",
}


class RateLimitedError(RuntimeError):
    """What a client library raises when its server asks to slow down."""

    def __init__(
        self, retry_after: float | str | None = None, message: str = "429 Too Many Requests"
    ) -> None:
        super().__init__(message)
        self.status_code = 429
        self.retry_after = retry_after


class HttpError(RuntimeError):
    """What a client library raises for an error status."""

    def __init__(self, status: int, message: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message or f"HTTP {status}")
        self.status_code = status
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True)
class Answer:
    """A result as the cases read it."""

    result: ToolResult

    @property
    def ok(self) -> bool:
        return self.result.ok

    @property
    def text(self) -> str:
        """What the tool said: the program's own remarks to the model are not part of it."""
        return result_text(self.result.outcome)

    @property
    def told(self) -> str:
        """The whole text that a model reads."""
        return result_text(self.result)

    @property
    def data(self) -> Any:
        return self.result.data

    @property
    def code(self) -> str | None:
        return None if self.result.error is None else str(self.result.error.code)

    @property
    def message(self) -> str:
        return "" if self.result.error is None else self.result.error.sentence

    @property
    def retryable(self) -> bool | None:
        return None if self.result.error is None else self.result.error.retryable

    @property
    def retry_after(self) -> float | None:
        return None if self.result.error is None else self.result.error.details.get("retry_after")


class Call:
    """A call as the cases write it: an entry of a model's script, or, once its result is asked for, a call that is made."""

    def __init__(
        self, harness: Harness, name: str, args: Mapping[str, Any], options: Mapping[str, Any]
    ) -> None:
        self.raw = RawCall(id="", name=name, arguments=dict(args))
        self._make = lambda: run_blocking(harness.acall(name, args, **options))
        self._answer: Answer | None = None

    def __getattr__(self, name: str) -> Any:
        if self._answer is None:
            self._answer = self._make()
        return getattr(self._answer, name)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to the model as the cases read it."""

    messages: list[dict[str, Any]]
    tools: list[str]
    tool_choice: str

    @classmethod
    def of(cls, request: ModelRequest) -> Asked:
        messages = [entry for message in request.messages for entry in plain_messages(message)]
        return cls(messages, [one.name for one in request.tools], request.tool_choice.mode)


def plain_messages(message: Message) -> list[dict[str, Any]]:
    """A message as dicts with role and content, each result one of its own."""
    if message.role == "tool":
        return [
            {"role": "tool", "tool_call_id": result.call_id, "content": result_text(result)}
            for result in message.results
        ]
    entry: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        entry["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": dict(call.arguments)} for call in message.calls
        ]
    return [entry]


class FakeModel:
    """A scripted model that counts what it is asked.

    Args:
        script: replies in order (a text, a call, a list of calls, an exception), or a function of the request.
        forever: whether a script without a final text begins anew; the final text is kept for a request without tools.
        delay: seconds before each reply.
    """

    def __init__(self, script: Any, *, forever: bool = False, delay: float = 0.0, name: str = "fake") -> None:
        self.asked: list[Asked] = []
        self.name = name
        self._script = script
        self._forever = forever
        self._delay = delay
        self._numbers = itertools.count()
        self._inner = ScriptedModel(self._reply, name=name)

    @property
    def requests(self) -> int:
        return len(self.asked)

    @property
    def tool_choices(self) -> list[str]:
        return [asked.tool_choice for asked in self.asked]

    def _reply(self, request: ModelRequest) -> Any:
        asked = Asked.of(request)
        self.asked.append(asked)
        if callable(self._script):
            reply = self._script(asked)
        else:
            script = list(self._script)
            number = next(self._numbers)
            if self._forever and asked.tool_choice == "none":
                reply = next((one for one in reversed(script) if isinstance(one, str)), "...")
            elif number < len(script):
                reply = script[number]
            elif self._forever:
                reply = script[number % len(script)]
            else:
                raise AssertionError(f"the script has {len(script)} replies, and the model was asked again")
        if isinstance(reply, list | tuple):
            return [one.raw if isinstance(one, Call) else one for one in reply]
        return reply.raw if isinstance(reply, Call) else reply

    async def complete(self, request: ModelRequest) -> ModelOutput:
        if self._delay:
            await asyncio.sleep(self._delay)
        return await self._inner.complete(request)

    async def stream(self, request: ModelRequest) -> Any:
        async for piece in self._inner.stream(request):
            yield piece

    async def close(self) -> None:
        await self._inner.close()


@dataclass
class HarnessAgent:
    """An agent as the cases use one."""

    harness: Harness
    model: FakeModel
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agent = Agent(self.model, self.harness.toolset, sinks=self.harness.sinks, **self.options)

    async def arun(self, text: str, *, session: str = "s", user: str = "", **options: Any) -> Any:
        turns, calls = options.pop("max_turns", None), options.pop("max_calls", None)
        if turns is not None or calls is not None:
            given = {"turns": turns, "calls": calls}
            options["limits"] = Limits(**{key: value for key, value in given.items() if value is not None})
        token = _SESSION.set(session)
        try:
            return await self.agent.run(text, session=session, user=user, **options)
        finally:
            _SESSION.reset(token)

    def run(self, text: str, **options: Any) -> Any:
        return run_blocking(self.arun(text, **options))


class Served:
    """An HTTP server on this machine; a page is a text or (status, where to go)."""

    def __init__(self, pages: Mapping[str, Any], address: str = "127.0.0.1") -> None:
        self.hits = 0
        served = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served.hits += 1
                page = pages.get(self.path)
                status, body = (404, "") if page is None else (200, page)
                if isinstance(page, tuple):
                    status, body = int(page[0]), ""
                self.send_response(status)
                if isinstance(page, tuple):
                    self.send_header("Location", page[1])
                self.end_headers()
                self.wfile.write(body.encode())

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer((address, 0), Answering)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(JsonFormatter())
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


class Harness:
    """The face itself. Tools are registered one by one; the toolset is made anew when one was added."""

    RateLimited = RateLimitedError
    HttpError = HttpError
    FatalError = FatalError
    Injected = staticmethod(Injected)

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._listeners: dict[str, list[Callable[[float], Any]]] = {}
        self._clock: Clock = SYSTEM_CLOCK
        self._access: list[AccessRule] = []
        self._toolset: Toolset | None = None
        self._policies: tuple[Policy, ...] | None = None
        self._numbers = itertools.count(1)
        self._served: list[Served] = []
        self._audit = AuditList()
        self.sinks = (AuditLog(self._audit), self._heard)
        self._log = _Lines()
        self._logger = logging.getLogger("toolhand")
        self._level = self._logger.level
        self._logger.addHandler(self._log)
        self._logger.setLevel(logging.DEBUG)

    def close(self) -> None:
        """Gives back what was opened."""
        self._logger.removeHandler(self._log)
        self._logger.setLevel(self._level)
        for served in self._served:
            served.close()

    # ------------------------------------------------------------------ tools
    def tool(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Registers a tool, with options under the cases' names or the package's own."""
        if function is None:
            return lambda target: self.tool(target, **options)
        given = {_OPTIONS.get(name, name): value for name, value in options.items()}
        listener = given.pop("on_wait", None)
        if given.pop("isolate", False):
            given["isolation"] = "process"
        if given.get("effect") in _EFFECTS:
            given["effect"] = _EFFECTS[given["effect"]]
        if isinstance(given.get("breaker"), Mapping):
            given["breaker"] = Breaker(**given["breaker"])
        if isinstance(given.get("fallback"), str):
            given["fallback"] = self._tools[given["fallback"]]
        made = tool(function, **{"shows_errors": True, **given})
        self._tools[made.name] = made
        if listener is not None:
            self._listeners.setdefault(made.name, []).append(listener)
        self._toolset = None
        return made

    @property
    def policies(self) -> tuple[Policy, ...]:
        if self._policies is None:
            self._policies = default_policies(access=self._access, clock=self._clock)
        return self._policies

    @property
    def toolset(self) -> Toolset:
        if self._toolset is None:
            self._toolset = Toolset(list(self._tools.values()), policies=self.policies)
        return self._toolset

    def allow(self, **fields: Any) -> None:
        self._rule(AccessRule(access="allow", **fields))

    def deny(self, **fields: Any) -> None:
        self._rule(AccessRule(access="deny", **fields))

    def _rule(self, rule: AccessRule) -> None:
        self._access.append(rule)
        self._policies = self._toolset = None

    def schema(self, name: str, provider: str = "openai") -> dict[str, Any]:
        return next(
            s for s, one in zip(self.toolset.schemas(provider), self.toolset, strict=True) if one.name == name
        )

    def offered_tools(self, user: str = "") -> list[str]:
        return list(self.toolset.offered(RunContext(user=user)).names)

    # ------------------------------------------------------------------ calls
    def _context(self, user: str = "", session: str = "", **more: Any) -> RunContext:
        return listening(RunContext(user=user, session_id=session, **more), [*default_sinks(), *self.sinks])

    async def acall(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        *,
        user: str = "",
        session: str = "",
        **more: Any,
    ) -> Answer:
        token = _SESSION.set(session)
        try:
            call = ToolCall(id=f"call_{next(self._numbers)}", name=name, arguments=args or {})
            return Answer(await self.toolset.dispatch(call, self._context(user, session, **more)))
        finally:
            _SESSION.reset(token)

    def call(self, name: str, args: Mapping[str, Any] | None = None, **options: Any) -> Call:
        return Call(self, name, args or {}, options)

    async def acall_many(
        self, calls: Iterable[tuple[str, Mapping[str, Any]]], *, user: str = "", session: str = ""
    ) -> list[Answer]:
        """Calls of one reply, side by side."""
        made = [ToolCall(id=f"call_{next(self._numbers)}", name=name, arguments=args) for name, args in calls]
        return [
            Answer(result) for result in await self.toolset.dispatch.each(made, self._context(user, session))
        ]

    async def acall_builtin(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        root: Any = None,
        database: Any = None,
        resolver: Mapping[str, Sequence[Any]] | None = None,
        responder: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Answer:
        """A call of one of the tools that come with the package, under its name there or the cases'.

        Args:
            root: the folder of the file tools.
            database: the SQL tools' file.
            resolver: what the system would say where names are: addresses, or the addresses of each lookup.
            responder: what the public internet would answer, by address.
            options: the tool's rules.
        """
        web = self._web(resolver or {}, responder or {}) if name in _OF_THE_WEB else False
        toolset = Toolset(builtin_tools(database=database, root=root, web=web))
        known = next((one for one in (name, *_BUILTIN.get(name, ())) if one in toolset), name)
        if options and known in toolset:
            toolset = Toolset([tool(toolset[known], **options)])
        call = ToolCall(id=f"call_{next(self._numbers)}", name=known, arguments=args)
        return Answer(await toolset.dispatch(call, self._context()))

    def _web(self, resolver: Mapping[str, Sequence[Any]], responder: Mapping[str, Any]) -> WebSettings:
        """The internet as far as a case has one: public addresses lead to a server on the stand-in for it."""
        served = Served({URL(url).path: page for url, page in responder.items()}, OUTSIDE)
        self._served.append(served)
        places = {
            host: [
                [(one, None) if not is_public(ip_address(one)) else (OUTSIDE, served.port) for one in lookup]
                for lookup in ([addresses] if isinstance(addresses[0], str) else addresses)
            ]
            for host, addresses in resolver.items()
        }
        return WebSettings(guard=guard(Names(places)))

    def breaker(self, name: str) -> Circuit:
        """A tool's circuit: `.state`, `.failures`."""
        policy = next(one for one in self.policies if isinstance(one, CircuitBreaker))
        return policy.circuit(self._tools[name].rules.upstream or name)

    # ------------------------------------------------------------------ models and runs
    def fake_model(self, script: Any, **options: Any) -> FakeModel:
        return FakeModel(script, **options)

    def agent(self, model: FakeModel, **options: Any) -> HarnessAgent:
        return HarnessAgent(self, model, options)

    async def arun(self, model: FakeModel, prompt: str, **options: Any) -> Any:
        return await self.agent(model).arun(prompt, **options)

    def loop_detector(self, limit: int = 3) -> LoopDetector:
        return LoopDetector(limit=limit)

    @staticmethod
    def last_tool_text(model: FakeModel) -> str:
        """The last result that the model was shown."""
        told = [
            entry["content"] for asked in model.asked for entry in asked.messages if entry["role"] == "tool"
        ]
        return str(told[-1]) if told else ""

    @staticmethod
    def current_session() -> str:
        return _SESSION.get()

    # ------------------------------------------------------------------ the world around
    def fake_clock(self, seed: int = 0) -> FakeClock:
        del seed  # waits are drawn anew each time: what is asked of them holds for every draw
        self._clock = clock = FakeClock()
        self._policies = self._toolset = None
        return clock

    def local_http(self, pages: Mapping[str, Any]) -> Served:
        self._served.append(Served(pages))
        return self._served[-1]

    def _heard(self, event: Event, context: RunContext) -> None:
        del context
        if isinstance(event, CallRetried):
            for listener in self._listeners.get(event.call.name, ()):
                listener(event.wait_seconds)

    def log_text(self) -> str:
        return "\n".join(self._log.lines)

    def audit_text(self) -> str:
        return "\n".join(
            json.dumps(record.to_json(), ensure_ascii=False, default=str) for record in self._audit.records()
        )

    @staticmethod
    def estimate_tokens(text: str) -> int:
        return estimate_tokens(text)

    @staticmethod
    def canonical(value: Any) -> str:
        return canonical(value)


_OF_THE_WEB = ("fetch", "fetch_page", "fetch_url", "http_get", "search_web", "get_weather")

_BUILTIN: Mapping[str, Sequence[str]] = {
    "sql_query": ("query_sql", "run_sql", "sql", "query_database"),
    "fetch": ("fetch_page", "fetch_url", "http_get", "read_page"),
    "shell": ("run_shell", "run_command"),
}
