"""Counters and latencies in the process, as a dict and in Prometheus' text format. Memory does not grow with the calls."""

from __future__ import annotations

import bisect
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from toolhand.core.context import RunContext
from toolhand.core.events import (
    CallCancelled,
    CallFinished,
    CallRetried,
    CallStarted,
    CircuitChanged,
    Event,
    FallbackTaken,
    LimitReached,
    ModelReplaced,
    ModelReplied,
    ModelRetried,
    ReadingMended,
    RunFailed,
    RunFinished,
)
from toolhand.core.gauges import GAUGES
from toolhand.core.messages import Fix, ToolCall
from toolhand.observability.outcomes import OK, attempts, has_run, outcome

BUCKETS_SECONDS: Final = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0,
)  # fmt: skip

UNKNOWN: Final = "(unknown)"
"""In the place of a name that no tool has: it is a model's own words, and there is no end to them."""

OTHERS: Final = "(others)"
"""In the place of every name after the first `most_names`."""


class Latency:
    """How long calls took: counts in buckets, from which quantiles are read with the buckets' precision.

    A quantile is interpolated inside its bucket, as Prometheus does (`histogram_quantile`), and never lies outside of what
    was seen.
    """

    __slots__ = ("counts", "longest", "shortest", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_SECONDS) + 1)
        self.total = 0.0
        self.shortest = math.inf
        self.longest = 0.0

    def add(self, seconds: float) -> None:
        """Counts one."""
        self.counts[bisect.bisect_left(BUCKETS_SECONDS, seconds)] += 1
        self.total += seconds
        self.shortest = min(self.shortest, seconds)
        self.longest = max(self.longest, seconds)

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.counts)

    def quantile(self, share: float) -> float | None:
        """The seconds within which this share of the calls ended; None while there were none.

        Args:
            share: from 0 to 1, such as 0.95.
        """
        count = self.count
        if not count:
            return None
        rank, before = share * count, 0
        for number, here in enumerate(self.counts):
            if here and before + here >= rank:
                low = BUCKETS_SECONDS[number - 1] if number else 0.0
                high = BUCKETS_SECONDS[number] if number < len(BUCKETS_SECONDS) else self.longest
                found = low + (high - low) * (rank - before) / here
                return min(max(found, self.shortest), self.longest)
            before += here
        return self.longest


