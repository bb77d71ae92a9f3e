"""Runs on many machines: submitted by one process, made by workers, followed from anywhere. Needs the extra `durable`.

`ledger.py` says who may take a run and how it ended, in the transaction that also holds the session's lease; `queues/` carries
jobs and is trusted with nothing; `worker.py` makes runs; `submitted.py` is what a program sees of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolhand.durable.ledger import RunLedger
    from toolhand.durable.opening import ledger_of
    from toolhand.durable.queues import Queue
    from toolhand.durable.rows import RunRow
    from toolhand.durable.schedules import Schedule
    from toolhand.durable.submitted import RunError, SubmittedRun
    from toolhand.durable.worker import Worker

_HOMES = {
    "Queue": "queues",
    "RunError": "submitted",
    "RunLedger": "ledger",
    "RunRow": "rows",
    "Schedule": "schedules",
    "SubmittedRun": "submitted",
    "Worker": "worker",
    "ledger_of": "opening",
}

__all__ = ["Queue", "RunError", "RunLedger", "RunRow", "Schedule", "SubmittedRun", "Worker", "ledger_of"]


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - only where something is asked for

    if name not in _HOMES:
        raise AttributeError(f"module 'toolhand.durable' has no attribute {name!r}")
    return getattr(import_module(f"toolhand.durable.{_HOMES[name]}"), name)
