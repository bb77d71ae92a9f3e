"""Spans and metrics in OpenTelemetry's own SDK: names by the conventions, parents right also for calls side by side."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from toolhand import RunContext, ToolFailure, Toolset, tool
from toolhand.core.errors import ErrorCode
from toolhand.core.events import (
    CallRetried,
    FallbackTaken,
    LimitReached,
    ModelReplied,
    RunFailed,
    RunFinished,
    RunStarted,
    TurnStarted,
)
from toolhand.core.messages import ModelRequest, Reply, Sampling, ToolCall, Usage, user
from toolhand.observability import listening
from toolhand.observability.otel import OpenTelemetry
from toolhand.run import Run

from .events import call_of, cancelled, caught, failure, finished, made, raised, started

KEY = "sk-proj-abcdefghijklmnopqrstuvwx1234"


class Observed:
    """A sink before real providers, and what they were given."""

    def __init__(self, **options):
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.tracer = tracers.get_tracer("test")
        meters = MeterProvider(metric_readers=[self._reader])
        self.sink = OpenTelemetry(tracer_provider=tracers, meter_provider=meters, **options)
        self.context = listening(RunContext(user="ann", session_id="s1"), [self.sink])
        self.emit = self.context.emit

    @property
    def spans(self):
        return {span.name: span for span in self._spans.get_finished_spans()}

    def metric(self, name):
        read = self._reader.get_metrics_data()
        found = [
            metric
            for resource in read.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        ]
        return found[0] if found else None

    def points(self, name):
        return list(self.metric(name).data.data_points)

    def run(
        self,
        *within,
        model="openai:gpt-5",
        agent="clerk",
        tools=(),
        text="What does tea cost?",
        stopped="answered",
    ):
        """A run as the loop tells of it: start, one turn around the events, end."""
        self.emit(RunStarted(text=text, model=model, agent=agent, tools=tools))
        self.turn(model=model)
        for event in within:
            self.emit(event)
        self.finish(stopped)

    def turn(self, reply=None, model="openai:gpt-5", request=None):
        self.emit(TurnStarted(turn=1, protocol="native", model=model, request=request))
        usage = Usage(requests=1, input_tokens=100, output_tokens=20, cached_tokens=60)
        self.emit(
            ModelReplied(turn=1, reply=reply or Reply(), raw="", usage=usage, finish_reason="tool_calls")
        )

    def finish(self, stopped="answered"):
        usage = Usage(requests=1, input_tokens=100, output_tokens=20)
        self.emit(
            RunFinished(
                run=Run(
                    output="It is 3.", stopped=stopped, messages=(), new_messages=(), usage=usage, session_id="s1",
                    trace_id=self.context.trace_id,
                )
            )
        )  # fmt: skip


@pytest.fixture
def observed():
    return Observed()


def parent_of(spans, name):
    inner = spans[name].parent
    return next((other for other in spans.values() if inner and other.context.span_id == inner.span_id), None)


def test_a_run_is_a_tree_by_the_conventions(observed):
    of = made()
    call = call_of(of, item="tea")
    observed.run(started(of, call), finished(of, call, attempts=2))
    spans = observed.spans
    assert set(spans) == {"invoke_agent clerk", "chat gpt-5", "execute_tool get_price"}
    agent, chat, execute = (
        spans[name] for name in ("invoke_agent clerk", "chat gpt-5", "execute_tool get_price")
    )
    assert parent_of(spans, "chat gpt-5") is agent
    assert parent_of(spans, "execute_tool get_price") is agent
    assert agent.parent is None
    assert (agent.kind, chat.kind, execute.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL)
    assert agent.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert agent.attributes["gen_ai.agent.name"] == "clerk"
    assert agent.attributes["gen_ai.provider.name"] == "openai"
    assert agent.attributes["gen_ai.request.model"] == "gpt-5"
    assert agent.attributes["toolhand.trace_id"] == observed.context.trace_id
    assert chat.attributes["gen_ai.operation.name"] == "chat"
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert chat.attributes["gen_ai.usage.input_tokens"] == 100
    assert chat.attributes["gen_ai.usage.output_tokens"] == 20
    assert chat.attributes["gen_ai.usage.cache_read.input_tokens"] == 60
    assert execute.attributes["gen_ai.operation.name"] == "execute_tool"
    assert execute.attributes["gen_ai.tool.name"] == "get_price"
    assert execute.attributes["gen_ai.tool.type"] == "function"
    assert execute.attributes["gen_ai.tool.call.id"] == call.id
    assert execute.attributes["gen_ai.tool.description"] == "Does something."
    assert execute.attributes["toolhand.attempts"] == 2
    assert all(span.attributes["gen_ai.conversation.id"] == "s1" for span in spans.values())
    assert all(span.status.status_code is StatusCode.UNSET for span in spans.values())


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai:gpt-5", "openai", "gpt-5"),
        ("ollama:qwen3:4b", "ollama", "qwen3:4b"),
        ("local:small", "llama_cpp", "small"),
        ("local", "llama_cpp", "local"),
        ("http://10.0.0.1:8000/v1#qwen3", "openai", "qwen3"),
        ("scripted", "_OTHER", "scripted"),
    ],
)
def test_models_and_their_providers(observed, name, provider, model):
    observed.run(model=name)
    chat = observed.spans[f"chat {model}"]
    assert chat.attributes["gen_ai.provider.name"] == provider


def test_an_agent_without_a_name(observed):
    observed.run(agent="", model="")
    assert set(observed.spans) == {"invoke_agent", "chat"}


def test_what_the_model_was_asked_with(observed):
    sampling = Sampling(temperature=0.2, max_tokens=50, seed=7)
    observed.emit(RunStarted())
    observed.turn(request=ModelRequest(messages=(user("hi"),), sampling=sampling, stop=("END",)))
    observed.finish()
    attributes = observed.spans["chat gpt-5"].attributes
    assert attributes["gen_ai.request.temperature"] == 0.2
    assert attributes["gen_ai.request.max_tokens"] == 50
    assert attributes["gen_ai.request.seed"] == 7
    assert attributes["gen_ai.request.stop_sequences"] == ("END",)
    assert "gen_ai.request.top_p" not in attributes


async def test_calls_side_by_side_hang_below_the_run_and_what_they_do_below_them(observed):
    meeting = asyncio.Barrier(3)

    @tool
    async def look(place: str) -> str:
        """Looks."""
        await meeting.wait()  # all three are under way at once
        with observed.tracer.start_as_current_span(f"http {place}"):
            await asyncio.sleep(0)
        return place

    toolset = Toolset([look])
    observed.emit(RunStarted(agent="clerk"))
    calls = [ToolCall(id=f"c{place}", name="look", arguments={"place": place}) for place in "abc"]
    await toolset.dispatch.each(calls, observed.context)
    observed.finish()
    finished_spans = observed._spans.get_finished_spans()
    agent = observed.spans["invoke_agent clerk"]
    executions = {
        s.attributes["gen_ai.tool.call.id"]: s for s in finished_spans if s.name == "execute_tool look"
    }
    assert set(executions) == {"ca", "cb", "cc"}
    for place in "abc":
        assert executions[f"c{place}"].parent.span_id == agent.context.span_id
        assert observed.spans[f"http {place}"].parent.span_id == executions[f"c{place}"].context.span_id


def test_a_plain_tool_in_a_thread_is_below_its_call_too(observed):
    @tool
    def look(place: str) -> str:
        """Looks."""
        with observed.tracer.start_as_current_span("inner"):
            return place

    asyncio.run(Toolset([look]).call("look", {"place": "a"}, context=observed.context))
    assert parent_of(observed.spans, "inner").name == "execute_tool look"


async def test_a_call_of_a_program_hangs_below_the_programs_own_span_and_leaves_it_current(observed):
    @tool
    async def look(place: str) -> str:
        """Looks."""
        return place

    with observed.tracer.start_as_current_span("request") as mine:
        await Toolset([look]).call("look", {"place": "a"}, context=observed.context)
        assert trace.get_current_span() is mine
    assert parent_of(observed.spans, "execute_tool look").name == "request"


async def test_a_run_inside_a_tool_hangs_below_the_call(observed):
    inner = listening(RunContext(), [observed.sink])

    @tool
    async def ask(question: str) -> str:
        """Asks."""
        inner.emit(RunStarted(agent="inner"))
        inner.emit(RunFailed(exception=RuntimeError("x")))
        return "so"

    await Toolset([ask]).call("ask", {"question": "?"}, context=observed.context)
    assert parent_of(observed.spans, "invoke_agent inner").name == "execute_tool ask"


@pytest.mark.parametrize("code", [ErrorCode.TIMEOUT, ErrorCode.NOT_PERMITTED])
def test_a_call_that_failed_says_how(observed, code):
    of = made()
    call = call_of(of)
    observed.run(started(of, call), finished(of, call, code))
    span = observed.spans["execute_tool get_price"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == str(code)


def test_a_call_that_was_cancelled_ends_its_span(observed):
    of = made(effect="writes")
    call = call_of(of)
    observed.run(started(of, call), cancelled(of, call))
    assert observed.spans["execute_tool get_price"].attributes["error.type"] == "outcome_unknown"


def test_a_call_that_never_began_is_an_event_of_the_run(observed):
    observed.run(finished(None, outcome=ErrorCode.UNKNOWN_TOOL))
    assert not any(name.startswith("execute_tool") for name in observed.spans)
    (event,) = observed.spans["invoke_agent clerk"].events
    assert (event.name, event.attributes["error.type"]) == ("toolhand.call.refused", "unknown_tool")


def test_what_happens_within_a_call_and_a_run(observed):
    of = made()
    call = call_of(of)
    observed.run(
        started(of, call),
        CallRetried(call=call, error=failure(ErrorCode.NETWORK), attempt=1, wait_seconds=0.5),
        FallbackTaken(call=call, error=failure(ErrorCode.NETWORK), fallback="other"),
        finished(of, call),
        LimitReached(limit="turn_limit"),
    )
    retried, fell_back = observed.spans["execute_tool get_price"].events
    assert retried.attributes["attempt"] == 1
    assert fell_back.attributes["fallback"] == "other"
    assert [event.name for event in observed.spans["invoke_agent clerk"].events] == ["toolhand.limit.reached"]


def test_an_exception_is_recorded_without_secrets(observed):
    of = made(sensitive=frozenset({"phone"}))
    call = call_of(of, phone="ext-qz81")
    error = RuntimeError(f"GET /?key={KEY} failed for ext-qz81")
    observed.run(started(of, call), raised(of, error, call), finished(of, call, ErrorCode.EXECUTION))
    (event,) = observed.spans["execute_tool get_price"].events
    assert event.name == "exception"
    assert event.attributes["exception.type"] == "RuntimeError"
    assert "in fails" in event.attributes["exception.stacktrace"]
    text = json.dumps(dict(event.attributes))
    assert KEY not in text
    assert "qz81" not in text


@pytest.mark.parametrize("error", [RuntimeError("gone"), asyncio.CancelledError()])
def test_a_run_that_fails_while_the_model_is_asked_ends_every_span(observed, error):
    before = trace.get_current_span()
    observed.emit(RunStarted(agent="clerk"))
    observed.emit(TurnStarted(turn=1, protocol="native", model="openai:gpt-5"))
    observed.emit(RunFailed(exception=caught(error)))
    assert set(observed.spans) == {"invoke_agent clerk", "chat gpt-5"}
    assert all(span.attributes["error.type"] == type(error).__name__ for span in observed.spans.values())
    assert trace.get_current_span() is before
    assert [p.attributes["error.type"] for p in observed.points("gen_ai.invoke_agent.duration")] == [
        type(error).__name__
    ]


# ---------------------------------------------------------------------- content


def said_by(observed):
    of = made(sensitive=frozenset({"phone"}))
    call = call_of(of, item="rooibos", phone="ext-qz81")
    observed.emit(RunStarted(text=f"rooibos for ext 9 with {KEY}", agent="clerk", tools=(of,)))
    request = ModelRequest(messages=(user("earlier: chamomile"),), tools=(of,))
    observed.turn(Reply(text="I look.", calls=(call,)), request=request)
    observed.emit(started(of, call))
    observed.emit(finished(of, call, {"price": 3, "to": "ext-qz81"}))
    observed.finish()
    return {name: dict(span.attributes) for name, span in observed.spans.items()}


@pytest.mark.parametrize("value", [None, "", "false", "NO_CONTENT", "EVENT_ONLY"])
def test_content_is_left_out_by_default(monkeypatch, value):
    monkeypatch.delenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", raising=False)
    if value is not None:
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
    text = json.dumps(said_by(Observed()))
    for word in ("rooibos", "chamomile", "I look", "It is 3", "price\\", "qz81"):
        assert word not in text


@pytest.mark.parametrize("value", ["true", "SPAN_ONLY", "SPAN_AND_EVENT", None])
def test_content_is_recorded_when_asked_for_and_masked(monkeypatch, value):
    monkeypatch.delenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", raising=False)
    if value is not None:
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
    attributes = said_by(Observed(captures_content=True if value is None else None))
    execute, chat, agent = (
        attributes[n] for n in ("execute_tool get_price", "chat gpt-5", "invoke_agent clerk")
    )
    assert json.loads(execute["gen_ai.tool.call.arguments"])["item"] == "rooibos"
    assert json.loads(execute["gen_ai.tool.call.result"])["price"] == 3
    (message,) = json.loads(chat["gen_ai.output.messages"])
    assert (message["role"], message["finish_reason"]) == ("assistant", "tool_calls")
    assert [part["type"] for part in message["parts"]] == ["text", "tool_call"]
    assert json.loads(chat["gen_ai.input.messages"])[0]["parts"][0]["content"] == "earlier: chamomile"
    assert json.loads(chat["gen_ai.tool.definitions"])[0]["function"]["name"] == "get_price"
    assert "rooibos" in agent["gen_ai.input.messages"]
    assert "It is 3." in agent["gen_ai.output.messages"]
    text = json.dumps(attributes)
    assert KEY not in text
    assert "qz81" not in text


def test_the_argument_counts_before_the_environment(monkeypatch):
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    assert "rooibos" not in json.dumps(said_by(Observed(captures_content=False)))


# ---------------------------------------------------------------------- metrics


def test_metrics_by_the_conventions(observed):
    of = made()
    calls = [call_of(of) for _ in range(3)]
    ends = [
        finished(of, calls[0], seconds=0.3),
        finished(of, calls[1], seconds=3),
        finished(of, calls[2], ErrorCode.TIMEOUT),
    ]
    observed.run(*(started(of, call) for call in calls), *ends[::-1])
    tokens = {p.attributes["gen_ai.token.type"]: p for p in observed.points("gen_ai.client.token.usage")}
    assert (tokens["input"].sum, tokens["output"].sum) == (100, 20)
    assert tokens["input"].attributes["gen_ai.request.model"] == "gpt-5"
    assert tokens["input"].explicit_bounds[:4] == (1, 4, 16, 64)
    (chat,) = observed.points("gen_ai.client.operation.duration")
    assert chat.count == 1
    assert dict(chat.attributes) == {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5",
    }  # fmt: skip
    assert chat.explicit_bounds[0] == 0.01
    durations = {p.attributes.get("error.type"): p for p in observed.points("gen_ai.execute_tool.duration")}
    assert durations[None].count == 2
    assert durations[None].sum == pytest.approx(3.3)
    assert durations["timeout"].count == 1
    assert durations[None].attributes["gen_ai.tool.name"] == "get_price"
    assert [p.sum for p in observed.points("gen_ai.invoke_agent.inference_calls")] == [1]
    assert [p.sum for p in observed.points("gen_ai.invoke_agent.tool_calls")] == [3]
    assert observed.metric("gen_ai.invoke_agent.duration").unit == "s"
    assert observed.metric("gen_ai.client.token.usage").unit == "{token}"


# ---------------------------------------------------------------------- the edges


async def test_calls_that_fail_in_every_way_leave_nothing_open(observed, caplog):
    @tool(timeout=0.05)
    async def hangs(x: int) -> str:
        """Hangs."""
        await asyncio.sleep(60)
        return "never"

    @tool
    async def says(x: int) -> str:
        """Says no."""
        raise ToolFailure("no")

    @tool
    def raises(x: int) -> str:
        """Raises."""
        raise SystemExit

    toolset = Toolset([hangs, says, raises])
    before = trace.get_current_span()
    with caplog.at_level(logging.WARNING, logger="opentelemetry"):
        for name in ("hangs", "says", "raises", "none"):
            await toolset.call(name, {"x": 1}, context=observed.context)
    assert trace.get_current_span() is before
    assert not observed.sink._calls
    assert caplog.records == []
    assert set(observed.spans) == {"execute_tool hangs", "execute_tool says", "execute_tool raises"}


def test_what_never_ends_does_not_pile_up(observed):
    async def lost():
        observed.emit(started(made()))

    async def many():
        for _ in range(5000):
            await asyncio.create_task(lost())

    asyncio.run(many())
    assert len(observed.sink._calls) <= 4096


def test_without_the_extra_the_message_says_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "from toolhand.core.errors import MissingExtraError\n"
        "try:\n"
        "    import toolhand.observability.otel\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    assert "[otel]'" in done.stdout
