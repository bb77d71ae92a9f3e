"""Runs a bound call in a worker process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Any

from toolhand.core.context import RunContext
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.core.messages import BoundCall
from toolhand.core.tools import Tool
from toolhand.execution.workers.definition import check_isolation, define
from toolhand.execution.workers.frames import is_plain
from toolhand.execution.workers.pool import PROCESSES, ProcessCall
from toolhand.policies.timeout import CALL_CLOCK

__all__ = ["check_isolation", "run_in_process", "warm_up"]


async def run_in_process(call: BoundCall, filled: Mapping[str, Any], context: RunContext) -> Any:
    """What the tool gives, as JSON. When the caller is cancelled, the work has ended before this returns.

    The first start of a module's processes does not count as the tool's time.

    Args:
        call: the call.
        filled: the function's keyword arguments, validated and injected, as they would be used here.
        context: the run's facts. A tool that asks for it gets one with the plain ones among them.

    Raises:
        SettingsError: when something is injected that lives in this process alone.
        Exception: whatever `ProcessPool.run` raises.
    """
    process_call = _process_call(call, filled, context)
    clock = CALL_CLOCK.get()
    if clock is not None:
        clock.has_started = False
    try:
        if not PROCESSES.is_ready(process_call.definition):
            with clock.held() if clock is not None else nullcontext():
                await PROCESSES.ready(process_call.definition)
        return await PROCESSES.run(process_call)
    except asyncio.CancelledError:
        if clock is not None:
            clock.has_started = process_call.has_started
            clock.is_ended_for_good = True
        raise


def warm_up(tools: Iterable[Tool]) -> None:
    """Begins to start the processes of tools, so that the first call need not wait for all of it."""
    for definition in {define(tool).family: define(tool) for tool in tools}.values():
        PROCESSES.prepare(definition)


def _process_call(call: BoundCall, filled: Mapping[str, Any], context: RunContext) -> ProcessCall:
    tool = call.tool
    injected = {name: filled[name] for name, key in tool.injected.items() if key != "context"}
    for name, value in injected.items():
        if not is_plain(value):
            kind = type(value).__name__
            raise SettingsError(
                say(
                    f"tool '{tool.name}' runs in a process of its own, and what is injected as '{name}' is a "
                    f"{kind}, which lives in this one: inject plain values, or use isolation='thread'",
                    f"工具“{tool.name}”在自己的进程中运行，而注入“{name}”的是 {kind}，只在本进程中："
                    "请注入普通的值，或用 isolation='thread'",
                )
            )
    context_parameters = tuple(name for name, key in tool.injected.items() if key == "context")
    is_typed = tool.validate is not None
    sent = call.call.arguments if is_typed else filled
    return ProcessCall(
        definition=define(tool),
        arguments={name: value for name, value in sent.items() if name not in tool.injected},
        is_repeatable=tool.repeatable,
        is_typed=is_typed,
        injected=injected,
        context=_plain_context(context) if context_parameters else None,
        context_parameters=context_parameters,
    )


def _plain_context(context: RunContext) -> dict[str, Any]:
    return {
        "user": context.user,
        "session_id": context.session_id,
        "trace_id": context.trace_id,
        "turn": context.turn,
        "language": context.language,
        "facts": {key: value for key, value in context.facts.items() if is_plain(value)},
    }