class Metrics:
    """The sink that counts. One may serve many agents and threads.

    Args:
        gauges: further figures that are asked for when somebody looks, beside those that the package has itself
            (`abandoned_threads`, `abandoned_tasks`, `tool_threads`).
        most_names: how many different tools, circuits and the like are told apart; the rest are counted together.
    """

    def __init__(
        self, *, gauges: Mapping[str, Callable[[], float]] | None = None, most_names: int = 200
    ) -> None:
        self._gauges = dict(gauges or {})
        self._most_names = most_names
        self._lock = threading.Lock()
        self._counts: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in _COUNTERS}
        self._names: dict[str, set[str]] = {}
        self._latencies: dict[str, Latency] = {}
        self._circuits: dict[str, tuple[str, float]] = {}  # the state, and until when on the monotonic clock
        self._running = 0
        self._takes: Mapping[type, Callable[[Any], None]] = {
            CallStarted: self._started,
            CallFinished: self._called,
            CallCancelled: self._called,
            CallRetried: self._retried,
            FallbackTaken: self._fell_back,
            ModelRetried: self._model_retried,
            ModelReplaced: self._model_replaced,
            CircuitChanged: self._circuit,
            ReadingMended: self._mended,
            ModelReplied: self._replied,
            LimitReached: self._limited,
            RunFinished: self._ended,
            RunFailed: self._failed,
        }

    def gauge(self, name: str, read: Callable[[], float]) -> None:
        """Adds a figure that is asked for when somebody looks.

        Args:
            name: letters, digits and underscores.
            read: gives it; when it raises, the figure is left out.
        """
        self._gauges[name] = read

    def mended(self, calls: Iterable[ToolCall]) -> None:
        """Counts the liberties taken in reading calls that run elsewhere: no event tells of these.

        Args:
            calls: the calls.
        """
        with self._lock:
            for call in calls:
                self._took(call.fixes)

    def __call__(self, event: Event, context: RunContext) -> None:  # noqa: ARG002 - the sink's
        """Takes one event."""
        take = self._takes.get(type(event))
        if take is not None:
            with self._lock:
                take(event)

    # ------------------------------------------------------------------ what is counted, by event; the lock is held

    def _add(self, counter: str, *labels: str, by: float = 1) -> None:
        counts = self._counts[counter]
        counts[labels] = counts.get(labels, 0) + by

    def _bounded(self, of: str, name: str) -> str:
        """The name itself while there is room for it."""
        names = self._names.setdefault(of, set())
        if name not in names:
            if len(names) >= self._most_names:
                return OTHERS
            names.add(name)
        return name

    def _called(self, event: CallFinished | CallCancelled) -> None:
        tool = UNKNOWN if event.tool is None else self._bounded("tool", event.tool.name)
        self._add("calls", tool, outcome(event))
        if event.call.problem is None:
            self._running -= 1
        if isinstance(event, CallFinished) and not has_run(event.result):
            return
        self._latencies.setdefault(tool, Latency()).add(event.seconds)
        if event.tool is not None and event.tool.rules.cost:
            tries = attempts(event.result) if isinstance(event, CallFinished) else 1
            self._add("cost", tool, by=event.tool.rules.cost * tries)

    def _started(self, event: CallStarted) -> None:
        self._running += 1
        self._took(event.call.fixes)

    def _took(self, fixes: Iterable[Fix]) -> None:
        for fix in fixes:
            self._add("fixes", self._bounded("fix", fix.kind))

    def _retried(self, event: CallRetried) -> None:
        self._add("retries", self._bounded("tool", event.call.name), str(event.error.code))

    def _fell_back(self, event: FallbackTaken) -> None:
        tool, other = (self._bounded("tool", name) for name in (event.call.name, event.fallback))
        self._add("fallbacks", tool, other)

    def _model_retried(self, event: ModelRetried) -> None:
        self._add("model_retries", self._bounded("model", event.model), str(event.error.fault))

    def _model_replaced(self, event: ModelReplaced) -> None:
        model, other = (self._bounded("model", name) for name in (event.model, event.fallback))
        self._add("model_fallbacks", model, other)

    def _circuit(self, event: CircuitChanged) -> None:
        name = self._bounded("circuit", event.name)
        self._circuits[name] = (event.state, time.monotonic() + event.retry_after)
        if event.state == "open":
            self._add("circuit_openings", name)

    def _mended(self, event: ReadingMended) -> None:
        for problem in event.problems:
            self._add("problems", str(problem.code))

    def _replied(self, event: ModelReplied) -> None:
        usage = event.usage
        self._add("requests", by=max(usage.requests, 1))
        for kind, count in (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cached", usage.cached_tokens),
        ):
            self._add("tokens", kind, by=count)

    def _limited(self, event: LimitReached) -> None:
        self._add("limits", event.limit)

    def _ended(self, event: RunFinished) -> None:
        self._add("runs", str(event.run.stopped))

    def _failed(self, event: RunFailed) -> None:
        self._add("runs", "failed" if isinstance(event.exception, Exception) else "cancelled")

    # ------------------------------------------------------------------ what is told

    def snapshot(self) -> dict[str, Any]:
        """All figures as JSON values.

        Returns:
            `tools`: for each tool `calls` by outcome, `success_rate`, `retries`, `cost` and `seconds` (count, mean, p50,
            p95, p99, max); then `fixes`, `problems`, `tokens`, `requests`, `runs`, `limits`, `circuits`, `gauges`.
        """
        with self._lock:
            found: dict[str, Any] = {"tools": self._tools()}
            for counter in ("fixes", "problems", "tokens", "runs", "limits", "circuit_openings"):
                found[counter] = {key[0]: value for key, value in self._counts[counter].items()}
            found["requests"] = self._counts["requests"].get((), 0)
            found["circuits"] = self._circuit_states()
            found["running"] = max(self._running, 0)
        return {**found, "gauges": dict(self._read_gauges())}

    def _tools(self) -> dict[str, dict[str, Any]]:
        tools: dict[str, dict[str, Any]] = {}
        for (name, end), count in self._counts["calls"].items():
            blank = {"calls": {}, "success_rate": 0.0, "retries": 0, "cost": 0.0, "seconds": {}}
            tools.setdefault(name, blank)["calls"][end] = count
        for name, tool in tools.items():
            tool["success_rate"] = tool["calls"].get(OK, 0) / sum(tool["calls"].values())
            tool["cost"] = self._counts["cost"].get((name,), 0.0)
            if name in self._latencies:
                tool["seconds"] = _summary(self._latencies[name])
        for (name, _), count in self._counts["retries"].items():
            if name in tools:
                tools[name]["retries"] += count
        return tools

    def _circuit_states(self) -> dict[str, str]:
        """Nobody tells when a circuit's time is over: it is half-open until a call has tried."""
        now = time.monotonic()
        return {
            name: "half_open" if state == "open" and now >= until else state
            for name, (state, until) in self._circuits.items()
        }

    def _read_gauges(self) -> Iterator[tuple[str, float]]:
        for name, read in {**GAUGES, **self._gauges}.items():
            try:
                yield name, float(read())
            except Exception:  # noqa: BLE001, S112 - somebody else's function; the other figures are told all the same
                continue

    def prometheus_text(self) -> str:
        """All figures in Prometheus' text format, to be served as `text/plain; version=0.0.4`.

        Source: https://prometheus.io/docs/instrumenting/exposition_formats/
        """
        lines: list[str] = []
        with self._lock:
            for counter, (about, labels) in _COUNTERS.items():
                samples: list[Sample] = [
                    ("", dict(zip(labels, key, strict=True)), value)
                    for key, value in self._counts[counter].items()
                ]
                lines += metric_lines(f"toolhand_{counter}_total", "counter", about, samples)
            samples = [
                sample for name, one in self._latencies.items() for sample in buckets({"tool": name}, one)
            ]
            lines += metric_lines(
                "toolhand_call_seconds", "histogram", "How long calls took, in seconds.", samples
            )
            circuits = self._circuit_states().items()
            states: list[Sample] = [
                ("", {"circuit": name}, float(state == "open")) for name, state in circuits
            ]
            lines += metric_lines("toolhand_circuit_open", "gauge", "Whether a circuit is open.", states)
            states = [
                ("", {"circuit": name, "state": one}, float(state == one))
                for name, state in circuits
                for one in _STATES
            ]
            lines += metric_lines(
                "toolhand_circuit_state", "gauge", "1 for the state that a circuit is in.", states
            )
            running: list[Sample] = [("", {}, float(max(self._running, 0)))]
            lines += metric_lines("toolhand_calls_running", "gauge", "Calls that are under way.", running)
        for name, value in self._read_gauges():
            lines += metric_lines(f"toolhand_{name}", "gauge", "Read when asked for.", [("", {}, value)])
        return "\n".join(lines) + "\n"


_COUNTERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "calls": ("Calls that ended.", ("tool", "outcome")),
    "retries": ("Attempts that failed in passing.", ("tool", "outcome")),
    "fallbacks": ("Calls that another tool was asked for.", ("tool", "fallback")),
    "model_retries": ("Requests to a model that failed in passing.", ("model", "fault")),
    "model_fallbacks": ("Times that another model was asked.", ("model", "fallback")),
    "cost": ("What calls cost, in the unit of the tools' own rules.", ("tool",)),
    "fixes": ("Liberties taken in reading calls.", ("kind",)),
    "problems": ("What could not be read.", ("code",)),
    "circuit_openings": ("How often circuits opened.", ("circuit",)),
    "tokens": ("Tokens as the models' servers count them; cached ones are among the input.", ("type",)),
    "requests": ("Requests to models.", ()),
    "runs": ("Runs that ended.", ("stopped",)),
    "limits": ("Limits that were hit.", ("limit",)),
}

_STATES: Final = ("closed", "half_open", "open")

Sample: TypeAlias = tuple[str, Mapping[str, str], float]
"""What stands behind a metric's name, its labels, and its value."""


def _summary(latency: Latency) -> dict[str, float | int | None]:
    return {
        "count": latency.count,
        "mean": latency.total / latency.count,
        "p50": latency.quantile(0.5),
        "p95": latency.quantile(0.95),
        "p99": latency.quantile(0.99),
        "max": latency.longest,
    }


def buckets(labels: Mapping[str, str], latency: Latency) -> list[Sample]:
    """A histogram's samples.

    Args:
        labels: what tells it from others of its name.
        latency: its counts.
    """
    bounds = (*(f"{bound:g}" for bound in BUCKETS_SECONDS), "+Inf")
    sums = itertools.accumulate(latency.counts)
    samples: list[Sample] = [
        ("_bucket", {**labels, "le": bound}, count) for bound, count in zip(bounds, sums, strict=True)
    ]
    return [*samples, ("_sum", labels, latency.total), ("_count", labels, latency.count)]


def metric_lines(name: str, kind: str, about: str, samples: Iterable[Sample]) -> list[str]:
    """A metric in Prometheus' text format.

    Args:
        name: its name.
        kind: "counter", "gauge" or "histogram".
        about: one sentence.
        samples: for each its name's ending, its labels and its value.
    """
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for ending, labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        lines.append(f"{name}{ending}{{{inside}}} {value:.17g}" if inside else f"{name}{ending} {value:.17g}")
    return lines


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
