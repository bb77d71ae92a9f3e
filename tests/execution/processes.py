"""What tests of processes share: isolated tools, a pool for one test, and waiting for processes to be gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolhand import Tool, tool
from toolhand.core.context import RunContext
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.execution.dispatch import Dispatcher
from toolhand.execution.threads import Threads
from toolhand.execution.workers import running
from toolhand.execution.workers.linux import descendants
from toolhand.execution.workers.pool import PROCESSES, ProcessPool
from toolhand.policies.timeout import timeout
from toolhand.tools.collection import ToolCollection


def isolated(function: Callable[..., Any], **rules: Any) -> Tool:
    made = function if isinstance(function, Tool) else tool(function)
    return replace(made, rules=replace(made.rules, isolation="process", **rules))


class Calls:
    """Tools that are called through the timeout alone, so that no other policy answers in their place."""

    def __init__(self, *tools: Tool) -> None:
        self.dispatch = Dispatcher(ToolCollection(tools), policies=(timeout,))

    async def __call__(
        self, name: str, arguments: Mapping[str, Any] | None = None, context: RunContext | None = None
    ) -> ToolResult:
        call = ToolCall(id="c", name=name, arguments=arguments or {})
        return await self.dispatch(call, context or RunContext())


async def in_process(
    function: Callable[..., Any], arguments: Mapping[str, Any] | None = None, **rules: Any
) -> ToolResult:
    made = isolated(function, **rules)
    return await Calls(made)(made.name, arguments)


async def in_thread(
    function: Callable[..., Any], arguments: Mapping[str, Any] | None = None, **rules: Any
) -> ToolResult:
    made = tool(**rules)(function)
    return await Calls(made)(made.name, arguments)


@asynccontextmanager
async def workers(*, pool: ProcessPool | None = None, **limits: Any) -> AsyncIterator[ProcessPool]:
    """Another pool in the place of the program's, for the length of a test."""
    pool = pool or ProcessPool(**limits)
    before, running.PROCESSES = running.PROCESSES, pool
    try:
        yield pool
    finally:
        running.PROCESSES = before
        await asyncio.to_thread(pool.close)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def gone(*pids: int, seconds: float = 60.0) -> None:
    """Waits until none of these processes is alive."""
    until = time.monotonic() + seconds
    while alive := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < until, f"still alive: {alive}"
        await asyncio.sleep(0.01)


async def returned(threads: Threads, seconds: float = 60.0) -> None:
    """Waits until no thread runs a call that was given up."""
    until = time.monotonic() + seconds
    while left := threads.abandoned:
        assert time.monotonic() < until, f"{left} threads have not returned"
        await asyncio.sleep(0.01)


def strangers(pool: ProcessPool = PROCESSES) -> list[int]:
    """Processes below the zygote that are neither templates nor workers."""
    owner = pool._owner
    if owner is None or owner.crew._zygote is None:
        return []
    crew = owner.crew
    known = {t.forker.pid for t in crew._templates.values()}
    known |= {pid for t in crew._templates.values() for pid in t.workers}
    below = descendants([crew._zygote.pid])[1:]
    return [pid for pid in below if pid not in known and is_alive(pid)]


async def nothing_left(pool: ProcessPool = PROCESSES) -> None:
    """Waits until the pool has no process but its templates and idle workers, and nothing below those."""
    until = time.monotonic() + 60.0
    while left := strangers(pool):
        assert time.monotonic() < until, f"left over: {left}"
        await asyncio.sleep(0.01)
