"""What is counted, and that counting needs no more memory for more calls."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolhand import Toolset, tool
from toolhand.core.errors import ErrorCode
from toolhand.core.events import (
    CallRetried,
    CircuitChanged,
    FallbackTaken,
    LimitReached,
    ModelReplied,
    ReadingMended,
    RunFailed,
    RunFinished,
)
from toolhand.core.messages import Fix, Reply, ToolCall, Usage
from toolhand.observability.metrics import BUCKETS_SECONDS, OTHERS, UNKNOWN, Latency, Metrics

from .events import CONTEXT, call_of, cancelled, failure, finished, made, started


def counted(*events, metrics=None, **options):
    metrics = metrics or Metrics(**options)
    for event in events:
        metrics(event, CONTEXT)
    return metrics


def test_calls_by_tool_and_outcome():
    price, order = made("price"), made("order", effect="writes")
    metrics = counted(
        *(finished(price) for _ in range(3)),
        finished(price, outcome=ErrorCode.TIMEOUT),
        cancelled(order),
        finished(None, outcome=ErrorCode.UNKNOWN_TOOL),
    )
    tools = metrics.snapshot()["tools"]
    assert tools["price"]["calls"] == {"ok": 3, "timeout": 1}
    assert tools["price"]["success_rate"] == 0.75
    assert tools["order"]["calls"] == {"outcome_unknown": 1}
    assert tools[UNKNOWN]["calls"] == {"unknown_tool": 1}


def test_a_call_costs_as_often_as_it_was_tried_and_only_when_it_ran():
    of = made(cost=0.5)
    metrics = counted(
        finished(of),
        finished(of, attempts=3),
        finished(of, outcome=ErrorCode.TIMEOUT),
        finished(of, outcome=ErrorCode.NOT_PERMITTED),
        finished(of, outcome=ErrorCode.CIRCUIT_OPEN),
        finished(of, outcome=ErrorCode.RATE_LIMITED),
        finished(of, outcome=ErrorCode.RATE_LIMITED, exception="HTTPError"),
        finished(of, repeat_of="c1"),
    )
    assert metrics.snapshot()["tools"]["get_price"]["cost"] == 0.5 * (1 + 3 + 1 + 1)
    assert metrics.snapshot()["tools"]["get_price"]["seconds"]["count"] == 4


def test_everything_else_that_happens():
    of, other = made("a"), made("b")
    error = failure(ErrorCode.NETWORK)
    fixes = (Fix(kind="near_key", path="$.x"), Fix(kind="near_key", path="$.y"))
    metrics = counted(
        finished(of),
        CallRetried(call=call_of(of), error=error, attempt=1, wait_seconds=1),
        FallbackTaken(call=call_of(of), error=error, fallback=other.name),
        started(of, ToolCall(id="c", name="a", fixes=fixes)),
        ReadingMended(raw="", problems=(failure(ErrorCode.UNPARSEABLE),), calls=()),
        ModelReplied(
            turn=1, reply=Reply(), raw="", usage=Usage(requests=1, input_tokens=10, output_tokens=5)
        ),
        ModelReplied(turn=2, reply=Reply(), raw="", usage=Usage(requests=1, input_tokens=1, cached_tokens=1)),
        LimitReached(limit="turn_limit"),
        RunFinished(run=SimpleNamespace(stopped="answered")),
        RunFailed(exception=RuntimeError()),
        RunFailed(exception=KeyboardInterrupt()),
        CircuitChanged(name="erp", state="open", retry_after=3),
        CircuitChanged(name="web", state="open", retry_after=3),
        CircuitChanged(name="web", state="closed"),
    )
    told = metrics.snapshot()
    assert told["tools"]["a"]["retries"] == 1
    assert told["fixes"] == {"near_key": 2}
    assert told["problems"] == {"unparseable": 1}
    assert told["tokens"] == {"input": 11, "output": 5, "cached": 1}
    assert told["requests"] == 2
    assert told["limits"] == {"turn_limit": 1}
    assert told["runs"] == {"answered": 1, "failed": 1, "cancelled": 1}
    assert told["circuits"] == {"erp": "open", "web": "closed"}
    text = metrics.prometheus_text()
    assert 'toolhand_fallbacks_total{tool="a",fallback="b"} 1' in text
    assert 'toolhand_circuit_open{circuit="erp"} 1' in text
    assert 'toolhand_circuit_open{circuit="web"} 0' in text


def test_calls_under_way():
    metrics, of = Metrics(), made()
    first, second = call_of(of), call_of(of)
    counted(started(of, first), started(of, second), metrics=metrics)
    assert metrics.snapshot()["running"] == 2
    counted(finished(of, first), finished(None, outcome=ErrorCode.UNKNOWN_TOOL), metrics=metrics)
    assert metrics.snapshot()["running"] == 1
    counted(cancelled(of, second), metrics=metrics)
    assert metrics.snapshot()["running"] == 0


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_quantiles_are_as_precise_as_the_buckets(share):
    latency = Latency()
    seconds = [0.0007 * 1.01**step for step in range(1000)]
    for one in seconds:
        latency.add(one)
    true = seconds[int(share * 1000)]
    low = max(bound for bound in (0.0, *BUCKETS_SECONDS) if bound <= true)
    high = min(bound for bound in BUCKETS_SECONDS if bound >= true)
    assert low <= latency.quantile(share) <= high


def test_a_quantile_lies_within_what_was_seen():
    latency = Latency()
    assert latency.quantile(0.5) is None
    latency.add(500.0)
    assert latency.quantile(0.5) == latency.quantile(0.99) == 500.0
    latency.add(0.0)
    assert 0.0 <= latency.quantile(0.5) <= 500.0
    same = Latency()
    for _ in range(100):
        same.add(0.3)
    assert same.quantile(0.01) == same.quantile(0.99) == 0.3


def test_memory_does_not_grow_with_names():
    metrics = Metrics(most_names=10)
    for number in range(1000):
        of = made(f"tool_{number}", cost=1)
        error = failure(ErrorCode.NETWORK)
        fallback = FallbackTaken(call=call_of(of), error=error, fallback=of.name)
        circuit = CircuitChanged(name=f"c{number}", state="open")
        unknown = finished(None, ToolCall(id="c", name=f"made_up_{number}"), ErrorCode.UNKNOWN_TOOL)
        counted(finished(of), fallback, circuit, unknown, metrics=metrics)
    told = metrics.snapshot()
    assert len(told["tools"]) == 12
    assert told["tools"][OTHERS]["calls"] == {"ok": 990}
    assert told["tools"][OTHERS]["cost"] == 990
    assert told["tools"][UNKNOWN]["calls"] == {"unknown_tool": 1000}
    assert len(told["circuits"]) == 11
    assert len(metrics.prometheus_text().splitlines()) < 400


def test_gauges_are_asked_for_when_somebody_looks():
    figure = iter([3, 4])
    metrics = Metrics(gauges={"mine": lambda: next(figure)})
    metrics.gauge("broken", lambda: 1 / 0)
    assert metrics.snapshot()["gauges"]["mine"] == 3
    assert "\ntoolhand_mine 4\n" in metrics.prometheus_text()


SAMPLE = re.compile(r'[a-z_]+(\{([a-z_]+="(\\.|[^"\\\n])*"(,(?=[a-z]))?)+\})? -?[0-9.e+\-]+')


def test_prometheus_reads_it():
    odd = made('od"d\\tool\n')
    metrics = counted(finished(odd, seconds=0.003), finished(odd, seconds=7), finished(odd, seconds=1e6))
    lines = metrics.prometheus_text().splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in samples), [s for s in samples if not SAMPLE.fullmatch(s)]
    told = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(told) == len(set(told))
    buckets = [int(line.split()[-1]) for line in samples if line.startswith("toolhand_call_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 3
    assert 'le="+Inf"' in metrics.prometheus_text()
    assert 'tool="od\\"d\\\\tool\\n"' in metrics.prometheus_text()
    assert metrics.prometheus_text().endswith("\n")


def test_many_threads_lose_nothing():
    metrics, of = Metrics(), made()
    event = finished(of, seconds=0.01)

    def run():
        for _ in range(2000):
            metrics(event, CONTEXT)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.snapshot()["tools"]["get_price"]["calls"] == {"ok": 16_000}
    assert metrics.snapshot()["tools"]["get_price"]["seconds"]["count"] == 16_000


def test_a_circuits_state_is_told_also_when_its_time_is_over():
    metrics = counted(
        CircuitChanged(name="slow", state="open", retry_after=60), CircuitChanged(name="well", state="open")
    )
    assert metrics.snapshot()["circuits"] == {"slow": "open", "well": "half_open"}
    text = metrics.prometheus_text()
    assert 'toolhand_circuit_state{circuit="slow",state="open"} 1' in text
    assert 'toolhand_circuit_state{circuit="slow",state="closed"} 0' in text
    assert 'toolhand_circuit_state{circuit="well",state="half_open"} 1' in text
    counted(CircuitChanged(name="slow", state="closed"), metrics=metrics)
    assert metrics.snapshot()["circuits"]["slow"] == "closed"


async def test_abandoned_threads_are_a_figure():
    release = threading.Event()

    @tool(timeout=0.05)
    def hang() -> None:
        release.wait(10)

    before = Metrics().snapshot()["gauges"]["abandoned_threads"]
    try:
        assert not (await Toolset([hang]).call("hang")).ok
        gauges = Metrics(gauges={"mine": lambda: 3}).snapshot()["gauges"]
        assert gauges["abandoned_threads"] == before + 1
        assert gauges["tool_threads"] >= 1
        assert gauges["mine"] == 3
        assert "toolhand_abandoned_threads" in Metrics().prometheus_text()
    finally:
        release.set()


@pytest.mark.parametrize("name", ["observability.md", "observability.zh.md"])
def test_every_figure_is_documented(name):
    text = (Path(__file__).parents[2] / "docs" / "how-to" / name).read_text("utf-8")
    told = Metrics().prometheus_text()
    named = re.findall(r"# HELP (toolhand_\w+)", told)
    assert len(named) > 15
    gauges = ("abandoned_threads", "abandoned_tasks", "tool_threads")
    for metric in named:
        assert f"`{metric}" in text or metric.removeprefix("toolhand_") in gauges, metric
