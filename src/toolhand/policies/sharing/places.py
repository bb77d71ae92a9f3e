"""Waits for a place among all processes that share a tool's bound."""

from __future__ import annotations

import asyncio
import random
from typing import Final

from toolhand.core.messages import BoundCall
from toolhand.policies.sharing import SharedPlaces

_SHORTEST_LOOK, _LONGEST_LOOK = 0.01, 0.25
_LONGEST_KEPT: Final = 900.0
"""How long a place is kept for a call without a timeout, in case its process dies."""


async def place_of(call: BoundCall, shared: SharedPlaces, seconds: float) -> str | None:
    """A call's place among those of all processes, waited for; None where there was none in time.

    Args:
        call: the call.
        shared: where the places are counted.
        seconds: how long it may wait.
    """
    rules, clock = call.tool.rules, asyncio.get_running_loop().time
    kept = _LONGEST_KEPT if rules.timeout is None else rules.timeout * (rules.retries + 1) + 60
    until, look = clock() + seconds, _SHORTEST_LOOK
    while True:
        place = await shared.enter(call.tool.name, rules.concurrency or 1, kept)
        if place is not None or clock() >= until:
            return place
        await asyncio.sleep(min(until - clock(), look * random.uniform(0.7, 1.3)))  # noqa: S311 - not a secret
        look = min(_LONGEST_LOOK, look * 1.5)
