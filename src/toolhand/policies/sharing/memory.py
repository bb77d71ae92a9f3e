"""Counters, circuits and receipts in this process."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Final

from toolhand.core.tools import Breaker
from toolhand.policies.sharing import SYSTEM_CLOCK, Admission, Circuit, Clock, Health, Receipt, Taking
from toolhand.policies.sharing.circuits import Circuits

MOST_KEYS: Final = 10_000
"""After so many keys those that are over are looked for and dropped; then at twice as many as were left, and so on."""


class MemoryState:
    """The state of one process. Safe to use from several threads and event loops.

    Args:
        clock: where the time comes from.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._now = clock.now
        self._lock = threading.Lock()
        self._circuits = Circuits(clock.now)
        self.is_calm = self._circuits.is_calm
        self._windows: dict[tuple[str, float], deque[float]] = {}
        self._receipts: dict[str, tuple[str | None, float, float]] = {}  # value, begun, forgotten at
        self._most_windows = self._most_receipts = MOST_KEYS

    async def take(self, takings: Sequence[Taking]) -> float:
        """One place in every window, or none at all, by a moving log of the times at which places were taken."""
        with self._lock:
            now, wait = self._now(), 0.0
            logs = []
            for taking in takings:
                log = self._windows.setdefault((taking.key, taking.seconds), deque())
                while log and log[0] <= now - taking.seconds:
                    log.popleft()
                if len(log) >= taking.count:
                    free_at = log[len(log) - taking.count] + taking.seconds
                    wait = max(wait, free_at - now, 0.001)  # never 0, however it is rounded
                logs.append(log)
            if not wait:
                for log in logs:
                    log.append(now)
            if len(self._windows) > self._most_windows:
                self._drop_old_windows(now)
            return wait

    def _drop_old_windows(self, now: float) -> None:
        for key, log in list(self._windows.items()):
            if not log or log[-1] <= now - key[1]:
                del self._windows[key]
        self._most_windows = max(MOST_KEYS, 2 * len(self._windows))

    async def admit(self, name: str, breaker: Breaker, probe_seconds: float) -> Admission:  # noqa: ARG002 - the port's
        """Whether a circuit lets a call through."""
        with self._lock:
            return self._circuits.admit(name, probe_seconds)

    async def settle(self, name: str, breaker: Breaker, admission: Admission, health: Health) -> Circuit:
        """How an admitted call ended."""
        with self._lock:
            return self._circuits.settle(name, breaker, admission, health)

    def circuit(self, name: str) -> Circuit:
        """A circuit's state."""
        with self._lock:
            return self._circuits.circuit(name)

    def learn(self, name: str, circuit: Circuit) -> None:
        """Takes over what others found out about a circuit."""
        with self._lock:
            self._circuits.learn(name, circuit)

    async def claim(self, key: str, seconds: float) -> Receipt | None:
        """Begins an errand, unless it was begun before."""
        with self._lock:
            now = self._now()
            if len(self._receipts) > self._most_receipts:
                self._receipts = {k: r for k, r in self._receipts.items() if r[2] > now}
                self._most_receipts = max(MOST_KEYS, 2 * len(self._receipts))
            found = self._receipts.get(key)
            if found is not None and found[2] > now:
                return Receipt(value=found[0], age_seconds=now - found[1])
            self._receipts[key] = (None, now, now + seconds)
            return None

    async def keep(self, key: str, value: str, seconds: float) -> None:
        """Keeps an errand's result."""
        with self._lock:
            now = self._now()
            self._receipts[key] = (value, now, now + seconds)

    async def release(self, key: str) -> None:
        """Gives a claim back."""
        with self._lock:
            self._receipts.pop(key, None)
