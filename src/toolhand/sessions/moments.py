"""A clock for leases: it goes on while the machine sleeps, and nobody sets it."""

from __future__ import annotations

import time
from typing import Final

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", None)
"""Linux's clock that counts suspended time too; the monotonic one stands still then, and a lease would seem to last."""


def moment() -> float:
    """Seconds on a clock that only goes forward.

    Source: clock_gettime(2), CLOCK_BOOTTIME.
    """
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


def assured_until(asked_at: float, lease_seconds: float) -> float:
    """Until when a lease is surely the holder's, on its own clock.

    Args:
        asked_at: the moment before the store was asked; it began to count later.
        lease_seconds: how long it gave.

    Returns:
        that moment, an eighth of the lease early: what is begun right before it has time to come to something.
    """
    return asked_at + lease_seconds * 7 / 8
