"""OpenTelemetry spans and metrics by the semantic conventions for generative AI (extra "otel").

    invoke_agent {agent}
    ├── chat {model}
    ├── execute_tool {tool}      calls of one reply side by side
    └── chat {model}

What users, models and tools said is left out unless asked for, and masked then.
Source: https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai); names as of its main branch in 2026.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.core.context import RunContext
from toolhand.core.errors import MissingExtraError
from toolhand.core.events import (
    CallCancelled,
    CallFailed,
    CallFinished,
    CallRetried,
    CallStarted,
    Event,
    FallbackTaken,
    LimitReached,
    ModelReplaced,
    ModelReplied,
    ModelRetried,
    ReadingMended,
    RunFailed,
    RunFinished,
    RunStarted,
    TurnStarted,
)
from toolhand.core.language import say
from toolhand.core.messages import ModelRequest
from toolhand.core.tools import Tool
from toolhand.observability.excerpts import PLAIN, Excerpts
from toolhand.observability.otel_content import CONTENT_VARIABLE, definitions, messages, reply_messages
from toolhand.observability.outcomes import OK, attempts, outcome

try:
    from opentelemetry import context as otel_context
    from opentelemetry import metrics, trace
    from opentelemetry.trace import Span, SpanKind, StatusCode
except ImportError as missing:
    raise MissingExtraError("otel", say("the OpenTelemetry sink", "OpenTelemetry 接收器")) from missing

_SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_RUN_SECONDS: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
_TOKENS: Final = tuple(4**power for power in range(14))
_COUNTS: Final = tuple(2**power for power in range(8))
"""The buckets that the conventions ask for."""

_MOST_TEXT: Final = 8_000
_MOST_TRACEBACK: Final = 8_000
_MOST_NAME: Final = 80
_MOST_OPEN: Final = 4096

_PROVIDERS: Final = {"local": "llama_cpp", "http": "openai", "https": "openai"}
"""The convention's words for model names' prefixes that are not its own; a server at a URL speaks OpenAI's protocol."""


@dataclass(slots=True)
class _Open:
    """A span that has not ended, with what makes it the current one where it began."""

    span: Span
    token: Any
    started: float = field(default_factory=time.monotonic)
    attributes: dict[str, Any] = field(default_factory=dict)

    def end(self, error: str = "") -> float:
        """Ends it; gives how long it took in seconds."""
        if error:
            self.span.set_attribute("error.type", error)
            self.span.set_status(StatusCode.ERROR, error)
        self.span.end()
        otel_context.detach(self.token)
        return time.monotonic() - self.started


@dataclass(slots=True)
class _OpenRun:
    """A run's own span, what must not be shown of it, the turn under way, and what was counted."""

    agent: _Open
    excerpts: Excerpts
    tools: Mapping[str, Tool]
    chat: _Open | None = None
    requests: int = 0
    calls: int = 0


