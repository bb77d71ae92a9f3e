"""What policies keep between calls, in this process, in Redis or in PostgreSQL, and what they measure time with.

`SharedState` is the port; `memory.py`, `redis.py` and `postgres.py` are behind it. `repeats.py` and `loops.py` know no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from toolhand.core.tools import Breaker
from toolhand.policies.sharing.clock import SYSTEM_CLOCK, Clock

Health: TypeAlias = Literal["well", "ill", "neither"]
"""What a call's end says about its tool; "neither" when it says nothing, as with a model's mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """One place in a window of a rate limit.

    Args:
        key: what is counted.
        count: how many places there are in any stretch of `seconds`.
        seconds: the stretch.
    """

    key: str
    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a circuit lets a call through.

    Args:
        is_admitted: whether it may go on.
        retry_after: seconds until it is worth asking again, when it may not.
        probe: not empty for the single call that tries whether the tool is well again.
    """

    is_admitted: bool
    retry_after: float = 0.0
    probe: str = ""


ADMITTED = Admission(True)
"""The admission of an ordinary call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """A tool's health, as far as this process knows.

    Args:
        state: "closed" lets calls through, "open" none, "half_open" a single one that tries.
        failures: failures in a row.
        retry_after: seconds until a call may try; 0 unless open.
    """

    state: Literal["closed", "open", "half_open"] = "closed"
    failures: int = 0
    retry_after: float = 0.0


WELL = Circuit()
"""A circuit that nothing is wrong with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What is known of an errand that was asked for before under the same idempotency key.

    Args:
        value: its result as JSON text, or None while there is none.
        age_seconds: how long ago it was begun.
    """

    value: str | None
    age_seconds: float = 0.0


class SharedState(Protocol):
    """Counters, circuits and receipts. Each method is one step that no other call can come between."""

    async def take(self, takings: Sequence[Taking]) -> float:
        """Takes one place in every window, or none at all.

        Returns:
            0 when they were taken, else seconds until they could be.
        """
        ...

    async def admit(self, name: str, breaker: Breaker, probe_seconds: float) -> Admission:
        """Asks a circuit whether a call may go on.

        Args:
            name: the circuit.
            breaker: its measure.
            probe_seconds: how long a probe may take before another may try.
        """
        ...

    async def settle(self, name: str, breaker: Breaker, admission: Admission, health: Health) -> Circuit:
        """Tells a circuit how an admitted call ended; gives its state afterwards."""
        ...

    def is_calm(self, name: str) -> bool:
        """Whether it is sure, without asking anybody, that nothing is known against a circuit."""
        ...

    def circuit(self, name: str) -> Circuit:
        """What this process knows of a circuit, without asking anybody."""
        ...

    async def claim(self, key: str, seconds: float) -> Receipt | None:
        """Begins an errand under a key, unless it was begun before.

        Args:
            key: the errand.
            seconds: how long it is remembered.

        Returns:
            None when it is new and now claimed, else what is known of it.
        """
        ...

    async def keep(self, key: str, value: str, seconds: float) -> None:
        """Keeps the result of an errand that was claimed."""
        ...

    async def release(self, key: str) -> None:
        """Gives a claim back: the errand was not run, or may be run again."""
        ...


@runtime_checkable
class SharedPlaces(Protocol):
    """Places of which so many processes together have a bounded number, as of calls that run at once."""

    async def enter(self, key: str, most: int, seconds: float) -> str | None:
        """Takes a place.

        Args:
            key: what is bounded.
            most: how many places there are.
            seconds: after which the place is free again where nobody leaves it: its process died.

        Returns:
            the place, to be left, "" where this process counts for itself; None where all are taken.
        """
        ...

    async def leave(self, key: str, place: str) -> None:
        """Gives a place back."""
        ...


__all__ = [
    "ADMITTED", "SYSTEM_CLOCK", "WELL", "Admission", "Circuit", "Clock", "Health", "Receipt",
    "SharedPlaces", "SharedState", "Taking",
]  # fmt: skip
