"""The state machine of circuit breakers: closed, open, half-open with exactly one probe. No I/O, no waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolhand.core.tools import Breaker
from toolhand.policies.sharing import ADMITTED, WELL, Admission, Circuit, Health


@dataclass(slots=True)
class _Line:
    failures: int = 0
    open_until: float = 0.0  # 0 while closed
    probe_until: float = 0.0  # 0 while nobody tries
    probes: int = 0


class Circuits:
    """Circuits by name. Source of the pattern: M. Nygard, "Release It!", the circuit breaker.

    Args:
        now: gives seconds on a clock that only goes forward.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lines: dict[str, _Line] = {}

    def is_calm(self, name: str) -> bool:
        """Whether nothing is known against a circuit."""
        return name not in self._lines

    def admit(self, name: str, probe_seconds: float) -> Admission:
        """Whether a call may go on; see `SharedState.admit`."""
        line = self._lines.get(name)
        if line is None or not line.open_until:
            return ADMITTED
        now = self._now()
        waits_until = max(line.open_until, line.probe_until)
        if now < waits_until:
            return Admission(False, retry_after=waits_until - now)
        line.probe_until = now + probe_seconds
        line.probes += 1
        return Admission(True, probe=str(line.probes))

    def settle(self, name: str, breaker: Breaker, admission: Admission, health: Health) -> Circuit:
        """How an admitted call ended; see `SharedState.settle`."""
        line = self._lines.get(name)
        if line is None:
            if health != "ill":
                return WELL
            line = self._lines[name] = _Line()
        if admission.probe:
            if admission.probe == str(line.probes) and line.probe_until:
                self._settle_probe(line, breaker, health)
        elif not line.open_until:  # what ends while it is open began before: it says nothing new
            if health == "ill":
                line.failures += 1
                if line.failures >= breaker.failures:
                    line.open_until = self._now() + breaker.cooldown
            elif health == "well":
                line.failures = 0
        return self.circuit(name)

    def _settle_probe(self, line: _Line, breaker: Breaker, health: Health) -> None:
        line.probe_until = 0.0
        if health == "well":
            line.failures, line.open_until = 0, 0.0
        elif health == "ill":
            line.failures += 1
            line.open_until = self._now() + breaker.cooldown

    def circuit(self, name: str) -> Circuit:
        """A circuit's state now."""
        line = self._lines.get(name)
        if line is None or not line.open_until:
            return Circuit(failures=line.failures) if line is not None and line.failures else WELL
        left = line.open_until - self._now()
        if left <= 0:
            return Circuit(state="half_open", failures=line.failures)
        return Circuit(state="open", failures=line.failures, retry_after=left)

    def learn(self, name: str, circuit: Circuit) -> None:
        """Takes over what others found out about a circuit."""
        open_until = self._now() + circuit.retry_after if circuit.state != "closed" else 0.0
        line = self._lines.setdefault(name, _Line())
        line.failures, line.open_until, line.probe_until = circuit.failures, open_until, 0.0
