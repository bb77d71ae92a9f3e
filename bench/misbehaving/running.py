"""Rows through one framework, in the environment that this is started in: `python -m bench.misbehaving.running NAME ROOT_URL ROW …`.

It prints a line of JSON for each row: what happened.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time
from collections.abc import Coroutine
from importlib.metadata import version
from types import ModuleType
from typing import Any

from bench.misbehaving import tools
from bench.misbehaving.rows import ROWS

LATE_SECONDS = 7.0
"""How long after it began it is looked whether the hanging tool had its effect after all."""

MOST_SECONDS = 120.0


def main(name: str, root: str, *rows: str) -> None:
    """Runs them, and ends at once: a thread that still hangs is not waited for."""
    adapter = importlib.import_module(f"bench.misbehaving.adapters.{name}")
    for row in rows:
        happened = asyncio.run(ran(adapter, row, f"{root}/{row}/v1"))
        if row == "hangs" and adapter.HAS_TIMEOUT and tools.begun:
            time.sleep(max(tools.begun[0] + LATE_SECONDS - time.monotonic(), 0))
            happened["has_landed"] = bool(tools.landed)
        told = json.dumps({"row": row, "happened": happened, "version": version(adapter.VERSION_OF)})
        print(f"\n{told}", flush=True)  # what a framework itself prints may not end its line
    os._exit(0)


async def ran(adapter: ModuleType, row: str, url: str) -> dict[str, Any]:
    """What happened when a row was run, as `judging.Happened` takes it, but for the requests."""
    for kept in (tools.seen, tools.begun, tools.landed):
        kept.clear()
    error = ""
    try:
        await _bounded(adapter.run(url, bool(ROWS[row].get("streams"))))
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"[:300]
    seconds = time.monotonic() - tools.begun[0] if tools.begun else 0.0
    seen = [list(one) for one in tools.seen]
    return {"seen": seen, "error": error, "hung_seconds": seconds, "has_timeout": adapter.HAS_TIMEOUT}


async def _bounded(run: Coroutine[Any, Any, str]) -> str:
    return await asyncio.wait_for(run, MOST_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
