"""What it costs to run a plain tool in a worker process, and how fast one is ended.

    python bench/workers.py [--json FILE]

Rows: a bare thread beside it for comparison, the standard library's way beside it where there is one. All times in
milliseconds, median and 95th percentile; run it on a quiet machine, and read the spread before the median.
"""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures
import json
import multiprocessing
import os
import statistics
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from toolhand import Toolset, tool
from toolhand.core.context import RunContext
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.execution.dispatch import Dispatcher
from toolhand.execution.workers.definition import define
from toolhand.execution.workers.pool import PROCESSES, ProcessCall
from toolhand.policies.timeout import timeout

LIMIT_MS = 5.0
"""What a call through a warm worker may cost at the median."""


def add(a: int, b: int = 2) -> int:
    return a + b


def pid() -> int:
    return os.getpid()


def leave_a_thread() -> str:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return "done"


def hang() -> str:
    time.sleep(60)
    return "late"


class Dispatched:
    """Calls through the timeout alone: a circuit or a limit would answer a call that hangs thirty times."""

    def __init__(self, tools: Toolset) -> None:
        self.dispatch = Dispatcher(tools, policies=(timeout,))

    async def call(self, name: str, arguments: dict[str, object] | None = None) -> ToolResult:
        return await self.dispatch(ToolCall(id="c", name=name, arguments=arguments or {}), RunContext())


async def measured(times: int, work: Callable[[], Awaitable[object]], pause: float = 0.0) -> dict[str, float]:
    taken = []
    for _ in range(times):
        if pause:
            await asyncio.sleep(pause)
        started = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - started) * 1e3)
    taken.sort()
    return {
        "n": times,
        "median_ms": round(statistics.median(taken), 3),
        "p95_ms": round(taken[int(0.95 * (times - 1))], 3),
        "max_ms": round(taken[-1], 3),
    }


def private_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


async def figures() -> dict[str, dict[str, float]]:
    in_process = tool(name="in_process", isolation="process")(add)
    in_thread = tool(name="in_thread")(add)
    hanging = tool(name="hang", isolation="process", timeout=0.1)(hang)
    others = [tool(isolation="process")(function) for function in (pid, leave_a_thread)]
    tools = Dispatched(Toolset([in_process, in_thread, hanging, *others]))
    found: dict[str, dict[str, float]] = {}

    found["first call of all (zygote, template, worker)"] = await measured(
        1, lambda: tools.call("in_process", {"a": 1})
    )
    for _ in range(50):
        await tools.call("in_process", {"a": 1})
    found["warm worker, with its timeout"] = await measured(1_000, lambda: tools.call("in_process", {"a": 1}))
    definition = define(in_process)
    found["warm worker, pool alone"] = await measured(
        1_000, lambda: PROCESSES.run(ProcessCall(definition, {"a": 1}))
    )

    # A call that leaves a thread behind costs its worker: the next one runs in a fresh one.
    found["fresh worker each time, back to back"] = await measured(200, lambda: tools.call("leave_a_thread"))
    found["fresh worker each time, kept ahead"] = await measured(
        100, lambda: tools.call("leave_a_thread"), pause=0.02
    )
    found["thread, with its timeout"] = await measured(1_000, lambda: tools.call("in_thread", {"a": 1}))

    started = time.perf_counter()
    await asyncio.gather(*[tools.call("in_process", {"a": n}) for n in range(2_000)])
    took = time.perf_counter() - started
    found["2,000 parallel calls, each"] = {"n": 2_000, "median_ms": round(took / 2, 3)}

    overshoot = await measured(30, lambda: tools.call("hang"))
    found["past a timeout of 100 ms until killed and answered"] = {
        key: round(value - 100, 3) if key.endswith("_ms") else value for key, value in overshoot.items()
    }
    worker = (await tools.call("pid")).data
    found["private memory of a worker, in MB"] = {"n": 1, "median_ms": round(private_mb(worker), 2)}
    return found


def standard_library() -> dict[str, dict[str, float]]:
    spawn = multiprocessing.get_context("spawn")
    forkserver = multiprocessing.get_context("forkserver")

    async def process(context: multiprocessing.context.BaseContext) -> None:
        started = context.Process(target=add, args=(1,))  # type: ignore[attr-defined]
        started.start()
        started.join()

    async def both() -> dict[str, dict[str, float]]:
        found = {"stdlib: multiprocessing spawn, a process a call": await measured(5, lambda: process(spawn))}
        await process(forkserver)
        found["stdlib: multiprocessing forkserver, a process a call"] = await measured(
            20, lambda: process(forkserver)
        )
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(pool, add, 1)
            found["stdlib: ProcessPoolExecutor, warm (pickle, cannot end a call)"] = await measured(
                500, lambda: loop.run_in_executor(pool, add, 1)
            )
        return found

    return asyncio.run(both())


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path, help="also write the figures there")
    chosen = options.parse_args()
    found = asyncio.run(figures()) | standard_library()
    width = max(map(len, found))
    print(
        f"{'':{width}}  median     p95      max      n    (Python {sys.version.split()[0]}, {os.cpu_count()} cores)"
    )
    for name, row in found.items():
        p95, most = row.get("p95_ms", ""), row.get("max_ms", "")
        print(f"{name:{width}}  {row['median_ms']:<9}  {p95!s:<7}  {most!s:<7}  {row['n']}")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2))
    limited = ("warm worker, with its timeout", "fresh worker each time, kept ahead")
    is_within = all(found[name]["median_ms"] <= LIMIT_MS for name in limited)
    print(
        f"limit for a call in a warm worker: {LIMIT_MS:g} ms at the median: {'held' if is_within else 'BROKEN'}"
    )
    return 0 if is_within else 1


if __name__ == "__main__":
    raise SystemExit(main())
