"""Ends async tools that are cancelled, also those that do not want to end."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final

from toolhand.core.gauges import GAUGES

GRACE_SECONDS: Final = 0.5
"""How long a cancelled tool may take to clean up before its call is answered without it."""

STUBBORN: Final[set[asyncio.Task[Any]]] = set()
"""Tasks that went on after they had been cancelled and their grace was over."""

GAUGES["abandoned_tasks"] = lambda: len(STUBBORN)


async def stoppable(work: Coroutine[Any, Any, Any]) -> Any:
    """What the coroutine gives. When the caller is cancelled, so is the work, and it gets a short grace to clean up.

    Raises:
        BaseException: whatever the work raises.
        asyncio.CancelledError: when the caller is cancelled, even if the work swallows its own cancellation.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(_contained(work))
    over = loop.create_future()

    def settle(_: object) -> None:
        if not over.done():
            over.set_result(None)

    task.add_done_callback(settle)
    try:
        await over
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(_forget)
        STUBBORN.add(task)
        await asyncio.wait({task}, timeout=GRACE_SECONDS)
        raise
    value, exit_of_tool = task.result()
    if exit_of_tool is not None:
        raise exit_of_tool
    return value


def is_async(function: Any) -> bool:
    """Whether calling the function gives a coroutine."""
    inner = getattr(function, "func", function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


@types.coroutine
def in_own_context(work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """What the coroutine gives, run in a copy of the context variables: what it sets stays in it.

    It costs less than a task of its own, which would do the same.
    """
    run = contextvars.copy_context().run
    step: Callable[[Any], Any] = work.send
    value: Any = None
    while True:
        try:
            waits_for = run(step, value)
        except StopIteration as end:
            return end.value
        try:
            value, step = (yield waits_for), work.send
        except GeneratorExit:
            run(work.close)
            raise
        except BaseException as error:  # noqa: BLE001 - handed on to the work, cancellation too
            value, step = error, work.throw


async def _contained(work: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    # An exit would leave the task for the event loop itself, and end it.
    try:
        return await work, None
    except (KeyboardInterrupt, SystemExit) as error:
        return None, error


def _forget(task: asyncio.Task[Any]) -> None:
    STUBBORN.discard(task)
    if not task.cancelled():
        task.exception()  # seen: nobody asks for it any more
