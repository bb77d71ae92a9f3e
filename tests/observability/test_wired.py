"""The whole way: an agent's and a toolset's own events in every sink."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from toolhand import Agent, RunContext, Toolset, tool
from toolhand.core.errors import ModelError
from toolhand.core.messages import RawCall
from toolhand.observability import listening
from toolhand.observability.audit import AuditList, AuditLog
from toolhand.observability.drift import DriftLog
from toolhand.observability.metrics import Metrics
from toolhand.testing import ScriptedModel

from .events import logged


@tool(sensitive=["phone"], cost=2)
def book(phone: str, seats: int) -> dict[str, str]:
    """Books seats."""
    return {"for": phone}


def calling(name, arguments, id_="c1"):
    return RawCall(id=id_, name=name, arguments=json.dumps(arguments))


async def test_one_run_in_every_sink(tmp_path):
    audit, metrics, drift = AuditLog(AuditList()), Metrics(), DriftLog(tmp_path / "d.jsonl")
    replies = [calling("book", {"phone": "ext-qz81", "seats": "2"}), calling("nothing", {}, "c2"), "Done."]
    agent = Agent(ScriptedModel(replies, name="small"), tools=[book], sinks=[audit, metrics, drift])
    with logged(logging.DEBUG) as lines:
        run = await agent.run("Book two seats", session="s1", user="ann")
    first, second = audit.search()
    assert (first.tool, first.outcome, first.arguments["seats"], first.turn) == ("book", "ok", 2, 1)
    assert (second.tool, second.outcome, second.decision, second.turn) == (
        "nothing",
        "unknown_tool",
        "invalid",
        2,
    )
    assert first.sent["name"] == "book"
    assert first.asked.startswith("Book two")
    assert metrics.snapshot()["tools"]["book"]["cost"] == 2
    assert metrics.snapshot()["runs"] == {"answered": 1}
    (mended, unknown) = drift.records()
    assert (mended.model, mended.family, mended.fixes) == ("small", "structured", ("string_to_number",))
    assert unknown.problems == ("unknown_tool",)
    assert all(f"trace_id={run.trace_id}" in line for line in lines.lines)
    assert "outcome=ok" in lines.text
    kept = lines.text + json.dumps([first.to_json(), second.to_json()]) + (tmp_path / "d.jsonl").read_text()
    assert "qz81" not in kept


async def test_wrong_arguments_are_masked_by_the_rules_of_the_tool_they_were_meant_for():
    audit = AuditLog(AuditList())
    context = listening(RunContext(), [audit])
    await Toolset([book]).call("book", {"phone": "ext-qz81", "seats": "many"}, context=context)
    (record,) = audit.search()
    assert record.outcome == "invalid_argument"
    assert "qz81" not in json.dumps(record.to_json())


async def test_a_run_that_is_cancelled_in_a_call():
    is_under_way = asyncio.Event()

    @tool(effect="writes")
    async def hang(x: int) -> str:
        """Hangs."""
        is_under_way.set()
        await asyncio.sleep(60)
        return "never"

    audit, metrics = AuditLog(AuditList()), Metrics()
    agent = Agent(ScriptedModel([calling("hang", {"x": 1})]), tools=[hang], sinks=[audit, metrics])
    task = asyncio.create_task(agent.run("hang"))
    await is_under_way.wait()
    assert metrics.snapshot()["running"] == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (record,) = audit.search()
    assert record.outcome == "outcome_unknown"
    assert metrics.snapshot()["running"] == 0
    assert metrics.snapshot()["runs"] == {"cancelled": 1}


async def test_a_run_whose_model_fails():
    metrics = Metrics()
    agent = Agent(ScriptedModel([ModelError("the server is gone")]), tools=[book], sinks=[metrics])
    with logged() as lines, pytest.raises(ModelError):
        await agent.run("?")
    assert metrics.snapshot()["runs"] == {"failed": 1}
    assert "run failed" in lines.text
    assert "exception=ModelError" in lines.text


async def test_the_log_is_there_without_being_asked_for():
    with logged() as lines:
        await Toolset([book]).call("book", {"phone": "1", "seats": 2}, user="ann")
        await Agent(ScriptedModel(["hi"])).run("?")
    assert "call finished" in lines.text
    assert "user=ann" in lines.text
    assert "run finished" in lines.text


@pytest.mark.parametrize("fails", [False, True])
async def test_spans_of_a_run(fails):
    pytest.importorskip("opentelemetry.sdk")
    from .test_otel import Observed  # noqa: PLC0415 - only where the extra is

    observed = Observed()
    last = ModelError("gone") if fails else "Done."
    model = ScriptedModel([calling("book", {"phone": "1", "seats": 2}), last], name="openai:gpt-5")
    agent = Agent(model, tools=[book], sinks=[observed.sink])
    with observed.tracer.start_as_current_span("request"):
        try:
            await agent.run("?")
        except ModelError:
            assert fails
        with observed.tracer.start_as_current_span("after"):
            pass
    spans = observed.spans
    agent_span = spans["invoke_agent"]
    assert spans["execute_tool book"].parent.span_id == agent_span.context.span_id
    assert spans["chat gpt-5"].parent.span_id == agent_span.context.span_id
    assert agent_span.parent.span_id == spans["after"].parent.span_id == spans["request"].context.span_id
    assert spans["chat gpt-5"].attributes.get("error.type") == ("ModelError" if fails else None)


async def test_a_misspelt_sensitive_name_stays_out_of_the_messages_in_spans():
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

    from toolhand.observability.otel import OpenTelemetry  # noqa: PLC0415

    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    sink = OpenTelemetry(captures_content=True, tracer_provider=provider)
    replies = [calling("book", {"poneh": "ext-qz81", "seats": "many"}), "Done."]
    await Agent(ScriptedModel(replies), tools=[book], sinks=[sink]).run("Book two seats")
    kept = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "poneh" in kept
    assert "qz81" not in kept