class OpenTelemetry:
    """The sink that makes spans and metrics. Exporters are the program's own affair.

    A span is the current one while what it tells of goes on, so that spans of an HTTP client in a tool or of a run inside a
    tool hang below it.

    Args:
        captures_content: whether messages, arguments and results are recorded, masked; by default what
            `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says, which is no.
        tracer_provider: where spans go; the global one by default.
        meter_provider: where metrics go; the global one by default.

    Raises:
        MissingExtraError: on import, when OpenTelemetry is not installed.
    """

    def __init__(
        self,
        *,
        captures_content: bool | None = None,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        said = os.environ.get(CONTENT_VARIABLE, "").strip().lower()
        is_wanted = said in ("true", "1", "span_only", "span_and_event")
        self._captures_content = is_wanted if captures_content is None else captures_content
        self._tracer = trace.get_tracer("toolhand", tracer_provider=tracer_provider)
        meter = metrics.get_meter("toolhand", meter_provider=meter_provider)

        def histogram(name: str, unit: str, about: str, bounds: tuple[float, ...]) -> metrics.Histogram:
            return meter.create_histogram(name, unit, about, explicit_bucket_boundaries_advisory=list(bounds))

        self._chat_seconds = histogram(
            "gen_ai.client.operation.duration", "s", "How long the model took.", _SECONDS
        )
        self._tokens = histogram("gen_ai.client.token.usage", "{token}", "Tokens of a request.", _TOKENS)
        self._tool_seconds = histogram("gen_ai.execute_tool.duration", "s", "How long a call took.", _SECONDS)
        self._run_seconds = histogram(
            "gen_ai.invoke_agent.duration", "s", "How long a run took.", _RUN_SECONDS
        )
        self._run_requests = histogram(
            "gen_ai.invoke_agent.inference_calls",
            "{inference_call}",
            "Requests to the model in a run.",
            _COUNTS,
        )
        self._run_calls = histogram(
            "gen_ai.invoke_agent.tool_calls", "{tool_call}", "Tool calls in a run.", _COUNTS
        )
        self._runs: OrderedDict[str, _OpenRun] = OrderedDict()
        self._calls: OrderedDict[tuple[str, str], _Open] = OrderedDict()

    def __call__(self, event: Event, context: RunContext) -> None:
        """Takes one event."""
        match event:
            case CallStarted():
                self._call_started(event, context)
            case CallFinished() | CallCancelled():
                self._call_ended(event, context)
            case RunStarted():
                self._run_started(event, context)
            case TurnStarted():
                self._turn_started(event, context)
            case ModelReplied():
                self._model_replied(event, context)
            case RunFinished() | RunFailed():
                self._run_ended(event, context)
            case CallFailed() | CallRetried() | FallbackTaken():
                self._noted(event, context)
            case ReadingMended(problems=problems) if problems:
                self._note_run(context, "toolhand.reply.unreadable", codes=[str(p.code) for p in problems])
            case ModelRetried(error=error, attempt=attempt):
                self._note_run(context, "toolhand.model.retried", fault=str(error.fault), attempt=attempt)
            case ModelReplaced(model=name, fallback=fallback):
                self._note_run(context, "toolhand.model.replaced", model=name, fallback=fallback)
            case LimitReached(limit=limit):
                self._note_run(context, "toolhand.limit.reached", limit=limit)

    def _begin(self, name: str, kind: SpanKind, context: RunContext, attributes: dict[str, Any]) -> _Open:
        shared = {"toolhand.trace_id": context.trace_id, "gen_ai.conversation.id": context.session_id}
        given = {key: value for key, value in {**attributes, **shared}.items() if value not in ("", None)}
        span = self._tracer.start_span(name, kind=kind, attributes=given)
        token = otel_context.attach(trace.set_span_in_context(span))
        return _Open(span, token)

    # ------------------------------------------------------------------ runs

    def _run_started(self, event: RunStarted, context: RunContext) -> None:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": event.agent,
            **_model(event.model),
        }
        excerpts = Excerpts.of_all(event.tools)
        if self._captures_content:
            attributes["gen_ai.input.messages"] = messages("user", event.text, _MOST_TEXT, excerpts)
        name = f"invoke_agent {event.agent}".strip()
        run = _OpenRun(
            self._begin(name, SpanKind.INTERNAL, context, attributes),
            excerpts,
            {tool.name: tool for tool in event.tools},
        )
        run.agent.attributes = {"gen_ai.agent.name": event.agent} if event.agent else {}
        _keep(self._runs, context.trace_id, run)

    def _run_ended(self, event: RunFinished | RunFailed, context: RunContext) -> None:
        run = self._runs.pop(context.trace_id, None)
        if run is None:
            return
        error = type(event.exception).__name__ if isinstance(event, RunFailed) else ""
        if run.chat is not None:
            self._chat_ended(run.chat, error)
        span = run.agent.span
        if isinstance(event, RunFinished):
            usage = event.run.usage
            span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
            span.set_attribute("toolhand.run.stopped", str(event.run.stopped))
            if self._captures_content:
                text = messages("assistant", event.run.text, _MOST_TEXT, run.excerpts)
                span.set_attribute("gen_ai.output.messages", text)
        else:
            _note_exception(span, event.exception, run.excerpts)
        attributes = {**run.agent.attributes, **({"error.type": error} if error else {})}
        self._run_seconds.record(run.agent.end(error), attributes)
        self._run_requests.record(run.requests, run.agent.attributes)
        self._run_calls.record(run.calls, run.agent.attributes)

    def _note_run(self, context: RunContext, name: str, **attributes: Any) -> None:
        run = self._runs.get(context.trace_id)
        if run is not None:
            run.agent.span.add_event(name, attributes)

    # ------------------------------------------------------------------ replies

    def _turn_started(self, event: TurnStarted, context: RunContext) -> None:
        run = self._runs.get(context.trace_id)
        if run is None:
            return
        model = _model(event.model)
        attributes = {"gen_ai.operation.name": "chat", **model, "toolhand.protocol": event.protocol}
        if event.request is not None:
            attributes |= self._request(event.request, run)
        name = f"chat {model.get('gen_ai.request.model', '')}".strip()
        run.chat = self._begin(name, SpanKind.CLIENT, context, attributes)
        run.chat.attributes = {"gen_ai.operation.name": "chat", **model}
        run.requests += 1

    def _request(self, request: ModelRequest, run: _OpenRun) -> dict[str, Any]:
        sampling = request.sampling
        attributes: dict[str, Any] = {
            "gen_ai.request.temperature": sampling.temperature,
            "gen_ai.request.top_p": sampling.top_p,
            "gen_ai.request.max_tokens": sampling.max_tokens,
            "gen_ai.request.seed": sampling.seed,
            "gen_ai.request.stop_sequences": request.stop or None,
        }
        if self._captures_content:
            attributes["gen_ai.input.messages"] = messages(
                "", request.messages, _MOST_TEXT, run.excerpts, run.tools
            )
            attributes["gen_ai.tool.definitions"] = definitions(request.tools, _MOST_TEXT) or None
        return attributes

    def _model_replied(self, event: ModelReplied, context: RunContext) -> None:
        run = self._runs.get(context.trace_id)
        if run is None or run.chat is None:
            return
        chat, run.chat = run.chat, None
        span, usage = chat.span, event.usage
        span.set_attribute("gen_ai.response.finish_reasons", [event.finish_reason])
        span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
        span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
        if usage.cached_tokens:
            span.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens)
        if self._captures_content:
            said = reply_messages(event.reply, event.finish_reason, _MOST_TEXT, run.excerpts, run.tools)
            span.set_attribute("gen_ai.output.messages", said)
        for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if count:
                self._tokens.record(count, {**chat.attributes, "gen_ai.token.type": kind})
        self._chat_ended(chat, "")

    def _chat_ended(self, chat: _Open, error: str) -> None:
        attributes = {**chat.attributes, **({"error.type": error} if error else {})}
        self._chat_seconds.record(chat.end(error), attributes)

    # ------------------------------------------------------------------ calls

    def _call_started(self, event: CallStarted, context: RunContext) -> None:
        run = self._runs.get(context.trace_id)
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": event.call.id,
            "gen_ai.tool.description": PLAIN.text(event.tool.description, 200) if event.tool else "",
            "toolhand.fixes": [fix.kind for fix in event.call.fixes] or None,
        }
        if run is not None:
            run.calls += 1
            attributes |= run.agent.attributes
        if self._captures_content:
            excerpts = Excerpts.of(event.tool, event.call.arguments)
            attributes["gen_ai.tool.call.arguments"] = excerpts.json(event.call.arguments, _MOST_TEXT)
        call = self._begin(f"execute_tool {event.call.name}", SpanKind.INTERNAL, context, attributes)
        call.attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": event.call.name}
        _keep(self._calls, (context.trace_id, event.call.id), call)

    def _call_ended(self, event: CallFinished | CallCancelled, context: RunContext) -> None:
        call = self._calls.pop((context.trace_id, event.call.id), None)
        end = outcome(event)
        if call is None:
            self._refused(event, context, end)
            return
        if isinstance(event, CallFinished):
            call.span.set_attribute("toolhand.attempts", attempts(event.result))
            if self._captures_content and event.result.ok:
                excerpts = Excerpts.of(event.tool, event.call.arguments)
                shown = excerpts.json(event.result.data, _MOST_TEXT)
                call.span.set_attribute("gen_ai.tool.call.result", shown)
        error = "" if end == OK else end
        call.end(error)
        attributes = {**call.attributes, **({"error.type": error} if error else {})}
        self._tool_seconds.record(event.seconds, attributes)

    def _refused(self, event: CallFinished | CallCancelled, context: RunContext, end: str) -> None:
        """A call that never began, since its tool or its arguments were wrong: no execution, but the run should tell."""
        name = event.call.name if event.tool else PLAIN.text(event.call.name, _MOST_NAME)
        self._note_run(context, "toolhand.call.refused", **{"gen_ai.tool.name": name, "error.type": end})

    def _noted(self, event: CallFailed | CallRetried | FallbackTaken, context: RunContext) -> None:
        call = self._calls.get((context.trace_id, event.call.id))
        if call is None:
            return
        facts: dict[str, Any]
        match event:
            case CallFailed(exception=exception, tool=tool):
                _note_exception(call.span, exception, Excerpts.of(tool, event.call.arguments))
            case CallRetried(error=error, attempt=attempt, wait_seconds=seconds):
                facts = {"error.type": str(error.code), "attempt": attempt, "wait_seconds": seconds}
                call.span.add_event("toolhand.call.retried", facts)
            case FallbackTaken(error=error, fallback=fallback):
                facts = {"error.type": str(error.code), "fallback": fallback}
                call.span.add_event("toolhand.fallback.taken", facts)


def _keep(opened: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    opened[key] = value
    if len(opened) > _MOST_OPEN:  # whose end was never told must not pile up
        opened.popitem(last=False)


def _model(name: str) -> dict[str, Any]:
    """A model's name and who provides it, from "openai:gpt-5", "local:small" or "http://host/v1#qwen3"."""
    if not name:
        return {}
    prefix, _, rest = name.partition(":")
    model = name.rpartition("#")[2] if prefix in ("http", "https") and "#" in name else rest or name
    provider = _PROVIDERS.get(prefix, prefix if rest else "_OTHER")
    return {"gen_ai.provider.name": provider, "gen_ai.request.model": model}


def _note_exception(span: Span, error: BaseException, excerpts: Excerpts) -> None:
    """As `Span.record_exception` does, masked."""
    attributes = {
        "exception.type": type(error).__qualname__,
        "exception.message": excerpts.exception(error, _MOST_TEXT),
        "exception.stacktrace": excerpts.traceback(error, _MOST_TRACEBACK),
    }
    span.add_event("exception", attributes)
