"""What holds for every sink: it takes every kind of event, whatever is in it, and leaks nothing."""

from __future__ import annotations

import json
import logging
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import get_args

import pytest

from toolhand import RunContext
from toolhand.core import events
from toolhand.core.approvals import PendingCall
from toolhand.core.errors import ErrorCode, ModelError
from toolhand.core.messages import Fix, ModelRequest, RawCall, Reply, ToolCall, Usage, user
from toolhand.observability.audit import AuditList, AuditLog
from toolhand.observability.drift import DriftLog
from toolhand.observability.log import EventLog, JsonFormatter
from toolhand.observability.metrics import Metrics

from .events import cancelled, failure, finished, logged, made, raised, started

KEY = "sk-proj-abcdefghijklmnopqrstuvwx1234"
HIDDEN = "Ext-99817-q"
OF = made("odd\ntool", sensitive=frozenset({"phone"}), cost=1)
CALL = ToolCall(
    id="c\ud800",
    name=OF.name,
    arguments={"phone": HIDDEN, "item": f"x {KEY}", "n": float("nan"), "o": object(), "\ud800": {1: (2,)}},
    fixes=(
        Fix(kind="extra_dropped", path="$.phone", before=HIDDEN, after=None),
        Fix(kind="number_to_string", path='$["a.b"]', before={"api_key": KEY}, after=[KEY]),
    ),
)
RAWS = (RawCall(id="c", name=OF.name, arguments=json.dumps({"phone": HIDDEN, "item": KEY})),)
ERROR = failure(ErrorCode.NETWORK, f"no {KEY}")
REPLY = Reply(text=f"so {KEY}", calls=(CALL,), problems=(ERROR,))
RAW = f'{{"phone": "{HIDDEN}", "item": "{KEY}"}}'
RUN = SimpleNamespace(stopped="answered", usage=Usage(), calls=(), text=f"It is {KEY}.")

SAMPLES = [
    events.RunStarted(text=f"my key is {KEY}", model="openai:x", tools=(OF,)),
    events.TurnStarted(turn=1, protocol="json", model="openai:x", request=ModelRequest(messages=(user(KEY),), tools=(OF,))),
    events.TextDelta(text=KEY),
    events.ModelReplied(turn=1, reply=REPLY, raw=RAW, usage=Usage(), raw_calls=RAWS),
    events.ModelRetried(model="openai:x", error=ModelError(KEY, retryable=True), attempt=1, wait_seconds=0.5),
    events.ModelReplaced(model="openai:x", error=ModelError(KEY), fallback="local"),
    events.ReadingMended(raw=RAW, problems=(ERROR,), calls=(CALL,), raw_calls=RAWS, tools=(OF,)),
    started(OF, CALL),
    events.ApprovalNeeded(pending=PendingCall(approval_id="a", call_id="c", name=OF.name, arguments={"phone": HIDDEN, "item": KEY})),
    events.CallProgressed(call=CALL, done=1, total=2, message=f"at {KEY}"),
    events.CallRetried(call=CALL, error=ERROR, attempt=1, wait_seconds=0.1),
    events.FallbackTaken(call=CALL, error=ERROR, fallback="other"),
    raised(OF, ValueError(f"{KEY} of {HIDDEN}"), CALL),
    finished(OF, CALL, {"to": HIDDEN, "key": KEY, "o": object()}, edited={"phone": HIDDEN}),
    finished(OF, CALL, ErrorCode.TIMEOUT),
    cancelled(OF, CALL),
    finished(None, ToolCall(id="u", name=f"use_{KEY}", arguments={"phone": HIDDEN}), ErrorCode.UNKNOWN_TOOL),
    events.CircuitChanged(name="erp", state="open", retry_after=1.0),
    events.HistoryTrimmed(messages=10, tokens=900, left_out=4),
    events.HistoryHealed(repairs=(events.Repair(kind="orphan_result_dropped", place=3, call_id="c1"),)),
    events.ToolsChosen(reason="message", names=("a", "odd\ntool"), shown=12, among=300),
    events.SteppedDown(protocol="native", next_protocol="json", reason="unusable"),
    events.SteppedUp(protocol="json", next_protocol="native"),
    events.AskedAgain(reason="fit", sure=0.4, is_kept=False, usage=Usage(requests=1)),
    events.PlanStarted(plan_id="c1", source=f'send(to="{KEY}")'),
    events.StepFinished(plan_id="c1", path="1", line=1, call=CALL, result=finished(OF, CALL, {"to": HIDDEN}).result),
    events.PlanFinished(plan_id="c1", ending="failed", error=ERROR),
    events.LimitReached(limit="turn_limit"),
    events.RunFinished(run=RUN),
    events.RunFailed(exception=RuntimeError(KEY)),
]  # fmt: skip


def every_sink(folder):
    yield "log", EventLog()
    yield "metrics", Metrics()
    yield "audit", AuditLog(folder / "audit.jsonl")
    yield "audit list", AuditLog(AuditList())
    yield "drift", DriftLog(folder / "drift.jsonl")
    if find_spec("opentelemetry") is not None:
        yield "otel", import_module("toolhand.observability.otel").OpenTelemetry(captures_content=True)


def test_there_is_a_sample_of_every_kind_of_event():
    assert {type(sample) for sample in SAMPLES} == set(get_args(events.Event))


@pytest.mark.parametrize("formatter", [None, JsonFormatter()], ids=["text", "json"])
def test_every_sink_takes_every_event_and_writes_no_secret(tmp_path, formatter):
    context = RunContext(user="ann", trace_id="t" * 32)
    with logged(logging.DEBUG, formatter) as lines:
        for name, sink in every_sink(tmp_path):
            for event in SAMPLES:
                sink(event, context)
            if isinstance(sink, Metrics):
                lines.lines.append(json.dumps(sink.snapshot()) + sink.prometheus_text())
            if isinstance(sink, AuditLog):
                assert len(list(sink.search())) == 4, name
    written = lines.text + "".join(file.read_text("utf-8") for file in tmp_path.iterdir())
    assert len(written) > 5_000
    assert KEY not in written
    assert HIDDEN not in written
    written.encode()


def test_in_the_wrong_order_nothing_breaks(tmp_path):
    for _, sink in every_sink(tmp_path):
        for event in (*SAMPLES[::-1], *SAMPLES):
            sink(event, RunContext())
