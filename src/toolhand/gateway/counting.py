"""What the gateway counts of its requests, beside what `Metrics` counts of runs and calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Final

from toolhand.gateway.fronts import Answered
from toolhand.observability.metrics import OTHERS, Latency, Metrics, Sample, buckets, metric_lines

LOG: Final = logging.getLogger("toolhand.gateway")

MOST_MODELS: Final = 100
"""How many names of models are told apart: a client may send any."""


class Counting:
    """The figures of one gateway.

    Args:
        running: how many requests are under way.
    """

    def __init__(self, running: Callable[[], float]) -> None:
        self.metrics = Metrics(gauges={"gateway_running": running})
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, str], int] = {}
        self._rounds = 0
        self._latencies: dict[str, Latency] = {}
        self._models: set[str] = set()

    def note(self, path: str, model: str, status: int, seconds: float, answered: Answered | None) -> None:
        """Takes note of a request that has ended.

        Args:
            path: where it came in.
            model: the model that it named.
            status: the HTTP status; 499 where the client had gone.
            seconds: how long it took.
            answered: the answer, where there was one.
        """
        LOG.info("%s %.80r %d in %.3f s", path, model, status, seconds)  # a client may name anything
        with self._lock:
            name = self._bounded(model) if answered is not None else ""
            key = (path, name, str(status))
            self._requests[key] = self._requests.get(key, 0) + 1
            self._latencies.setdefault(path, Latency()).add(seconds)
            self._rounds += 0 if answered is None else answered.rounds
        if answered is not None:
            self.metrics.mended(answered.calls)

    def _bounded(self, model: str) -> str:
        if model not in self._models and len(self._models) >= MOST_MODELS:
            return OTHERS
        self._models.add(model)
        return model

    def prometheus_text(self) -> str:
        """All figures in Prometheus' text format."""
        return self.metrics.prometheus_text() + "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        with self._lock:
            labels = ("path", "model", "status")
            counts: list[Sample] = [
                ("", dict(zip(labels, key, strict=True)), float(count))
                for key, count in self._requests.items()
            ]
            yield from metric_lines(
                "toolhand_gateway_requests_total", "counter", "Requests that ended.", counts
            )
            rounds: list[Sample] = [("", {}, float(self._rounds))]
            about = "Replies that were sent back to a model."
            yield from metric_lines("toolhand_gateway_rounds_total", "counter", about, rounds)
            times = [
                sample for path, one in self._latencies.items() for sample in buckets({"path": path}, one)
            ]
            about = "How long requests took, in seconds."
            yield from metric_lines("toolhand_gateway_seconds", "histogram", about, times)
